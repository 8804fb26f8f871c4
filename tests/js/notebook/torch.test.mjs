import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { init, repr, torch } from "zeropoint/notebook";
import { raises } from "./asserts.mjs";

await init();

describe("torch.nn.functional.linear", () => {
  it("does not stretch its result to the bias", () => {
    const { linear } = torch.nn.functional;
    for (const dtype of [torch.float32, torch.float64]) {
      const ones = (...lengths) => torch.ones(lengths, { dtype });
      raises(() => linear(ones(3, 7), ones(1, 7), ones(3)), "RuntimeError", "stretch");
      assert.deepEqual(linear(ones(3, 7), ones(1, 7), ones(3, 1)).tolist(), [[8], [8], [8]]);
    }
  });

  const { linear } = torch.nn.functional;

  it("multiplies the last dimension, with and without bias, in every dtype", () => {
    const x = torch.tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    const w = torch.tensor([
      [1, 0, -1],
      [2, 2, 2],
    ]);
    const expected = [
      [-2, 12],
      [-2, 30],
    ];
    for (const dtype of [torch.float32, torch.float64, torch.int32, torch.int64]) {
      const y = linear(x.to(dtype), w.to(dtype));
      assert.equal(y.dtype, dtype);
      assert.deepEqual(y.tolist(), expected);
      const bias = torch.tensor([10, 20]).to(dtype);
      assert.deepEqual(linear(x.to(dtype), w.to(dtype), bias).tolist(), [
        [8, 32],
        [8, 50],
      ]);
      assert.deepEqual(linear(x.to(dtype), w.to(dtype), { bias }).shape, [2, 2]);
    }
  });

  it("takes inputs and weights of one dimension, more dimensions and no elements", () => {
    const w = torch.ones(2, 3);
    assert.deepEqual(linear(torch.ones(3), w).shape, [2]);
    assert.deepEqual(linear(torch.ones(4, 5, 3), w).shape, [4, 5, 2]);
    assert.deepEqual(linear(torch.ones(3), torch.ones(3)).item(), 3);
    assert.deepEqual(linear(torch.zeros(2, 0), torch.zeros(3, 0)).tolist(), [
      [0, 0, 0],
      [0, 0, 0],
    ]);
    assert.deepEqual(linear(torch.zeros(2, 3).t().contiguous().t(), w).shape, [2, 2]);
  });

  it("takes a bias with a weight of one dimension only where PyTorch adds it afterwards", () => {
    const [w, bias] = [torch.ones(3), torch.tensor(0.5)];
    assert.equal(linear(torch.ones(3), w, bias).item(), 3.5);
    assert.deepEqual(linear(torch.ones(1, 1, 2, 3), w, bias).shape, [1, 1, 2]);
    assert.deepEqual(linear(torch.ones(2, 3, 4).transpose(1, 2), w, bias).shape, [2, 4]);
    raises(() => linear(torch.ones(2, 3), w, bias), "RuntimeError", "[N, K]");
    raises(() => linear(torch.ones(4, 2, 3), w, bias), "RuntimeError", "[N, K]");
  });

  it("refuses shapes and dtypes that do not fit", () => {
    raises(() => linear(torch.ones(2, 3), torch.ones(2, 4)), "RuntimeError");
    raises(() => linear(torch.ones(3), torch.ones(3).double()), "RuntimeError");
    raises(() => linear(torch.tensor(1.5), torch.ones(1)), "RuntimeError");
    raises(() => linear(torch.ones(2, 3), torch.ones(2, 3), torch.ones(3)), "RuntimeError");
    raises(() => linear([1], torch.ones(1)), "TypeError");
  });
});

