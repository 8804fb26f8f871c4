// Arguments as in Python: by position or by name, and none that is not known.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  float,
  init,
  linear_dequantization,
  linear_q_with_scale_and_zero_point,
  torch,
} from "zeropoint/notebook";

function raises(call, pythonType, message) {
  const name = pythonType === "TypeError" ? "TypeError" : "RangeError";
  assert.throws(call, { name, pythonType, ...(message && { message }) });
}

const list = (t) => t.tolist();
const matrix = (...rows) => torch.tensor(rows, torch.float32);

await init();

describe("Every function and method", () => {
  const functions = (object, but) =>
    Object.getOwnPropertyNames(object).filter((name) => {
      const { value } = Object.getOwnPropertyDescriptor(object, name);
      return typeof value === "function" && !but.includes(name);
    });
  const q = () => torch.quantize_per_tensor(torch.zeros(2), 1, 0, torch.qint8);
  const cases = [
    ["Tensor", () => torch.zeros(2, 2), torch.Tensor.prototype, ["constructor", "toString", "get"]],
    ["quantized tensor", q, Object.getPrototypeOf(q()), ["constructor", "toString"]],
    ["torch", () => torch, torch, ["Tensor", "dtype", "is_tensor", "meshgrid"]],
  ];

  it("refuses unknown keywords", () => {
    for (const [what, make, names, but] of cases) {
      for (const name of functions(names, but)) {
        const call = () => make()[name]({ nonsense: 1 });
        assert.throws(call, { name: "TypeError", pythonType: "TypeError" }, `${what}.${name}`);
      }
    }
  });

  it("refuses more arguments than it takes", () => {
    const many = new Array(9).fill(torch.zeros(2, 2));
    for (const [what, make, names, but] of cases) {
      for (const name of functions(names, but)) {
        const call = () => make()[name](...many);
        assert.throws(call, { name: "TypeError", pythonType: "TypeError" }, `${what}.${name}`);
      }
    }
  });

  it("names its parameters", () => {
    const a = matrix([1]);
    raises(() => a.abs(1), "TypeError", "Tensor.abs: takes 0 arguments, got 1");
    raises(
      () => a.div(2, "floor"),
      "TypeError",
      "Tensor.div: takes 1 argument (other) and keywords (rounding_mode), got 2",
    );
    raises(
      () => torch.mean(a, { axes: 0 }),
      "TypeError",
      'torch.mean: has no argument "axes"; it takes input, dim, keepdim, dtype',
    );
    raises(() => torch.cat([a], 0, { dim: 1 }), "TypeError", /two values for the argument dim/);
  });
});

describe("Keywords", () => {
  const a = () => matrix([1, 2], [3, 4]);

  it("name every argument that PyTorch names", () => {
    const x = a();
    assert.deepEqual([...torch.cat([x, x], { dim: 1 }).shape], [2, 4]);
    assert.deepEqual([...torch.cat({ tensors: [x, x], dim: -1 }).shape], [2, 4]);
    assert.deepEqual([...torch.stack([x, x], { dim: -1 }).shape], [2, 2, 2]);
    assert.deepEqual(list(x.pow({ exponent: 2 })), list(x.square()));
    assert.deepEqual(list(torch.pow({ input: x, exponent: 2 })), list(x.square()));
    assert.deepEqual(list(torch.mul(x, { other: 2 })), list(x.mul(2)));
    assert.deepEqual(list(x.mul({ other: 2 })), list(x.mul(2)));
    assert.deepEqual(list(torch.mean({ input: x, dim: 0 })), [2, 3]);
    assert.deepEqual(list(torch.abs({ input: x })), list(x));
    assert.deepEqual(list(torch.max({ input: x, dim: 0 }).indices), [1, 1]);
    assert.deepEqual(list(x.max({ other: x.neg() })), list(x));
    assert.deepEqual(list(x.view({ size: [4] })), [1, 2, 3, 4]);
    assert.deepEqual(list(torch.reshape({ input: x, shape: [4] })), [1, 2, 3, 4]);
    assert.deepEqual(list(x.permute({ dims: [1, 0] })), list(x.T));
    assert.deepEqual(list(torch.full({ size: [1], fill_value: 2 })), [2]);
    assert.deepEqual(list(torch.arange({ end: 2 })), [0, 1]);
    assert.deepEqual(list(torch.arange(1, { end: 3 })), [1, 2]);
    assert.deepEqual([...torch.randint(3, { size: [2] }).shape], [2]);
    assert.deepEqual([...torch.randint(1, { high: 3, size: [2] }).shape], [2]);
    assert.ok(x.equal({ other: x }) && torch.allclose({ input: x, other: x, rtol: 0 }));
  });

  it("are refused with the exceptions of PyTorch", () => {
    raises(() => a().max({ keepdim: true }), "TypeError");
    raises(() => torch.zeros(2, { size: [3] }), "TypeError");
    raises(() => torch.cat([a()], { dim: 5 }), "IndexError");
    raises(() => torch.cat([]), "RuntimeError");
    raises(() => torch.stack([a()], { dim: 5 }), "IndexError");
  });
});

