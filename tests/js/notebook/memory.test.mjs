// Memory of zeropoint/notebook: tensors share it where PyTorch's do, and nowhere else.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as notebook from "zeropoint/notebook";
import { sameDeep } from "../support/asserts.mjs";

const { init, torch } = notebook;
await init();

/** Members that give PyTorch's views, or the tensor itself, and `data`, which is documented as its memory. */
const VIEWS = [
  ...["data", "numpy", "T", "t", "select", "narrow", "get", "view", "reshape", "flatten"],
  ...["mT", "split", "chunk", "unbind", "unflatten", "ravel", "movedim", "swapaxes"],
  ...["broadcast_to", "expand_as", "view_as", "reshape_as", "diagonal"],
  ...["squeeze", "unsqueeze", "transpose", "permute", "expand", "contiguous", "detach"],
  // To the dtype that the tensor has.
  ...["to", "type_as", "float", "double", "char", "byte", "short", "int", "long", "bool"],
];

const INPUTS = [
  () => torch.tensor([[1.5, -2.25, 3]]),
  () => torch.tensor([[1.5]]),
  () => torch.tensor(1.5),
  () => torch.tensor([[1n]]),
  () => torch.tensor([true]),
];

/** Arguments that leave the values as they are, where the function has such. */
const ARGUMENTS = {
  __proto__: null,
  add: [[0], [1, { alpha: 0 }]],
  sub: [[0], [1, { alpha: 0 }]],
  mul: [[1]],
  div: [[1], [1, { rounding_mode: "floor" }]],
  pow: [[1], [0.5]],
  maximum: [[torch.tensor(-100)]],
  minimum: [[torch.tensor(100)]],
  clamp: [
    [-100, 100],
    [null, 100],
  ],
  round: [[], [{ decimals: 5 }]],
  softmax: [[0]],
  where: [[torch.tensor(true), 0]],
  flip: [[0], [[]]],
  roll: [[0], [0, 0]],
  repeat: [[1, 1], [1]],
  tile: [[1]],
  repeat_interleave: [[1], [1, 0]],
  diff: [[], [0]],
  diag: [[]],
  tril: [[5]],
  triu: [[-5]],
  sort: [[], [0]],
  topk: [[1]],
  kthvalue: [[1]],
  cummax: [[0]],
  cummin: [[0]],
  cumsum: [[0]],
  cumprod: [[0]],
  log_softmax: [[0]],
  logsumexp: [[0]],
  quantile: [[0.5]],
  clip: [[-100, 100]],
  clamp_min: [[-100], [torch.tensor(-100)]],
  clamp_max: [[100], [torch.tensor(100)]],
  remainder: [[1000]],
  fmod: [[1000]],
  bitwise_or: [[0]],
  bitwise_and: [[-1]],
  bitwise_xor: [[0]],
  bitwise_left_shift: [[0]],
  bitwise_right_shift: [[0]],
  masked_fill: [[torch.tensor(false), 0]],
  masked_select: [[torch.tensor(true)]],
  index_select: [[0, torch.tensor([0])]],
  gather: [[0, torch.tensor([[0]])]],
  scatter: [[0, torch.tensor([[0]]), 1]],
  take: [[torch.tensor([0])]],
  outer: [[torch.tensor([1])]],
  matmul: [[torch.tensor([[1], [0], [0]], { dtype: torch.float32 })]],
};
for (const name of [
  "sum",
  "mean",
  "max",
  "min",
  "amax",
  "amin",
  "argmax",
  "argmin",
  "all",
  "any",
]) {
  ARGUMENTS[name] = [[], [0], [0, true]];
}
for (const name of ["rsub", "rdiv", "eq", "ne", "lt", "le", "gt", "ge"]) ARGUMENTS[name] = [[1]];

const isTensor = (value) => torch.is_tensor(value);

/** Overwrites all tensors and arrays in a value. @returns whether there was one */
function overwrite(value) {
  if (ArrayBuffer.isView(value)) {
    value.fill(typeof value[0] === "bigint" ? 77n : 77);
    return true;
  }
  if (Array.isArray(value)) {
    const isWritable = !Object.isFrozen(value) && typeof value[0] === "number";
    if (isWritable) value.fill(77);
    return value.map((each) => overwrite(each)).includes(true) || isWritable;
  }
  if (!isTensor(value) || value.is_quantized || value.numel() === 0) return false;
  // Through the methods, as strides and offsets are theirs.
  value.fill_(value.dtype === torch.bool ? !value.flatten().get(0).item() : 77);
  return true;
}

