import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, dequantize, init, tensor } from "zeropoint";
import * as torch from "zeropoint/torch";
import { intRepr, quantizePerChannel, quantizePerTensor } from "zeropoint/torch";
import { INSPECT, refuses, sameFloats, sameTensor } from "../support/asserts.mjs";
import { cases, decodeTensor } from "../support/vectors.mjs";

await init();

describe("intRepr", () => {
  it("gives a copy of the codes, printed as PyTorch prints it", () => {
    const q = quantizePerTensor(tensor([[1, -2]]), 1, 0, "qint8");
    const codes = intRepr(q);
    assert.equal(String(codes), "tensor([[ 1, -2]], dtype=torch.int8)");
    codes.data[0] = 7;
    assert.equal(q.data[0], 1);
    assert.equal(intRepr(quantizePerTensor(tensor([3]), 1, 0, "quint8")).dtype, "uint8");
    assert.equal(
      String(intRepr(quantizePerTensor(tensor([3]), 1, 0, "qint32"))),
      "tensor([3], dtype=torch.int32)",
    );
  });

  it("refuses other tensors", () => {
    refuses(() => intRepr(tensor([1])), TypeError, "ZP_INVALID_TENSOR", /intRepr: q must be a ten/);
  });
});

describe("String of a quantized tensor", () => {
  const seeds = cases("seeds").filter(({ id }) => /003\.per_(tensor|channel)$/.test(id));

  it("is what PyTorch prints in notebook 4", () => {
    assert.equal(seeds.length, 2);
    const [perTensor, perChannel] = seeds;
    const { x, scale_tensor: scale, dtype } = perTensor.in;
    const q = quantizePerTensor(decodeTensor(x), decodeTensor(scale), 0, dtype);
    assert.equal(String(q), perTensor.torch_repr);
    const { scales, zero_points: zeroPoints, axis } = perChannel.in;
    const channels = quantizePerChannel(
      decodeTensor(perChannel.in.x),
      decodeTensor(scales),
      decodeTensor(zeroPoints),
      axis,
      perChannel.in.dtype,
    );
    assert.equal(String(channels), perChannel.torch_repr);
  });

  it("is what Node's console prints, of integers likewise", () => {
    const q = quantizePerTensor(tensor([1, -2]), 1, 0, "qint8");
    for (const printed of [q, intRepr(q)]) assert.equal(printed[INSPECT](), String(printed));
  });

  // Printed by PyTorch 1.13, whose printer is that of 2.6.
  const x = tensor([
    [0.5827, 0.8619],
    [0.3827, -0.1982],
    [-0.8213, 0.6351],
  ]);
  it("shows float64 scales and int64 zero points with integer zero points", () => {
    const q = quantizePerChannel(x, [1e-2, 1e-3, 5e-2], [0, 1, 2], 0, "qint8");
    assert.equal(
      String(q),
      `tensor([[ 0.5800,  0.8600],
        [ 0.1260, -0.1290],
        [-0.8000,  0.6500]], size=(3, 2), dtype=torch.qint8,
       quantization_scheme=torch.per_channel_affine,
       scale=tensor([0.0100, 0.0010, 0.0500], dtype=torch.float64),
       zero_point=tensor([0, 1, 2]), axis=0)`,
    );
  });

  it("shows tensors without values and without axes", () => {
    assert.equal(
      String(quantizePerTensor(tensor([], [2, 0]), 1e-2, 0, "qint8")),
      `tensor([], size=(2, 0), dtype=torch.qint8,
       quantization_scheme=torch.per_tensor_affine, scale=0.01, zero_point=0)`,
    );
    assert.equal(
      String(quantizePerTensor(tensor(3.3), 1 / 3, 0, "quint8")),
      `tensor(3.3333, size=(), dtype=torch.quint8,
       quantization_scheme=torch.per_tensor_affine, scale=0.3333333333333333,
       zero_point=0)`,
    );
  });

  it("shortens large tensors", () => {
    const many = Float32Array.from({ length: 1200 }, (_, i) => i);
    assert.equal(
      String(quantizePerTensor(many, 1e-2, 0, "qint32")),
      `tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.1970e+03, 1.1980e+03,
        1.1990e+03], size=(1200,), dtype=torch.qint32,
       quantization_scheme=torch.per_tensor_affine, scale=0.01, zero_point=0)`,
    );
  });

  it("shows scales as Python's floats", () => {
    assert.equal(
      String(quantizePerTensor(tensor([1, 2, 3]), 1e-10, 0, "qint32")),
      `tensor([0.2147, 0.2147, 0.2147], size=(3,), dtype=torch.qint32,
       quantization_scheme=torch.per_tensor_affine, scale=1e-10, zero_point=0)`,
    );
    assert.equal(
      String(quantizePerTensor(tensor([1, 2, 3]), 1, 0, "qint32")),
      `tensor([1., 2., 3.], size=(3,), dtype=torch.qint32,
       quantization_scheme=torch.per_tensor_affine, scale=1.0, zero_point=0)`,
    );
  });
});

