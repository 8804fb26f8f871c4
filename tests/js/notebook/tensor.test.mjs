// Tensor operations against what PyTorch answered: dtypes, values, errors, memory.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { quantize, tensor as zeropointTensor } from "zeropoint";
import { display, init, linear_q_symmetric, repr, torch, tuple } from "zeropoint/notebook";
import {
  assertTensor,
  cases,
  decodeTensor,
  doubleFromHex,
  dtypeName,
} from "../support/vectors.mjs";
import { raises } from "./asserts.mjs";

/** An encoded tensor, in the memory layout that its recipe asks for. */
function tensorFrom(encoded) {
  const { dtype, data, shape } = decodeTensor(encoded);
  let t = torch.tensor({ data, shape }).to(torch[dtype]);
  if (encoded.permute) t = t.permute(encoded.permute);
  if (encoded.mul) t = t.mul(encoded.mul);
  if (encoded.select) t = t.select(...encoded.select);
  return t;
}

/** An argument of a case: a tensor, a tagged Python number, or a plain value. */
function argumentFrom(encoded) {
  if (typeof encoded !== "object" || encoded === null || Array.isArray(encoded)) return encoded;
  if ("shape" in encoded) return tensorFrom(encoded);
  const [[kind, content]] = Object.entries(encoded);
  if (kind === "none") return null;
  if (kind === "float") return doubleFromHex(content);
  if (kind !== "int") return content;
  return Number.isSafeInteger(Number(content)) ? Number(content) : BigInt(content);
}

function run(op, args) {
  const [first, ...others] = args;
  if (op === "result_type") return torch.zeros(0, { dtype: torch.result_type(...args) });
  if (op === "full") return torch.full(first, others[0], torch[others[1]]);
  if (op === "to") return first.to(torch[others[0]]);
  return torch.is_tensor(first) ? first[op](...others) : torch[op](...args);
}

describe("tensor operations", () => {
  before(async () => {
    await init();
  });

  const all = cases("tensor_ops");
  const check = (ops, count) => {
    const list = all.filter(({ op }) => ops.includes(op));
    assert.equal(list.length, count, "number of cases");
    for (const { id, op, in: given, out, raises: raised } of list) {
      const args = given.map(argumentFrom);
      const message = `${id} ${op}`;
      if (raised !== undefined) {
        raises(() => run(op, args), raised, message);
        continue;
      }
      const t = run(op, args);
      assert.equal(t.dtype.name, dtypeName(out.t), `${message} dtype`);
      assertTensor(t.data, t.shape, out, message);
    }
  };

  it("promote dtypes as PyTorch does: tensors, 0-d tensors and numbers of every dtype", () => {
    check(["result_type"], 384);
  });

  it("add, subtract, multiply and divide as PyTorch does, in every pair of dtypes", () => {
    check(["add", "sub", "mul", "div"], 1536);
    check(["rsub", "rdiv"], 32);
  });

  it("compare as PyTorch does, in every pair of dtypes", () => {
    check(["maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"], 584);
  });

  it("convert as PyTorch does on x86-64, values that do not fit included", () => {
    check(["to"], 64);
  });

  it("map elements as PyTorch does", () => {
    const ops = ["abs", "neg", "square", "round", "floor", "ceil", "trunc", "reciprocal", "sqrt"];
    check([...ops, "isnan", "isinf", "isfinite"], 66);
    check(["clamp"], 52);
    check(["pow"], 56);
  });

  it("fill as PyTorch does, and refuse what does not fit", () => {
    check(["full"], 48);
  });

  it("find minimum and maximum as PyTorch does", () => {
    check(["max", "min", "argmax", "argmin"], 24);
  });

  it("add up in PyTorch's order, for every shape, memory layout and dimension", () => {
    check(["sum", "mean"], 606);
  });

  it("cover all of tensor_ops.json but the memory layouts", () => {
    assert.equal(all.length, 3458);
    assert.equal(all.filter(({ op }) => op === "strides").length, 6);
  });

  it("lay results out in memory as PyTorch does", () => {
    const a = torch.zeros(3, 4, 2);
    const turned = a.permute(2, 0, 1);
    const results = [
      turned.add(1),
      turned.add(turned),
      a.permute(1, 0, 2).add(a.permute(1, 0, 2).contiguous()),
      a.permute(1, 2, 0).neg(),
      a.permute(2, 1, 0).to(torch.int8),
      a.select(2, 0).add(torch.zeros(4)),
    ];
    const expected = all.filter(({ op }) => op === "strides");
    results.forEach((result, i) => {
      assert.deepEqual(result.stride(), expected[i].out, expected[i].id);
    });
  });

  it("keep the memory layout of operands that are converted, stretched or of size 1", () => {
    const turned = torch.zeros(3, 2).T;
    assert.deepEqual(torch.zeros_like(turned).stride(), [1, 2]);
    assert.deepEqual(torch.ones_like(turned, torch.int8).stride(), [1, 2]);
    assert.deepEqual(turned.div(2, { rounding_mode: "floor" }).stride(), [1, 2]);
    assert.deepEqual(turned.add(1, { alpha: 0.5 }).stride(), [1, 2]);
    assert.deepEqual(turned.round({ decimals: 1 }).stride(), [1, 2]);
    // Converted first, the stretched tensor is row-major, and comes first.
    const stretched = torch.zeros(1, 1, { dtype: torch.int8 }).expand(2, 3);
    assert.deepEqual(stretched.add(turned.long()).stride(), [3, 1]);
    assert.deepEqual(stretched.long().add(turned).stride(), [3, 1]);
    assert.deepEqual(torch.zeros(1, 4).T.double().stride(), [1, 4]);
    assert.deepEqual(torch.zeros(1, 4).T.abs().stride(), [1, 1]);
    assert.deepEqual(torch.zeros(2, 1).T.mul(2).stride(), [1, 1]);
  });
});

