import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize, init, quantize, tensor } from "zeropoint";
import {
  Embedding,
  PerChannelMinMaxObserver,
  predefinedQConfigs,
  QConfigMapping,
  quantizeDynamic,
  quantizePerChannel,
  Sequential,
  WeightOnlyQConfig,
} from "zeropoint/torch";
import { refuses, sameFloats, sameTensor } from "../support/asserts.mjs";
import { floats } from "../support/models.mjs";

await init();

describe("embeddings", () => {
  const table = floats([6, 8]);
  const indices = { data: Int32Array.of(5, 0, 5, 3), shape: [2, 2] };
  const model = new Sequential({ tokens: new Embedding(table) });

  const rowsOf = ({ data }) => {
    const out = new Float32Array(4 * 8);
    indices.data.forEach((row, i) => {
      out.set(data.subarray(row * 8, row * 8 + 8), i * 8);
    });
    return out;
  };

  it("are quantized by rows with floating zero points, as in PyTorch", () => {
    const mapping = new QConfigMapping().setObjectType(
      Embedding,
      predefinedQConfigs.float_qparams_weight_only_qconfig,
    );
    const quantized = quantizeDynamic(model, mapping);
    const observer = new PerChannelMinMaxObserver({ qscheme: "per_channel_affine_float_qparams" });
    observer.observe(table);
    const { scale, zeroPoint } = observer.calculateQParams();
    const q = quantizePerChannel(table, scale, zeroPoint, 0, "quint8");
    const y = quantized.forward(indices);
    assert.deepEqual([...y.shape], [2, 2, 8]);
    const expected = Float32Array.from(q.data, (code, i) => {
      const row = Math.floor(i / 8);
      return scale.data[row] * code - Math.fround(scale.data[row] * zeroPoint.data[row]);
    });
    sameFloats(y.data, rowsOf({ data: expected }));
    assert.equal(quantized.sizeInBytes, 48 + 6 * 8);
  });

  it("of 8 bits come out with the bits of torch.ops.quantized.embedding_byte", () => {
    const model = new Sequential(new Embedding(tensor([[0.1, 0.2, 0.35, 1.07]])));
    const mapping = new QConfigMapping().setGlobal(
      predefinedQConfigs.float_qparams_weight_only_qconfig,
    );
    const { data } = quantizeDynamic(model, mapping).forward(tensor([0]));
    // dequantize() of the same weight gives 0.1989019513130188 and 0.35105881094932556.
    const expected = [
      0.10000000149011612, 0.19890196621418, 0.35105884075164795, 1.0700000524520874,
    ];
    assert.deepEqual([...data], expected);
  });

  it("of 4 bits come out with the bits of torch.ops.quantized.embedding_4bit, and not beyond float16", () => {
    const mapping = new QConfigMapping().setGlobal(
      predefinedQConfigs.float_qparams_weight_only_qconfig_4bit,
    );
    const look = (...row) => {
      const model = new Sequential(new Embedding(tensor([row])));
      return [...quantizeDynamic(model, mapping).forward(tensor([0])).data];
    };
    assert.deepEqual(
      look(0.1, 0.2, 0.35, 1.07),
      [0.0999755859375, 0.229248046875, 0.3585205078125, 1.06951904296875],
    );
    // A scale among float16's subnormal numbers.
    assert.deepEqual(look(-1e-6, 2e-6), [-1.0132789611816406e-6, 1.6689300537109375e-6]);
    assert.deepEqual(look(-1e6, 1e6), [Number.NaN, Number.NaN]);
  });

  it("in 4 bits use 16 codes", () => {
    const mapping = new QConfigMapping().setGlobal(
      predefinedQConfigs.float_qparams_weight_only_qconfig_4bit,
    );
    const quantized = quantizeDynamic(model, mapping);
    const options = { dtype: "quint4x2", qscheme: "per_channel_affine_float_qparams" };
    const observer = new PerChannelMinMaxObserver(options);
    observer.observe(table);
    const { scale, zeroPoint } = observer.calculateQParams();
    const q = quantizePerChannel(table, scale, zeroPoint, 0, "quint8");
    const codes = q.data.map((code) => Math.min(code, 15));
    assert.ok(new Set(codes).size > 8);
    const { data } = quantized.forward(indices);
    const [exact, steps] = [rowsOf(dequantize({ ...q, data: codes })), rowsOf(q)];
    // The scale and the bias of a row are float16: 11 digits.
    data.forEach((value, i) => {
      const row = indices.data[Math.floor(i / 8)];
      const bias = scale.data[row] * zeroPoint.data[row];
      const least = scale.data[row] * steps[i] + Math.abs(bias);
      assert.ok(Math.abs(value - exact[i]) <= least * 2 ** -11, `value ${i}`);
    });
    assert.equal(quantized.sizeInBytes, 24 + 6 * 4);
    assert.match(String(quantized), /QuantizedEmbedding\(num_embeddings=6, .*quint4x2,/);
  });

  for (const options of [
    {},
    { axis: 0 },
    { axis: 1, dtype: "int4" },
    { groupSize: 4 },
    { groupSize: 3 },
  ]) {
    it(`by quantize: ${JSON.stringify(options)}`, () => {
      const mapping = new QConfigMapping().setGlobal(new WeightOnlyQConfig(options));
      const quantized = quantizeDynamic(model, mapping);
      sameFloats(quantized.forward(indices).data, rowsOf(dequantize(quantize(table, options))));
    });
  }

  it("are what dequantize gives, for thousands of rows at once and for none", () => {
    const [rows, columns] = [4000, 16];
    const large = floats([rows, columns]);
    const all = Int32Array.from({ length: rows }, (_, i) => i);
    for (const options of [{}, { axis: 0 }, { groupSize: 4 }, { groupSize: 5 }]) {
      const qconfig = new QConfigMapping().setGlobal(new WeightOnlyQConfig(options));
      const quantized = quantizeDynamic(new Sequential([new Embedding(large)]), qconfig);
      const q = quantize(large, options);
      sameTensor(quantized.forward(all), dequantize(q));
      assert.deepEqual([...quantized.forward(new Int32Array(0)).shape], [0, columns]);
    }
  });

  it("refuse values that are not indices", () => {
    const mapping = new QConfigMapping().setObjectType("Embedding", new WeightOnlyQConfig());
    const quantized = quantizeDynamic(model, mapping);
    refuses(
      () => quantized.forward(Int32Array.of(6)),
      RangeError,
      "ZP_INVALID_TENSOR",
      /indices must be integers from 0 to 5, but value 0 is 6 \(in layer "tokens", Embedding\)/,
    );
  });
});