describe("other functions of torch", () => {
  it("make tensors", () => {
    assert.deepEqual(torch.zeros([2, 1]).tolist(), [[0], [0]]);
    assert.deepEqual(torch.ones(2, { dtype: torch.int8 }).tolist(), [1, 1]);
    assert.deepEqual(torch.full([2], 7).dtype, torch.int64);
    assert.deepEqual(torch.arange(3).tolist(), [0, 1, 2]);
    assert.deepEqual(torch.arange(1, 2, 0.25).tolist(), [1, 1.25, 1.5, 1.75]);
    // What PyTorch's vectors of 8 make of them; the last four of these 20 are no vector's.
    assert.equal(torch.arange(0, 2, 0.1)[9].item(), 0.9000000357627869);
    assert.equal(torch.arange(0, 2, 0.1)[19].item(), Math.fround(1.9));
    assert.equal(torch.arange(4, 29.9, 0.3)[9].item(), 6.700000286102295);
    assert.deepEqual(torch.arange(5, 0, -2, { dtype: torch.int8 }).tolist(), [5, 3, 1]);
    assert.equal(torch.zeros_like(torch.ones(2, 3).char()).dtype, torch.int8);
    assert.deepEqual(torch.ones_like(torch.zeros(2), { dtype: torch.bool }).tolist(), [true, true]);
    assert.equal(torch.zeros(2).dtype, torch.float32);
    raises(() => torch.zeros(-1), "RuntimeError");
    raises(() => torch.zeros(1.5), "TypeError");
    raises(() => torch.zeros(2, { type: torch.int8 }), "TypeError");
    raises(() => torch.arange(0, 3, -1), "RuntimeError");
    raises(() => torch.zeros(2 ** 40), "RuntimeError");
  });

  it("count in integers for an integer dtype, start and step cut off", () => {
    const { int8, int16, int32, int64 } = torch;
    assert.deepEqual(torch.arange(-3, 10, 2.5, { dtype: int32 }).tolist(), [-3, -1, 1, 3, 5, 7]);
    assert.deepEqual(torch.arange(-2.5, 7.25, 2.5, { dtype: int64 }).tolist(), [-2, 0, 2, 4, 6]);
    assert.deepEqual(torch.arange(0.5, 0, 100, { dtype: int16 }).tolist(), []);
    // From 0 to 0 when cut off, but less than no values when counted.
    raises(() => torch.arange(0.9, -0.2, { dtype: int16 }), "RuntimeError");
    raises(() => torch.arange(0, 2, 0.5, { dtype: int8 }), "RuntimeError");
  });

  it("limit by NaN as PyTorch does: by two bounds all, by one none", () => {
    const x = torch.tensor([1.5, Number.NaN]);
    assert.deepEqual(x.clamp({ min: Number.NaN }).tolist(), [1.5, Number.NaN]);
    assert.deepEqual(x.clamp({ max: Number.NaN }).tolist(), [1.5, Number.NaN]);
    assert.deepEqual(x.clamp(0, Number.NaN).tolist(), [Number.NaN, Number.NaN]);
    const whole = torch.tensor([1, 2]).clamp({ max: Number.NaN });
    assert.equal(whole.dtype, torch.float32);
    assert.deepEqual(whole.tolist(), [1, 2]);
  });

  it("limit no bools, unless the bounds are numbers", () => {
    const x = torch.tensor([true, false]);
    raises(() => x.clamp(true), "RuntimeError");
    raises(() => x.clamp({ max: false }), "RuntimeError");
    assert.deepEqual(x.clamp(0, 0.5).tolist(), [0.5, 0]);
  });

  it("raise float32 to powers in float32, and in float64 what two vectors of 8 leave over", () => {
    const powers = torch.full([17], 1e-30).pow(1 / 3);
    const isNear = (value, wanted) => Math.abs(value / wanted - 1) <= 2 ** -23;
    assert.ok(isNear(powers[15].item(), 9.999993194620416e-11));
    assert.ok(isNear(powers[16].item(), 1.000000013351432e-10));
    const signs = torch.full([17], -2).float().pow(2147483647);
    assert.deepEqual([signs[0].item(), signs[16].item()], [Infinity, -Infinity]);
  });

  it("raise to infinite powers and NaN as C does, and integers to powers of their dtype", () => {
    const x = torch.tensor([1, -1, 2, Number.NaN]).float();
    assert.deepEqual(x.pow(Infinity).tolist(), [1, 1, Infinity, Number.NaN]);
    const ends = torch.tensor([-0, 0, -Infinity, Infinity, -2]);
    const roots = [-Infinity, Infinity, Number.NaN, 0, Number.NaN];
    assert.deepEqual(ends.pow(-0.5).tolist(), roots);
    const seven = torch.tensor([7], { dtype: torch.float32 });
    assert.equal(seven.pow(-0.5).item(), 0.37796449661254883);
    assert.deepEqual(x.pow(-Infinity).tolist(), [1, 1, 0, Number.NaN]);
    assert.deepEqual(x.pow(Number.NaN).tolist(), [1, Number.NaN, Number.NaN, Number.NaN]);
    const three = torch.tensor([3], { dtype: torch.int8 });
    assert.equal(three.pow(127).item(), -85);
    raises(() => three.pow(128), "RuntimeError");
  });

  it("compare bools for closeness as numbers", () => {
    const [a, b] = [torch.tensor([true, false]), torch.tensor([true, true])];
    assert.ok(a.allclose(a));
    assert.ok(!a.allclose(b));
    assert.ok(a.allclose(b, { atol: 1 }));
  });

  it("join tensors", () => {
    const [a, b] = [torch.tensor([1, 2]), torch.tensor([3, 4.5])];
    assert.deepEqual(torch.stack([a, b]).tolist(), [
      [1, 2],
      [3, 4.5],
    ]);
    assert.deepEqual(torch.stack([a, b], 1).tolist(), [
      [1, 3],
      [2, 4.5],
    ]);
    assert.deepEqual(torch.cat([a, b]).tolist(), [1, 2, 3, 4.5]);
    assert.deepEqual(torch.cat([torch.ones(2, 1), torch.zeros(2, 2)], 1).shape, [2, 3]);
    raises(() => torch.cat([torch.ones(2, 1), torch.zeros(3, 2)], 1), "RuntimeError");
  });

  it("pass over tensors of shape [0] in cat, but for their dtype", () => {
    const [none, row] = [torch.tensor([]), torch.ones(1, 2, { dtype: torch.int8 })];
    const joined = torch.cat([none, row, none, row], 1);
    assert.equal(String(joined), "tensor([[1., 1., 1., 1.]])");
    assert.equal(repr(torch.cat([none.int(), none.char()], 5)), "tensor([], dtype=torch.int32)");
    raises(() => torch.cat([torch.zeros(0, 3), row], 0), "RuntimeError");
    raises(() => torch.cat([none, torch.tensor(1)], 7), "RuntimeError", "0-d");
  });

  it("know the limits of integers", () => {
    assert.deepEqual(
      [torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32].map((dtype) => {
        const { min, max, bits } = torch.iinfo(dtype);
        return [min, max, bits];
      }),
      [
        [-128, 127, 8],
        [0, 255, 8],
        [-32768, 32767, 16],
        [0, 65535, 16],
        [-2147483648, 2147483647, 32],
      ],
    );
    assert.equal(torch.iinfo(torch.int64).max, 2n ** 63n - 1n);
    assert.equal(torch.iinfo(torch.int64).min, -(2n ** 63n));
  });

  it("print limits as PyTorch does", () => {
    assert.equal(String(torch.iinfo(torch.int8)), "iinfo(min=-128, max=127, dtype=int8)");
    assert.equal(
      String(torch.iinfo(torch.int64)),
      "iinfo(min=-9.22337e+18, max=9.22337e+18, dtype=int64)",
    );
    assert.equal(
      String(torch.finfo(torch.float32)),
      "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, " +
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)",
    );
  });

  it("have the limits of integers or of floats, not both", () => {
    assert.equal(torch.finfo(torch.float32).eps, 2 ** -23);
    raises(() => torch.iinfo(torch.float32), "TypeError");
    raises(() => torch.iinfo(torch.bool), "TypeError");
    raises(() => torch.finfo(torch.int8), "TypeError");
  });

  it("have PyTorch's names, of which some are the same dtype", () => {
    assert.equal(String(torch.int8), "torch.int8");
    assert.equal(torch.long, torch.int64);
  });

  it("are methods too", () => {
    const x = torch.tensor([-1.5, 2.5]);
    assert.ok(torch.round(x).equal(x.round()));
    assert.ok(torch.clamp(x, -1, 1).equal(x.clamp(-1, 1)));
    assert.ok(torch.clamp(x, { min: 0 }).equal(x.clamp({ min: 0 })));
    assert.ok(torch.abs(x).equal(x.abs()));
    assert.equal(torch.max(x).item(), 2.5);
    assert.equal(torch.div(1, torch.tensor(8)).item(), 0.125);
    raises(() => torch.round(2.5), "TypeError");
    assert.equal(torch.is_tensor(x), true);
    assert.equal(torch.is_tensor([1]), false);
    assert.ok(x instanceof torch.Tensor);
  });

  it("treat uint16 as PyTorch 2.6 does: alone, with numbers and with floats", () => {
    const t = torch.tensor([65535, 1], { dtype: torch.uint16 });
    assert.deepEqual(t.add(1).tolist(), [0, 2]);
    assert.equal(t.add(0.5).dtype, torch.float32);
    assert.deepEqual(
      torch.tensor([-1, 70000.5, Number.NaN]).to(torch.uint16).tolist(),
      [65535, 4464, 0],
    );
    raises(() => t.add(torch.tensor([1, 2])), "RuntimeError");
  });
});