describe("torch.tensor", () => {
  it("makes int64 of whole numbers, float32 of others, bool of booleans", () => {
    assert.equal(torch.tensor([1, 2]).dtype, torch.int64);
    assert.equal(torch.tensor([1, 2.5]).dtype, torch.float32);
    assert.equal(torch.tensor([true, false]).dtype, torch.bool);
    assert.equal(torch.tensor([true, 2]).dtype, torch.int64);
    assert.equal(torch.tensor([1n, 2]).dtype, torch.int64);
    assert.equal(torch.tensor([]).dtype, torch.float32);
    assert.equal(torch.tensor(5).dim(), 0);
    assert.equal(torch.tensor([1, 2], { dtype: torch.float32 }).dtype, torch.float32);
    assert.equal(torch.tensor([1, 2], torch.int8).dtype, torch.int8);
  });

  it("rounds to float32 and truncates to integers", () => {
    assert.ok(Object.is(torch.tensor(0.1).item(), Math.fround(0.1)));
    assert.deepEqual(torch.tensor([1.7, -1.7], torch.int8).tolist(), [1, -1]);
    assert.equal(torch.tensor([1e39, 0.5])[0].item(), Infinity);
  });

  it("keeps the dtype and shape of typed arrays and tensors, and copies them", () => {
    const data = Int8Array.of(1, 2);
    const t = torch.tensor(data);
    assert.equal(t.dtype, torch.int8);
    data[0] = 5;
    assert.deepEqual(t.tolist(), [1, 2]);
    const copy = torch.tensor(t);
    copy[0] = 9;
    assert.deepEqual(t.tolist(), [1, 2]);
    assert.deepEqual(torch.tensor([t, t]).tolist(), [
      [1, 2],
      [1, 2],
    ]);
    assert.equal(torch.tensor(new Uint32Array([2 ** 32 - 1])).item(), 2 ** 32 - 1);
    const grid = torch.tensor({ data: Float32Array.of(1, 2), shape: [2, 1] });
    assert.deepEqual(grid.shape, [2, 1]);
  });

  it("looks at no further rows where there can be no elements", () => {
    assert.equal(repr(torch.tensor([[], [5.5], [1]])), "tensor([], size=(3, 0))");
    assert.deepEqual(torch.tensor([[[]], [[1, 2]]]).shape, [2, 1, 0]);
  });

  it("makes floats and bools of integers of any size", () => {
    const wide = [2n ** 64n, -(2n ** 70n)];
    assert.deepEqual(torch.tensor(wide, torch.float32).tolist(), [2 ** 64, -(2 ** 70)]);
    assert.deepEqual(torch.tensor([2n ** 63n, 0n], torch.bool).tolist(), [true, false]);
    assert.equal(torch.tensor(NaN, torch.bool).item(), true);
    // Rounded to float64 first, which makes it a tie in float32.
    const nearTie = 2n ** 60n + 2n ** 36n + 1n;
    assert.equal(torch.tensor(nearTie, torch.float32).item(), 2 ** 60);
    raises(() => torch.tensor(wide), "RuntimeError");
  });

  it("refuses rows of different lengths, and what is no number", () => {
    raises(() => torch.tensor([[1, 2], [3]]), "ValueError");
    raises(() => torch.tensor([[1, 2], 3]), "ValueError");
    raises(() => torch.tensor([1, [2]]), "ValueError");
    raises(() => torch.tensor(["1"]), "TypeError");
    raises(() => torch.tensor([null]), "TypeError");
    raises(() => torch.tensor(undefined), "TypeError");
    raises(() => torch.tensor([300], torch.int8), "RuntimeError");
    raises(() => torch.tensor([Number.NaN], torch.int32), "RuntimeError");
    raises(() => torch.tensor([2n ** 63n]), "RuntimeError");
    raises(() => new torch.Tensor([1]), "TypeError");
  });
});