const stateOf = (value) => {
  if (Array.isArray(value)) return value.map(stateOf);
  if (ArrayBuffer.isView(value)) return [...value];
  if (!isTensor(value)) return String(value);
  if (value.is_quantized) return [String(value), [...value.int_repr().data]];
  return [[...value.data], [...value.shape], value.stride()];
};

/** Runs a function; undefined where its arguments do not fit. */
function attempt(run) {
  try {
    return run();
  } catch (error) {
    assert.match(String(error.code), /^ZP_/);
    return undefined;
  }
}

describe("Memory of a tensor", () => {
  const names = Object.entries(Object.getOwnPropertyDescriptors(torch.Tensor.prototype))
    .filter(
      ([name, { value, get }]) => (get ?? value) instanceof Function && name !== "constructor",
    )
    .map(([name]) => name)
    .filter((name) => !name.endsWith("_") && name !== "set");

  it("is not shared with results of its members", () => {
    let count = 0;
    for (const name of names.filter((each) => !VIEWS.includes(each))) {
      for (const make of INPUTS) {
        for (const args of ARGUMENTS[name] ?? [[]]) {
          const x = make();
          const before = stateOf(x);
          const read = () => (typeof x[name] === "function" ? x[name](...args) : x[name]);
          if (!overwrite(attempt(read))) continue;
          sameDeep(stateOf(x), before, `${name} of ${make}`);
          count++;
        }
      }
    }
    assert.ok(count > 200, String(count));
  });

  it("is shared with views", () => {
    for (const name of VIEWS) {
      const x = torch.tensor([[1.5, 2]]);
      const args = {
        ...{
          __proto__: null,
          select: [0, 0],
          narrow: [0, 0, 1],
          get: [0],
          view: [2],
          reshape: [2],
        },
        ...{ split: [1], chunk: [1], unflatten: [1, [1, 2]], movedim: [0, 1], swapaxes: [0, 1] },
        ...{ broadcast_to: [[1, 2]], expand_as: [x], view_as: [x], reshape_as: [x] },
        ...{ unsqueeze: [0], transpose: [0, 1], permute: [1, 0], expand: [1, 2] },
        ...{ to: [torch.float32], type_as: [x] },
      }[name];
      const dtype = { double: "float64", char: "int8", byte: "uint8", short: "int16" }[name];
      const own = name in torch && torch[name] instanceof torch.dtype ? torch[name] : undefined;
      const input = x.to(dtype === undefined ? (own ?? torch.float32) : torch[dtype]);
      const before = stateOf(input);
      const result = typeof input[name] === "function" ? input[name](...(args ?? [])) : input[name];
      if (ArrayBuffer.isView(result)) result.fill(result instanceof BigInt64Array ? 0n : 0);
      else
        (Array.isArray(result) ? result[0] : result).fill_(input.dtype === torch.bool ? false : 0);
      assert.notDeepEqual(stateOf(input), before, name);
    }
  });

  it("is not that of an array, or a tensor, that it was made of", () => {
    for (const given of [Float32Array.of(1, 2), BigInt64Array.of(1n), torch.tensor([1.5])]) {
      const x = torch.tensor(given);
      const before = stateOf(given);
      overwrite(x);
      sameDeep(stateOf(given), before);
    }
    const data = Float32Array.of(1, 2);
    const shape = [1, 2];
    const x = torch.tensor({ data, shape });
    const before = stateOf(x);
    overwrite([data, shape]);
    shape.push(3);
    sameDeep(stateOf(x), before);
  });

  it("has a shape that cannot be written", () => {
    const x = torch.tensor([[1.5, 2]]);
    for (const shape of [x.shape, x.size()]) {
      assert.throws(() => (shape[0] = 7), TypeError);
      assert.throws(() => shape.push(7), TypeError);
    }
  });
});