describe("div with rounding_mode", () => {
  it("cuts quotients off, towards zero or downwards, and keeps integers", () => {
    const t = torch.tensor([5, -7, 8]);
    assert.deepEqual(list(t.div(2, { rounding_mode: "trunc" })), [2, -3, 4]);
    assert.deepEqual(list(torch.div(t, 2, { rounding_mode: "floor" })), [2, -4, 4]);
    assert.equal(t.div(2, { rounding_mode: "floor" }).dtype, torch.int64);
    assert.deepEqual(list(t.int().div(2, { rounding_mode: "floor" })), [2, -4, 4]);
    assert.deepEqual(list(t.div(2, { rounding_mode: null })), [2.5, -3.5, 4]);
    assert.deepEqual(list(t.div_(2, { rounding_mode: "floor" })), [2, -4, 4]);
  });

  it("gives PyTorch's zeros, infinities and NaN for floats", () => {
    const t = torch.tensor([-0, 0, 1, -1, Number.NaN, Infinity, -5.5]);
    const { nan, inf } = torch;
    assert.deepEqual(list(t.div(0, { rounding_mode: "floor" })), [
      nan,
      nan,
      inf,
      -inf,
      nan,
      inf,
      -inf,
    ]);
    assert.deepEqual(list(t.div(-2, { rounding_mode: "floor" })), [0, -0, -1, 0, nan, nan, 2]);
    assert.deepEqual(list(t.div(-2, { rounding_mode: "trunc" })), [0, -0, -0, 0, nan, -inf, 2]);
  });

  it("refuses bools, integers divided by 0 and other modes", () => {
    const t = torch.tensor([1]);
    raises(() => t.div(0, { rounding_mode: "floor" }), "RuntimeError");
    raises(() => t.int().div(0, { rounding_mode: "trunc" }), "RuntimeError");
    raises(() => t.bool().div(true, { rounding_mode: "floor" }), "RuntimeError");
    raises(() => t.div(2, { rounding_mode: "up" }), "RuntimeError");
    raises(() => t.div(2, { rounding_mode: 1 }), "TypeError");
  });
});

describe("add and sub with alpha", () => {
  it("multiply the other operand first, rounding once in float32", () => {
    const t = torch.tensor([5, -7, 8]);
    assert.deepEqual(list(torch.add(t, 1, { alpha: 2 })), [7, -5, 10]);
    assert.deepEqual(list(t.sub(t, { alpha: 3 })), [-10, 14, -16]);
    assert.deepEqual(list(t.rsub(1, { alpha: 2 })), [-9, 15, -15]);
    assert.deepEqual(list(t.to(torch.int8).add(100, { alpha: 2 })), [-51, -63, -48]);
    assert.deepEqual(list(t.bool().add(t.bool(), { alpha: true })), [true, true, true]);
    assert.deepEqual(list(t.clone().sub_(1, { alpha: 2 })), [3, -9, 6]);
    const one = (value) => torch.tensor([value], torch.float32);
    // (1 + 2^-12)^2 - 1 is 2^-11 + 2^-24; rounding the product first would lose 2^-24.
    const factor = 1 + 2 ** -12;
    assert.equal(one(-1).add(factor, { alpha: factor }).item(), 2 ** -11 + 2 ** -24);
    // 2^-70 below the middle between two numbers, where rounding to a double first would end up.
    const odd = 1 + 2 ** -23;
    const half = one(2 ** -24 * (1 - 2 ** -23));
    assert.equal(one(odd).add(half, { alpha: odd }).item(), odd);
  });

  it("refuse an alpha of another category", () => {
    const t = torch.tensor([1]);
    raises(() => t.add(1, { alpha: 0.5 }), "RuntimeError");
    raises(() => t.add(1, { alpha: float(2) }), "RuntimeError");
    raises(() => t.add(1, { alpha: true }), "RuntimeError");
    raises(() => t.to(torch.int8).add(1, { alpha: 300 }), "RuntimeError");
    raises(() => t.add(1, { alpha: "2" }), "TypeError");
  });
});