describe("a tensor's elements", () => {
  it("are slices that share memory", () => {
    const t = torch.zeros(2, 3);
    t[1] = 5;
    t[0][2] = 7;
    t[-1][0] = torch.tensor(2);
    assert.deepEqual(t.tolist(), [
      [0, 0, 7],
      [2, 5, 5],
    ]);
    t.select(1, 1).fill_(9);
    t.view(6)[0] = 4;
    t.t()[2] = torch.tensor([1, 8]);
    assert.deepEqual(t.tolist(), [
      [4, 9, 1],
      [2, 9, 8],
    ]);
  });

  it("are reached by several indices through get and set", () => {
    const t = torch.zeros(2, 3);
    t.set([1, 2], 3.5);
    t.set(0, torch.tensor([1, 2, 3]));
    assert.equal(t.get(1, 2).item(), 3.5);
    assert.equal(t.get(-1, -1).item(), 3.5);
    assert.deepEqual(t.get(0).tolist(), [1, 2, 3]);
    t.set([], 1);
    assert.equal(t.eq(1).all().item(), true);
  });

  it("are refused out of range", () => {
    const t = torch.zeros(3);
    raises(() => t[3], "IndexError");
    raises(() => t[-4], "IndexError");
    raises(() => t.select(0, 3), "IndexError");
    raises(() => t.select(1, 0), "IndexError");
    raises(() => t.get(0, 0), "IndexError");
    raises(() => torch.tensor(1)[0], "IndexError");
    raises(() => t.get(0.5), "TypeError");
    assert.throws(() => {
      t[3] = 1;
    }, RangeError);
  });

  it("convert what they are given, and refuse what does not fit", () => {
    const q = torch.zeros(2, { dtype: torch.int8 });
    q[0] = 2.7;
    assert.deepEqual(q.tolist(), [2, 0]);
    raises(() => q.set(0, 300), "RuntimeError");
    raises(() => q.set(0, Number.NaN), "RuntimeError");
    raises(() => q.set(0, [1]), "TypeError");
    raises(() => torch.zeros(2, 2).set(0, torch.zeros(3)), "RuntimeError");
    q.set(1, torch.tensor(300.9));
    assert.deepEqual(q.tolist(), [2, 44]);
    const scale = torch.zeros(1);
    scale[0] = 0.1;
    assert.ok(Object.is(scale.item(), Math.fround(0.1)));
  });

  it("take a 0-d tensor as its number, which has to fit, if they select several elements", () => {
    const q = torch.zeros(2, 2, { dtype: torch.uint8 });
    raises(() => q.set(0, torch.tensor(256)), "RuntimeError");
    raises(() => q.set([], torch.tensor(Number.NaN)), "RuntimeError");
    q[0] = torch.tensor(-1);
    q[1] = torch.tensor([256.5]);
    q.set([1, 1], torch.tensor(258));
    assert.deepEqual(q.tolist(), [
      [255, 255],
      [0, 2],
    ]);
  });

  it("refuse a float beyond the dtype before it is cut off, and take 2^63 for int64's largest", () => {
    const refused = {
      int8: [127.5, -128.5],
      uint8: [-0.5, 255.5],
      int32: [2147483647.5],
      int64: [9.3e18],
    };
    for (const [name, values] of Object.entries(refused)) {
      const dtype = torch[name];
      for (const value of values) {
        raises(() => torch.zeros(2, { dtype }).set(0, value), "RuntimeError", `${name} ${value}`);
        raises(() => torch.full([1], value, { dtype }), "RuntimeError", `${name} ${value}`);
        raises(() => torch.tensor([value], { dtype }), "RuntimeError", `${name} ${value}`);
      }
    }
    assert.equal(torch.full([1], 2 ** 63, { dtype: torch.int64 }).item(), -(2n ** 63n));
    assert.equal(torch.full([1], -255, { dtype: torch.uint8 }).item(), 1);
    assert.equal(torch.full([1], 127, { dtype: torch.int8 }).item(), 127);
  });

  it("do not affect other properties", () => {
    const t = torch.zeros(2);
    t[0] = 1;
    t.note = "kept";
    assert.deepEqual(Object.keys(t), ["note"]);
    assert.throws(() => t.nothing, { name: "TypeError", pythonType: "AttributeError" });
    assert.ok(t instanceof Object);
  });

  it("are iterated over, and listed as nested numbers", () => {
    const t = torch.tensor([
      [1, 2],
      [3, 4],
    ]);
    assert.deepEqual(
      [...t].map((row) => row.tolist()),
      [
        [1, 2],
        [3, 4],
      ],
    );
    assert.equal(torch.tensor(5).tolist(), 5);
    assert.equal(torch.tensor(true).item(), true);
    assert.equal(torch.tensor(2n ** 62n).item(), 2n ** 62n);
    raises(() => [...torch.tensor(5)], "TypeError");
    raises(() => t.item(), "RuntimeError");
  });
});