describe("dequantize of quantized dtypes", () => {
  const q = quantizePerChannel(tensor([[1, 2]]), [1, 2], [0, 0], 1, "qint8");

  it("takes codes that a getter gives once", () => {
    const given = [Int8Array.of(1, 2), Float64Array.of(3, 4)];
    const once = Object.defineProperty({ ...q }, "data", { get: () => given.shift() });
    sameFloats(dequantize(once).data, [1, 4]);
  });

  it("takes what JSON has made of the rest, of floating zero points too", () => {
    const x = tensor([[0.3, -0.4]]);
    for (const zeroPoints of [[1, 2], Float32Array.of(1, 2), Float32Array.of(0.1, -2.5)]) {
      const own = quantizePerChannel(x, [0.1, 0.3], zeroPoints, 1, "qint8");
      const { data, ...rest } = own;
      const json = JSON.stringify(rest, (_, v) => (ArrayBuffer.isView(v) ? Array.from(v) : v));
      const again = { ...JSON.parse(json), data };
      sameTensor(dequantize(again), dequantize(own));
      assert.deepEqual([...intRepr(again).data], [...data]);
    }
  });

  const refused = {
    "floating zero points without their qscheme": [
      { ...q, zeroPoint: [0.5, 0] },
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      /q\.zeroPoint\[0\] must be an integer/,
    ],
    "floating zero points that are no numbers": [
      { ...q, zeroPoint: ["a", 0], qscheme: "per_channel_affine_float_qparams" },
      TypeError,
      "ZP_INVALID_ZERO_POINT",
      /q\.zeroPoint\[0\] must be a number, got "a"/,
    ],
    "a qscheme that is none": [
      { ...q, zeroPoint: [0.5, 0], qscheme: "float" },
      RangeError,
      "ZP_INVALID_QSCHEME",
      /q\.qscheme must be "per_channel_affine_float_qparams" for such qparams, got "float"/,
    ],
    "codes in another array": [
      { ...q, data: new Uint8Array(2) },
      TypeError,
      "ZP_INVALID_CODES",
      /q\.data must be of type Int8Array for dtype qint8/,
    ],
    "another number of codes": [
      { ...q, data: new Int8Array(3) },
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /must have 2 values, got 3/,
    ],
    "a qscheme that the qparams do not have": [
      { ...q, qscheme: "per_tensor_affine" },
      RangeError,
      "ZP_INVALID_QSCHEME",
      /q\.qscheme must be "per_channel_affine" for such qparams/,
    ],
    "an axis that is not there": [
      { ...q, axis: 2 },
      RangeError,
      "ZP_INVALID_AXIS",
      /q\.axis must be 0 or 1 for shape \[1, 2\], got 2$/,
    ],
  };
  for (const [what, [value, ...expected]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => refuses(() => dequantize(value), ...expected));
  }

  it("writes to options.out", () => {
    const out = new Float32Array(2);
    assert.equal(dequantize(q, { out }).data, out);
    sameFloats(out, [1, 2]);
  });

  it("runs on the core of an instance", async () => {
    const instance = await create({}, torch);
    const own = instance.quantizePerTensor(tensor([1.5]), 0.5, 0, "qint8");
    sameFloats(instance.dequantize(own).data, [1.5]);
    sameFloats(dequantize(own).data, [1.5]);
  });
});
