// What learners use beside the course's functions: products, choices, exponentials, slices, fake quantization.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { torch } from "zeropoint/notebook";
import { raises } from "./asserts.mjs";

const text = (tensor) => String(tensor);

describe("torch.matmul", () => {
  const a = torch.tensor([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  const b = torch.tensor([
    [1, 0],
    [0, 1],
    [2, -1],
  ]);

  it("multiplies matrices in every dtype, also as a method", () => {
    for (const dtype of [torch.float32, torch.float64, torch.int8, torch.int32, torch.int64]) {
      const product = torch.matmul(a.to(dtype), b.to(dtype));
      assert.equal(product.dtype, dtype);
      assert.deepEqual(product.tolist(), [
        [7, -1],
        [16, -1],
      ]);
    }
    assert.deepEqual(a.matmul({ other: b }).tolist(), a.matmul(b).tolist());
    // int8 wraps: 16 * 16 is 256.
    const sixteen = torch.tensor([[16]], { dtype: torch.int8 });
    assert.deepEqual(sixteen.matmul(sixteen).tolist(), [[0]]);
  });

  it("takes vectors, of which two give a number", () => {
    const v = torch.tensor([1, 2, 3]);
    assert.equal(torch.matmul(v, v).item(), 14);
    assert.deepEqual(torch.matmul(v, v).shape, []);
    assert.deepEqual(torch.matmul(a, v).tolist(), [14, 32]);
    assert.deepEqual(torch.matmul(v, b).tolist(), [7, -1]);
  });

  it("has the shapes of PyTorch's documentation for products of several matrices", () => {
    const shapeOf = (left, right) => [...torch.matmul(torch.ones(left), torch.ones(right)).shape];
    assert.deepEqual(shapeOf([10, 3, 4], [4]), [10, 3]);
    assert.deepEqual(shapeOf([10, 3, 4], [10, 4, 5]), [10, 3, 5]);
    assert.deepEqual(shapeOf([10, 3, 4], [4, 5]), [10, 3, 5]);
    assert.deepEqual(shapeOf([4], [10, 4, 5]), [10, 5]);
    assert.deepEqual(shapeOf([2, 1, 3, 4], [5, 4, 6]), [2, 5, 3, 6]);
    assert.deepEqual(shapeOf([0, 3], [3, 2]), [0, 2]);
  });

  it("multiplies each matrix of a stack with its own", () => {
    const left = torch.arange(12, { dtype: torch.float32 }).view(2, 2, 3);
    const right = torch.stack([b, b.mul(-1)]).float();
    const product = torch.matmul(left, right);
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(product[i].tolist(), left[i].matmul(right[i]).tolist());
    }
    assert.deepEqual(
      torch.matmul(left.transpose(1, 2), left).tolist()[1],
      left[1].t().matmul(left[1]).tolist(),
    );
  });

  it("refuses shapes and dtypes that do not fit", () => {
    raises(() => torch.matmul(a, a), "RuntimeError");
    raises(() => torch.matmul(a, b.float()), "RuntimeError");
    raises(() => torch.matmul(a.bool(), b.bool()), "RuntimeError");
    raises(() => torch.matmul(torch.tensor(1), a), "RuntimeError");
    raises(() => torch.matmul(torch.ones(2, 1, 2), torch.ones(3, 2, 1)), "RuntimeError");
    raises(() => a.matmul([[1]]), "TypeError");
  });
});

describe("torch.where", () => {
  const x = torch.tensor([
    [1, -2],
    [-3, 4],
  ]);

  it("takes elements of one tensor or the other, and broadcasts all three", () => {
    assert.deepEqual(torch.where(x.gt(0), x, x.mul(10)).tolist(), [
      [1, -20],
      [-30, 4],
    ]);
    assert.deepEqual(
      torch.where(torch.tensor([true, false]), x, torch.tensor([[7], [8]])).tolist(),
      [
        [1, 7],
        [-3, 8],
      ],
    );
    assert.deepEqual(x.where(x.gt(0), 0).tolist(), [
      [1, 0],
      [0, 4],
    ]);
  });

  it("takes numbers, and the dtype of both", () => {
    assert.equal(torch.where(x.gt(0), 1, 0).dtype, torch.int64);
    assert.equal(torch.where(x.gt(0), 1.5, 0).dtype, torch.float32);
    assert.equal(torch.where(x.gt(0), x.to(torch.int8), x.to(torch.uint8)).dtype, torch.int16);
    assert.equal(torch.where(x.gt(0), x, 0.5).dtype, torch.float32);
  });

  it("leaves out what is not chosen, NaN too, and follows views", () => {
    const nan = torch.full([2, 2], Number.NaN);
    assert.deepEqual(torch.where(x.gt(0).t(), x.t(), nan).tolist(), [
      [1, Number.NaN],
      [Number.NaN, 4],
    ]);
    raises(() => torch.where(x, x, x), "RuntimeError");
    raises(() => torch.where(x.gt(0), torch.ones(3), x), "RuntimeError");
  });
});

describe("exponentials and their relatives", () => {
  it("are the float32 numbers nearest to the true values", () => {
    // To ten digits: 1/e, 1 / (1 + 1/e), tanh 1.
    const f = Math.fround;
    assert.deepEqual(torch.exp(torch.tensor([0, 1, -1])).tolist(), [1, f(Math.E), f(0.3678794412)]);
    assert.deepEqual(torch.log(torch.tensor([1, 2, 10])).tolist(), [0, f(Math.LN2), f(Math.LN10)]);
    assert.equal(torch.sigmoid(torch.tensor(1)).item(), f(0.7310585786));
    assert.equal(torch.tanh(torch.tensor(1.0)).item(), f(0.761594156));
  });

  it("have PyTorch's limits, and turn integers and bools into float32", () => {
    const [inf, nan] = [torch.inf, torch.nan];
    const x = torch.tensor([-inf, inf, nan]);
    assert.deepEqual(x.exp().tolist(), [0, inf, nan]);
    assert.deepEqual(x.log().tolist(), [nan, inf, nan]);
    assert.deepEqual(x.sigmoid().tolist(), [0, 1, nan]);
    assert.deepEqual(x.tanh().tolist(), [-1, 1, nan]);
    assert.deepEqual(torch.log(torch.tensor([0])).tolist(), [-inf]);
    // The largest float32 is exp(88.72283905...).
    assert.deepEqual(torch.exp(torch.tensor([88.8, -104.5])).tolist(), [inf, 0]);
    for (const name of ["exp", "log", "sigmoid", "tanh"]) {
      assert.equal(torch[name](torch.tensor([true])).dtype, torch.float32);
    }
  });

  it("relu keeps dtypes, NaN and the sign of zero", () => {
    assert.deepEqual(torch.relu(torch.tensor([-1.5, 2, torch.nan])).tolist(), [0, 2, torch.nan]);
    assert.ok(Object.is(torch.relu(torch.tensor([-0.0]).float()).item(), 0));
    assert.deepEqual(torch.nn.functional.relu(torch.tensor([-3, 3])).dtype, torch.int64);
    assert.deepEqual(torch.relu(torch.tensor([-3, 3])).tolist(), [0, 3]);
    assert.deepEqual(torch.tensor([-128, 5], { dtype: torch.int8 }).relu().tolist(), [0, 5]);
    raises(() => torch.relu(torch.tensor([true])), "RuntimeError");
  });
});

describe("torch.softmax", () => {
  it("gives shares along a dimension", () => {
    const x = torch.tensor([1, 2, 3]).float();
    assert.equal(text(torch.softmax(x, 0)), "tensor([0.0900, 0.2447, 0.6652])");
    assert.deepEqual(x.softmax({ dim: -1 }).tolist(), torch.softmax(x, 0).tolist());
    const m = torch.stack([x, x.mul(2)]);
    assert.deepEqual(torch.nn.functional.softmax(m, 1)[0].tolist(), x.softmax(0).tolist());
    assert.deepEqual(m.t().softmax(0).t().tolist(), m.softmax(1).tolist());
    assert.deepEqual(m.softmax(0).shape, [2, 3]);
    assert.deepEqual(
      torch
        .softmax(torch.ones(2, 3, 4), 1)
        .sum(1)
        .tolist()[0],
      [1, 1, 1, 1],
    );
  });

  it("takes large numbers and a single one, and refuses integers", () => {
    assert.deepEqual(torch.tensor([1000.5, 1000.5]).softmax(0).tolist(), [0.5, 0.5]);
    assert.equal(torch.tensor(3.5).softmax(0).item(), 1);
    assert.deepEqual(torch.tensor([-torch.inf, 0.5]).softmax(0).tolist(), [0, 1]);
    assert.deepEqual(torch.zeros(0, 2).softmax(1).shape, [0, 2]);
    raises(() => torch.tensor([1, 2]).softmax(0), "RuntimeError");
    raises(() => torch.ones(2).softmax(1), "IndexError");
    raises(() => torch.softmax(torch.ones(2)), "TypeError");
  });
});

describe("slices", () => {
  const t = torch.arange(24).view(2, 3, 4);

  it("are Python's, as text", () => {
    assert.deepEqual(t.get(0, ":", 1).tolist(), [1, 5, 9]);
    assert.deepEqual(t.get(1, "1:", "::2").tolist(), [
      [16, 18],
      [20, 22],
    ]);
    assert.deepEqual(t.get(":", -1, "-2:").tolist(), [
      [10, 11],
      [22, 23],
    ]);
    assert.deepEqual(t.get("1:1").shape, [0, 3, 4]);
    assert.deepEqual(t.get("-9:9").tolist(), t.tolist());
    assert.deepEqual(t.get(0, 0, "1:9:2").tolist(), [1, 3]);
  });

  it("share memory, and can be assigned to", () => {
    const own = t.clone();
    own.get(0, "1:").zero_();
    assert.deepEqual(own[0].tolist(), [
      [0, 1, 2, 3],
      [0, 0, 0, 0],
      [0, 0, 0, 0],
    ]);
    own.set([1, ":", "::3"], -1);
    assert.deepEqual(own[1].tolist(), [
      [-1, 13, 14, -1],
      [-1, 17, 18, -1],
      [-1, 21, 22, -1],
    ]);
  });

  it("refuse other texts, and steps below 1", () => {
    raises(() => t.get("1"), "IndexError");
    raises(() => t.get("a:b"), "IndexError");
    raises(() => t.get("::0"), "ValueError");
    raises(() => t.get("::-1"), "ValueError");
    raises(() => t.get(":", ":", ":", ":"), "IndexError");
  });
});

describe("torch.fake_quantize_per_tensor_affine", () => {
  it("gives the values of PyTorch's documentation", () => {
    const x = torch.tensor([0.0552, 0.973, 0.3973, -1.078]);
    const result = torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255);
    assert.equal(text(result), "tensor([0.1000, 1.0000, 0.4000, 0.0000])");
  });

  it("takes keywords and tensors of one value, and keeps the shape", () => {
    const x = torch.tensor([[0.3], [9]]);
    const keywords = { scale: 0.5, zero_point: 0, quant_min: 0, quant_max: 15 };
    assert.deepEqual(torch.fake_quantize_per_tensor_affine(x, keywords).tolist(), [[0.5], [7.5]]);
    const [scale, zero] = [torch.tensor([0.5]), torch.tensor([0], { dtype: torch.int32 })];
    assert.deepEqual(torch.fake_quantize_per_tensor_affine(x, scale, zero, 0, 15).tolist(), [
      [0.5],
      [7.5],
    ]);
    raises(() => torch.fake_quantize_per_tensor_affine(x.double(), 0.5, 0, 0, 15), "RuntimeError");
    raises(() => torch.fake_quantize_per_tensor_affine(x, 0.5, 16, 0, 15), "RuntimeError");
    raises(() => torch.fake_quantize_per_tensor_affine(x, 0.5, 0, 0), "TypeError");
  });
});

describe("torch.fake_quantize_per_channel_affine", () => {
  it("quantizes and dequantizes each channel, here by hand", () => {
    const x = torch.tensor([
      [0.3, -0.3],
      [30, 70],
    ]);
    const scale = torch.tensor([0.5, 20]);
    const zero = torch.tensor([0, 1], { dtype: torch.int32 });
    // 0.3 is one step of 0.5, -0.3 saturates at 0; 30 is 1.5 steps of 20, 2 after rounding, and 70 is 3.5, 4.
    assert.deepEqual(torch.fake_quantize_per_channel_affine(x, scale, zero, 0, 0, 15).tolist(), [
      [0.5, 0],
      [40, 80],
    ]);
    raises(
      () => torch.fake_quantize_per_channel_affine(x, scale, zero.long(), 0, 0, 15),
      "RuntimeError",
    );
    raises(
      () => torch.fake_quantize_per_channel_affine(x, scale, torch.tensor([0]), 0, 0, 15),
      "RuntimeError",
    );
  });
});