describe("shapes", () => {
  it("are frozen arrays that print as torch.Size", () => {
    const { shape } = torch.zeros(3, 1);
    assert.deepEqual(shape, [3, 1]);
    assert.equal(String(shape), "torch.Size([3, 1])");
    assert.equal(`${torch.zeros(3).size()}`, "torch.Size([3])");
    assert.equal(repr(torch.tensor(1).shape), "torch.Size([])");
    assert.equal(shape.numel(), 3);
    assert.ok(Object.isFrozen(shape));
    assert.equal(torch.zeros(3, 4).size(-1), 4);
    assert.equal(torch.zeros(3, 4).dim(), 2);
    assert.deepEqual(torch.Size([2, 0]), [2, 0]);
  });

  it("change by view where memory allows, and by reshape always", () => {
    const t = torch.arange(6).view(2, 3);
    assert.deepEqual(t.view(-1, 2).tolist(), [
      [0, 1],
      [2, 3],
      [4, 5],
    ]);
    assert.deepEqual(t.view([3, -1]).shape, [3, 2]);
    assert.deepEqual(t.t().reshape(-1).tolist(), [0, 3, 1, 4, 2, 5]);
    raises(() => t.t().view(6), "RuntimeError");
    raises(() => t.view(4, 2), "RuntimeError");
    raises(() => t.view(-1, -1), "RuntimeError");
    raises(() => t.view(-2, 3), "RuntimeError");
    raises(() => t.view(4, -1), "RuntimeError");
    raises(() => torch.zeros(0, 3).view(-1, 0), "RuntimeError");
    assert.deepEqual(torch.zeros(0, 6).view(-1, 3).shape, [0, 3]);
    // Axes that lie as one can be split and merged although the whole is not contiguous.
    const part = torch.arange(24).view(2, 3, 4).narrow(0, 1, 1).squeeze(0);
    assert.deepEqual(part.view(12)[0].item(), 12);
    const strided = torch.arange(24).view(2, 3, 4).select(2, 1);
    assert.deepEqual(strided.view(6).tolist(), [1, 5, 9, 13, 17, 21]);
    assert.deepEqual(strided.view(6).stride(), [4]);
  });

  it("give dimensions of size 1 the strides that PyTorch gives them", () => {
    const column = torch.arange(6).view(2, 3).t(); // strides 1 and 3
    assert.deepEqual(column.narrow(1, 0, 1).view(1, 3, 1).stride(), [3, 1, 3]);
    assert.deepEqual(torch.zeros(4, 1, 1).view(-1, 1, 1, 1).stride(), [1, 1, 1, 1]);
    assert.deepEqual(column.select(0, 1).narrow(0, 0, 1).view(1, 1).stride(), [3, 3]);
    assert.deepEqual(torch.zeros(2, 3).expand(1, 2, 3).stride(), [6, 3, 1]);
    assert.deepEqual(torch.zeros(3, 1).expand(2, 1, 3, 1).stride(), [0, 3, 1, 1]);
    assert.deepEqual(torch.tensor(1).expand(1, 1).stride(), [0, 0]);
    assert.equal(column.flatten(1, -1), column);
  });

  it("have their dimensions added, removed, merged, exchanged and stretched", () => {
    const t = torch.arange(6).view(2, 3);
    assert.deepEqual(t.unsqueeze(1).shape, [2, 1, 3]);
    assert.deepEqual(t.unsqueeze(-1).squeeze().shape, [2, 3]);
    assert.deepEqual(t.unsqueeze(0).squeeze(1).shape, [1, 2, 3]);
    assert.deepEqual(t.flatten().shape, [6]);
    assert.deepEqual(torch.zeros(2, 3, 4).flatten({ start_dim: 1 }).shape, [2, 12]);
    assert.deepEqual(torch.zeros(2, 3, 4).transpose(0, 2).shape, [4, 3, 2]);
    assert.deepEqual(torch.zeros(2, 3, 4).permute(2, 0, 1).shape, [4, 2, 3]);
    assert.deepEqual(torch.zeros(3, 1).expand(3, 4).shape, [3, 4]);
    assert.deepEqual(torch.zeros(3, 1).expand(2, -1, 4).shape, [2, 3, 4]);
    raises(() => torch.zeros(3, 2).expand(3, 4), "RuntimeError");
    raises(() => torch.zeros(2, 3, 4).t(), "RuntimeError");
    raises(() => torch.zeros(2, 3).permute(0, 0), "RuntimeError");
    raises(() => torch.zeros(2, 3).transpose(0, 2), "IndexError");
    assert.equal(t.t().contiguous().is_contiguous(), true);
    assert.equal(t.t().is_contiguous(), false);
    assert.equal(t.contiguous(), t);
  });

  it("broadcast, and are refused where they do not fit", () => {
    assert.deepEqual(torch.zeros(3, 1).add(torch.zeros(4)).shape, [3, 4]);
    assert.deepEqual(torch.zeros(0, 1).add(torch.zeros(3)).shape, [0, 3]);
    raises(() => torch.zeros(2, 3).add(torch.zeros(2)), "RuntimeError");
  });
});