describe("an unknown name", () => {
  for (const [read, message] of [
    [() => torch.int9, "module 'torch' has no attribute 'int9'. Did you mean: 'int8'?"],
    [() => torch.zzzzzz, "module 'torch' has no attribute 'zzzzzz'"],
    [
      () => torch.nn.functional.liner,
      "module 'torch.nn.functional' has no attribute 'liner'. Did you mean: 'linear'?",
    ],
    [
      () => new torch.ao.quantization.observer.MinMaxObservr(),
      "module 'torch.ao.quantization.observer' has no attribute 'MinMaxObservr'. Did you mean: 'MinMaxObserver'?",
    ],
  ]) {
    it(`throws what Python says: ${message}`, () => {
      assert.throws(read, { name: "TypeError", message, code: "ZP_PYTHON_ATTRIBUTE_ERROR" });
    });
  }

  const observer = new torch.ao.quantization.observer.MinMaxObserver();
  const quantized = () => torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.qint8);
  for (const [read, message] of [
    [
      () => torch.ones(2).matmull(torch.ones(2)),
      "'Tensor' object has no attribute 'matmull'. Did you mean: 'matmul'?",
    ],
    [() => torch.ones(2).Shape, "'Tensor' object has no attribute 'Shape'. Did you mean: 'shape'?"],
    [() => torch.ones(2).length, "'Tensor' object has no attribute 'length'"],
    [
      () => observer.calculate_qparam(),
      "'MinMaxObserver' object has no attribute 'calculate_qparam'. Did you mean: 'calculate_qparams'?",
    ],
    [
      () => quantized().int_rep(),
      "'Tensor' object has no attribute 'int_rep'. Did you mean: 'int_repr'?",
    ],
    [
      () => new torch.distributions.normal.Normal(0, 1).samples(),
      "'Normal' object has no attribute 'samples'. Did you mean: 'sample'?",
    ],
    [
      () => torch.ao.quantization.qconfig.default_qconfig.weights,
      "'QConfig' object has no attribute 'weights'. Did you mean: 'weight'?",
    ],
  ]) {
    it(`of an object throws what Python says: ${message}`, () => {
      assert.throws(read, { name: "TypeError", message, code: "ZP_PYTHON_ATTRIBUTE_ERROR" });
    });
  }

  it("is undefined where others ask any object for it", async () => {
    const objects = [
      ...[torch.ones(2), observer, quantized(), torch.int8, torch.qint8],
      ...[
        torch.ao.quantization.qconfig.default_qconfig,
        new torch.distributions.normal.Normal(0, 1),
      ],
    ];
    for (const object of objects) {
      assert.equal(await object, object);
      for (const name of ["then", "nodeType", "$$typeof", "asymmetricMatch", "@@iterator"]) {
        assert.equal(object[name], undefined, `${name} of ${object}`);
      }
      assert.equal(object[Symbol("other")], undefined);
      assert.equal(object.toJSON ?? undefined, undefined);
      assert.equal("anything" in object, false);
      assert.equal(Object.hasOwn(object, "anything"), false);
      assert.match(inspect(object), /./);
      assert.notDeepEqual(object, {});
      JSON.stringify(object);
      // Prototypes may be asked for anything.
      assert.equal(Object.getPrototypeOf(object).anything, undefined);
    }
  });

  it("is not one that JavaScript asks of any value", async () => {
    assert.equal(await torch, torch);
    assert.equal("int9" in torch, false);
    assert.equal(JSON.stringify(torch.distributions), '{"normal":{}}');
    assert.match(String(torch), /object Object/);
  });
});