describe("round with decimals", () => {
  it("multiplies, rounds and divides in the tensor's dtype", () => {
    const t = torch.tensor([1.25, -2.345, 1e38]);
    assert.deepEqual(list(t.round({ decimals: 2 })), list(torch.tensor([1.25, -2.34, Infinity])));
    assert.deepEqual(
      list(torch.round(t, { decimals: 1 })).slice(0, 2),
      [1.2, -2.3].map(Math.fround),
    );
    assert.deepEqual(list(matrix([1234.5, 1250, 1350]).round({ decimals: -2 })), [
      [1200, 1200, 1400],
    ]);
    assert.deepEqual(list(t.round_({ decimals: 0 })), [1, -2, Math.fround(1e38)]);
  });

  it("refuses integers and decimals that are not whole", () => {
    raises(() => torch.tensor([1]).round({ decimals: 1 }), "RuntimeError");
    raises(() => torch.tensor([1.5]).round({ decimals: 1.5 }), "TypeError");
  });
});

describe("any and all", () => {
  it("reduce along dimensions, and keep them if asked to", () => {
    const t = torch.tensor([
      [0, 1, 2],
      [0, 0, 3],
    ]);
    assert.deepEqual(list(t.any({ dim: 0 })), [false, true, true]);
    assert.deepEqual(list(torch.all(t, 0)), [false, false, true]);
    assert.deepEqual(list(t.T.all({ dim: 1, keepdim: true })), [[false], [false], [true]]);
    assert.deepEqual(list(torch.any({ input: t, dim: [0, 1], keepdim: true })), [[true]]);
    assert.deepEqual(list(torch.zeros(0, 2).all(0)), [true, true]);
    assert.deepEqual(list(torch.tensor([torch.nan]).all()), true);
  });

  it("give uint8 for uint8, else bool", () => {
    const t = torch.tensor([0, 5], torch.uint8);
    assert.equal(t.any().dtype, torch.uint8);
    assert.deepEqual(list(t.any({ dim: 0, keepdim: true })), [1]);
    assert.equal(t.all().item(), 0);
    assert.equal(t.int().any().dtype, torch.bool);
  });
});

describe("amax, amin, argmax and argmin", () => {
  it("keep every dimension if asked to", () => {
    const t = matrix([1, 2], [4, 3]);
    assert.deepEqual(list(t.amax({ keepdim: true })), [[4]]);
    assert.deepEqual(list(t.argmax({ keepdim: true })), [[2]]);
  });
});

describe("float(3)", () => {
  it("is a Python float wherever a number goes", () => {
    const t = torch.tensor([1, 2]);
    const { float32 } = torch;
    assert.equal(torch.tensor([float(3)]).dtype, float32);
    assert.equal(torch.tensor([1, float(3)]).dtype, float32);
    for (const name of ["add", "sub", "mul", "div", "maximum", "pow", "clamp", "rsub", "rdiv"]) {
      assert.equal(t[name](float(2)).dtype, float32, name);
    }
    assert.equal(torch.mul(t, { other: float(2) }).dtype, float32);
    assert.equal(torch.full([2], float(3)).dtype, float32);
    assert.equal(torch.arange(float(3)).dtype, float32);
    assert.equal(torch.result_type(t, float(1)), float32);
    assert.deepEqual(list(t.eq(float(2))), [false, true]);
    t[0] = float(7);
    assert.deepEqual(list(t.fill_(float(7))), [7, 7]);
    assert.deepEqual(list(torch.tensor([float(1e300)])), [Infinity]);
  });

  it("is checked as a float where a dtype is given", () => {
    assert.deepEqual(list(torch.tensor([-1], torch.uint8)), [255]);
    raises(() => torch.tensor([float(-1)], torch.uint8), "RuntimeError", /-1 does not fit/);
    raises(() => torch.zeros(float(2)), "TypeError", /got 2.0/);
  });

  it("is taken as scale and zero point", () => {
    const x = matrix([1, 2]);
    const q = linear_q_with_scale_and_zero_point(x, float(2), float(1));
    assert.deepEqual(list(q), [[2, 2]]);
    assert.deepEqual(list(linear_dequantization(q, float(2), float(1))), [[2, 2]]);
    assert.equal(torch.quantize_per_tensor(x, float(1), 0, torch.qint8).q_scale(), 1);
    raises(() => torch.quantize_per_tensor(x, 1, float(0), torch.qint8), "TypeError");
    const { MinMaxObserver } = torch.quantization.observer;
    const observer = new MinMaxObserver({ eps: float(1) });
    observer.forward(x);
    assert.deepEqual(list(observer.calculate_qparams()[0]), [1]);
  });
});