describe("operations in place", () => {
  it("change views of the same memory", () => {
    const t = torch.zeros(2, 2);
    t[0].add_(1.5).mul_(2);
    t.select(1, 1).sub_(1).div_(2);
    assert.deepEqual(t.tolist(), [
      [3, 1],
      [0, -0.5],
    ]);
    t.neg_().abs_().round_().clamp_({ max: 2 });
    assert.deepEqual(t.tolist(), [
      [2, 1],
      [0, 0],
    ]);
    t.copy_(torch.tensor([7, 8]))
      .zero_()
      .fill_(4);
    assert.equal(t.eq(4).all().item(), true);
  });

  it("refuse results of a higher category or another shape", () => {
    const q = torch.ones(2, { dtype: torch.int8 });
    raises(() => q.add_(0.5), "RuntimeError");
    raises(() => q.div_(2), "RuntimeError");
    raises(() => q.add_(torch.zeros(2, 2)), "RuntimeError");
    assert.deepEqual(q.add_(127).tolist(), [-128, -128]);
    raises(() => torch.zeros(2, 2).copy_(torch.zeros(1, 2, 2)), "RuntimeError");
  });

  it("refuse a stretched tensor, whose elements share memory, unless they fill it", () => {
    const wide = torch.zeros(2, 1).expand(2, 3);
    for (const work of [
      () => wide.add_(1),
      () => wide.neg_(),
      () => wide.clamp_(0, 1),
      () => wide.copy_(torch.ones(2, 3)),
      () => wide.set(0, torch.ones(1)),
    ]) {
      raises(work, "RuntimeError");
    }
    wide.fill_(2).set(0, torch.tensor(3));
    assert.deepEqual(wide.tolist(), [
      [3, 3, 3],
      [2, 2, 2],
    ]);
    assert.deepEqual([...torch.zeros(1, 0).expand(3, 0).add_(1).shape], [3, 0]);
    assert.deepEqual(torch.zeros(1).expand(1).add_(1).tolist(), [1]);
  });
});