describe("Memory of results of functions", () => {
  const x = () => torch.tensor([[1.5, -2.25, 3, 0.5]]);
  const codes = () => torch.tensor([[1, -2, 3, 4]]).to(torch.int8);
  const one = () => torch.tensor([0.25]);
  const zero = () => torch.tensor([0]);
  const observed = (observer) => {
    observer(x());
    return observer;
  };
  const quantized = () => torch.quantize_per_channel(x(), one(), zero(), 0, torch.qint8);
  const functions = {
    stack: [() => [[x(), x()]], torch.stack],
    cat: [() => [[x()]], torch.cat],
    zeros_like: [() => [x()], torch.zeros_like],
    ones_like: [() => [x()], torch.ones_like],
    where: [() => [torch.tensor([[true]]), x(), x()], torch.where],
    clamp: [() => [x(), -100, 100], torch.clamp],
    quantize_per_tensor: [() => [x(), one(), zero(), torch.qint8], torch.quantize_per_tensor],
    quantize_per_channel: [() => [x(), one(), zero(), 0, torch.qint8], torch.quantize_per_channel],
    "with floating zero points": [
      () => [x(), one(), torch.tensor([0.5]), 0, torch.quint8],
      torch.quantize_per_channel,
    ],
    fake_quantize_per_tensor_affine: [
      () => [x(), 0.25, 0, -128, 127],
      torch.fake_quantize_per_tensor_affine,
    ],
    fake_quantize_per_channel_affine: [
      () => [x(), one(), torch.zeros(1, { dtype: torch.int32 }), 0, -128, 127],
      torch.fake_quantize_per_channel_affine,
    ],
    linear_q_with_scale_and_zero_point: [
      () => [x(), 0.25, 0],
      notebook.linear_q_with_scale_and_zero_point,
    ],
    linear_dequantization: [() => [codes(), one(), zero()], notebook.linear_dequantization],
    linear_quantization: [() => [x()], notebook.linear_quantization],
    linear_q_symmetric: [() => [x()], notebook.linear_q_symmetric],
    linear_q_symmetric_per_channel: [() => [x(), 0], notebook.linear_q_symmetric_per_channel],
    linear_q_symmetric_per_group: [() => [x(), 2], notebook.linear_q_symmetric_per_group],
    linear_dequantization_per_group: [
      () => [codes(), torch.tensor([[0.5], [0.25]]), 2],
      notebook.linear_dequantization_per_group,
    ],
    quantized_linear_W8A32_without_bias: [
      () => [x(), codes(), 0.25, 0],
      notebook.quantized_linear_W8A32_without_bias,
    ],
  };

  for (const [name, [make, call]] of Object.entries(functions)) {
    it(`is their own: ${name}`, () => {
      const args = make();
      const before = stateOf(args);
      const result = call(...args);
      const expected = stateOf(result);
      sameDeep(stateOf(args), before);
      overwrite(args);
      sameDeep(stateOf(result), expected, "after a write to the arguments");
      const again = make();
      const other = call(...again);
      assert.ok(overwrite(other) || other.is_quantized);
      sameDeep(stateOf(again), before, "after a write to the result");
    });
  }

  it("is not that of a quantized tensor", () => {
    const q = quantized();
    const before = stateOf(q);
    const members = ["int_repr", "dequantize", "q_per_channel_scales", "q_per_channel_zero_points"];
    for (const name of members) {
      assert.ok(overwrite(q[name]()));
      sameDeep(stateOf(q), before, name);
    }
    assert.throws(() => (q.shape[0] = 7), TypeError);
  });

  it("is not that of an observer", () => {
    for (const [name, Observer] of Object.entries(notebook)) {
      if (!name.endsWith("Observer")) continue;
      const observer = observed(new Observer());
      const qparams = () => attempt(() => stateOf([...observer.calculate_qparams()]));
      const before = [String(observer), qparams()];
      for (const field of ["min_val", "max_val"]) overwrite(attempt(() => observer[field]));
      for (const value of attempt(() => observer.calculate_qparams()) ?? []) overwrite(value);
      for (const value of attempt(() => observer.get_tensor_value()) ?? []) overwrite(value);
      sameDeep([String(observer), qparams()], before, name);
    }
  });
});