describe("reductions along dimensions", () => {
  const t = torch.tensor([
    [1, 5, 3],
    [4, 2, 6],
  ]);

  it("remove the dimension, or keep it if asked to", () => {
    assert.deepEqual(t.sum(0).tolist(), [5, 7, 9]);
    assert.deepEqual(t.sum({ dim: 1, keepdim: true }).tolist(), [[9], [12]]);
    assert.deepEqual(t.float().mean(-1).tolist(), [3, 4]);
  });

  it("give the extreme values and where they are", () => {
    const { values, indices } = t.max(1);
    assert.deepEqual(
      [values.tolist(), indices.tolist()],
      [
        [5, 6],
        [1, 2],
      ],
    );
    const [least, places] = t.min({ dim: 0, keepdim: true });
    assert.deepEqual([least.tolist(), places.tolist()], [[[1, 2, 3]], [[0, 1, 0]]]);
    assert.deepEqual(t.amax(0).tolist(), [4, 5, 6]);
    assert.deepEqual(t.amin().item(), 1);
    assert.equal(t.argmax().item(), 5);
    assert.deepEqual(t.argmin(1).tolist(), [0, 1]);
  });

  it("print extreme values as PyTorch does", () => {
    assert.equal(
      repr(t.max(1)),
      "torch.return_types.max(\nvalues=tensor([5, 6]),\nindices=tensor([1, 2]))",
    );
  });

  it("refuse dimensions that are not there, and extreme values of none", () => {
    raises(() => t.sum(2), "IndexError");
    raises(() => t.mean(), "RuntimeError");
    raises(() => torch.zeros(0).max(), "RuntimeError");
    raises(() => torch.zeros(2, 0).max(1), "IndexError");
    assert.ok(Number.isNaN(torch.zeros(0).mean().item()));
  });

  it("find the first NaN", () => {
    const t = torch.tensor([1, Number.NaN, 5, Number.NaN]);
    assert.ok(Number.isNaN(t.max().item()));
    assert.equal(t.max(0).indices.item(), 1);
    assert.equal(t.argmin().item(), 1);
  });

  it("find the place of bools only where there is nothing to compare", () => {
    const t = torch.tensor([[true, false]]);
    assert.deepEqual(t.argmax(0).tolist(), [0, 0]);
    assert.deepEqual(t.argmin({ dim: 0, keepdim: true }).shape, [1, 2]);
    assert.deepEqual(torch.zeros(0, 2).bool().argmax(1).shape, [0]);
    raises(() => t.argmax(1), "RuntimeError", "bool");
    raises(() => t.argmax(2), "IndexError");
    raises(() => torch.zeros(0, 2).bool().argmax(0), "IndexError");
    raises(() => torch.zeros(0).bool().argmax(), "IndexError");
    for (const one of [torch.tensor(true), torch.tensor([true])]) {
      raises(() => one.argmax(), "RuntimeError", "bool");
    }
    raises(() => torch.tensor(true).argmax(0), "RuntimeError", "bool");
  });

  it("tell whether all or any elements are true", () => {
    assert.equal(torch.tensor([1, 0]).all().item(), false);
    assert.equal(torch.tensor([1, 0]).any().item(), true);
    assert.equal(torch.zeros(0).all().item(), true);
    assert.equal(torch.zeros(0).any().item(), false);
    const a = torch.tensor([1, 2.5]);
    assert.equal(a.equal(torch.tensor([1, 2.5])), true);
    assert.equal(a.equal(torch.tensor([[1, 2.5]])), false);
    assert.equal(torch.tensor([1, 2]).equal(torch.tensor([1, 2], { dtype: torch.float32 })), true);
    const zeros = (...lengths) => torch.zeros(...lengths);
    assert.equal(zeros(1, 1, 1, 1, 1).equal(zeros(1, 1, 1, 1, 1, 1)), false);
    assert.equal(zeros(1, 1, 1, 1, 2, 3).equal(zeros(1, 1, 1, 1, 3, 2)), false);
    assert.equal(a.allclose(a.add(1e-6)), true);
    assert.equal(a.allclose(a.add(1e-3)), false);
    assert.equal(a.allclose(a.add(1e-3), { atol: 0.01 }), true);
    const nan = torch.tensor([Number.NaN, Infinity]);
    assert.equal(nan.allclose(nan), false);
    assert.equal(nan.allclose(nan, { equal_nan: true }), true);
  });
});

describe("numbers at the edge of a dtype", () => {
  it("are taken and refused as PyTorch does", () => {
    const ones = torch.ones(1, { dtype: torch.int8 });
    assert.deepEqual(ones.sub(ones, { alpha: 128 }).tolist(), [-127]);
    raises(() => ones.sub(ones, { alpha: -128 }), "RuntimeError");
    raises(() => ones.add(ones, { alpha: 128 }), "RuntimeError");
    const beyond = 3.4028235e38;
    raises(() => torch.full([1], beyond), "RuntimeError");
    assert.equal(torch.full([1], 3.4028234663852886e38).item(), 3.4028234663852886e38);
    assert.equal(torch.full([1], -Infinity).item(), -Infinity);
  });
});

describe("tensors without elements", () => {
  it("are contiguous, whatever their strides", () => {
    const none = torch.zeros(3, 0, 2).transpose(0, 2);
    assert.equal(none.is_contiguous(), true);
    assert.equal(torch.zeros(3, 4).t().narrow(1, 0, 0).is_contiguous(), true);
    raises(() => torch.tensor(1).narrow(0, 0, 1), "RuntimeError");
    raises(() => torch.zeros(2).narrow(0, 3, 0), "IndexError");
    raises(() => torch.zeros(2).narrow(0, -3, 1), "IndexError");
    raises(() => torch.zeros(2).narrow(0, 2, 1), "RuntimeError");
    raises(() => torch.zeros(2).narrow(0, 3, -1), "RuntimeError");
  });
});

describe("targets without elements", () => {
  it("take what stretches to their shape alone", () => {
    raises(() => torch.ones(0, 1).copy_(torch.ones(9)), "RuntimeError");
    raises(() => torch.ones(0, 1).add_(torch.ones(9)), "RuntimeError");
    assert.deepEqual(torch.ones(0, 9).copy_(torch.ones(9)).shape, [0, 9]);
  });
});

describe("JavaScript's operators on tensors", () => {
  it("work on tensors of one element and explain themselves on others", () => {
    assert.equal(torch.tensor([2]) * 3, 6);
    assert.ok(torch.tensor(0.5) < 1);
    assert.equal(`${torch.tensor([1, 2])}`, "tensor([1, 2])");
    assert.throws(() => torch.tensor([1, 2]) * 3, /a\.mul\(b\)/);
    assert.throws(() => torch.tensor([1, 2]) + 1, TypeError);
  });
});

describe("tensors of zeropoint and zeropoint/notebook", () => {
  it("can be given to each other's functions", async () => {
    await init();
    const x = torch.tensor([
      [191.6, -13.5, 728.6],
      [92.14, 295.5, -184],
    ]);
    assert.deepEqual(quantize(x).data, linear_q_symmetric(x)[0].data);
    assert.deepEqual(quantize(x.t().contiguous().t()).data, quantize(x).data);
    const core = zeropointTensor([[1, 2.5]]);
    assert.equal(String(torch.tensor(core)), "tensor([[1.0000, 2.5000]])");
    assert.equal(display(tuple(torch.tensor(core), 1)), "(tensor([[1.0000, 2.5000]]), 1)");
  });
});

describe("tensors of a million elements", () => {
  it("are made, combined, converted and averaged", async () => {
    await init();
    const x = torch.rand([1000, 1000]);
    const y = x.mul(2.5).add(x).sub(0.5).div(x.add(1)).round().clamp(-1, 1).to(torch.int8);
    assert.equal(y.numel(), 1000000);
    assert.ok(Math.abs(x.mean().item() - 0.5) < 0.002);
  });
});
