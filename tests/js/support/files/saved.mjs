// Saved files: their bytes, header and structure, and random things to save.

import assert from "node:assert/strict";
import fc from "fast-check";
import { QuantizedLinear, quantize, tensor } from "zeropoint";
import { save } from "zeropoint/models";
import {
  convert,
  Embedding,
  getDefaultQConfig,
  LayerNorm,
  Linear,
  predefinedQConfigs,
  prepare,
  QConfigMapping,
  quantizeDynamic,
  quantizePerChannel,
  quantizePerTensor,
  ReLU,
  Sequential,
  Sigmoid,
  Softmax,
  Tanh,
  WeightOnlyQConfig,
} from "zeropoint/torch";
import { sameDeep, sameTensor } from "../asserts.mjs";

/** The bytes of a saved thing. */
export const bytesOf = async (thing) =>
  new Uint8Array(await new Response(save(thing)).arrayBuffer());

/** The header of a safetensors file, and the bytes of a tensor by its name. */
export function openBytes(bytes) {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const { __metadata__: metadata, ...tensors } = header;
  const dataOf = (name) => {
    const [begin, end] = tensors[name].data_offsets;
    return bytes.slice(8 + length + begin, 8 + length + end);
  };
  const structure = metadata?.zeropoint && JSON.parse(metadata.zeropoint);
  return { metadata, tensors, dataOf, structure, length };
}

/** A file with another structure and the same tensors. */
export function withStructure(bytes, change) {
  const { metadata, tensors, structure, length } = openBytes(bytes);
  const changed = change(structure) ?? structure;
  const text = typeof changed === "string" ? changed : JSON.stringify(changed);
  const header = JSON.stringify({ __metadata__: { ...metadata, zeropoint: text }, ...tensors });
  const encoded = new TextEncoder().encode(header);
  const data = bytes.subarray(8 + length);
  const out = new Uint8Array(8 + encoded.length + data.length);
  new DataView(out.buffer).setBigUint64(0, BigInt(encoded.length), true);
  out.set(encoded, 8);
  out.set(data, 8 + encoded.length);
  return out;
}

/** Asserts that a restored thing is the one that was saved: its text, its bits and what it computes. */
export function sameThing(actual, expected, x, path = "thing") {
  assert.equal(Object.getPrototypeOf(actual), Object.getPrototypeOf(expected), path);
  if (typeof expected.forward === "function") {
    assert.equal(String(actual), String(expected), path);
    assert.equal(actual.sizeInBytes, expected.sizeInBytes, path);
    sameTensor(actual.forward(x), expected.forward(x), path);
  } else if (typeof expected.observe === "function") {
    assert.deepEqual(actual.toJSON(), expected.toJSON());
  } else if (typeof expected.toJSON === "function" || Object.isFrozen(expected)) {
    assert.equal(String(actual), String(expected), path);
  } else {
    sameDeep(actual, expected, path);
  }
}

/** Where random models get numbers from: a seed gives the same ones. */
class Numbers {
  constructor(seed) {
    this.state = seed >>> 0;
  }
  next() {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0;
    return this.state / 2 ** 32;
  }
  integer(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }
  pick(list) {
    return list[this.integer(0, list.length - 1)];
  }
  floats(shape) {
    const size = shape.reduce((product, length) => product * length, 1);
    return tensor(
      Float32Array.from({ length: size }, () => (this.next() - 0.5) * 4 ** this.integer(-2, 2)),
      shape,
    );
  }
}

const DTYPES = [
  "int2",
  "int3",
  "int4",
  "int5",
  "int6",
  "int7",
  "int8",
  "uint1",
  "uint2",
  "uint3",
  "uint4",
  "uint5",
  "uint6",
  "uint7",
  "uint8",
];

/** Random options of quantize for a weight of `columns` columns. */
function quantizeOptions(numbers, columns) {
  const dtype = numbers.pick(DTYPES);
  const scheme = dtype.startsWith("u") ? "affine" : numbers.pick(["symmetric", "affine"]);
  const granularity = numbers.pick([
    {},
    { axis: 0 },
    { axis: 1 },
    // The last group of a row may be short.
    { groupSize: numbers.integer(1, columns + 1) },
  ]);
  const zeroPoint = numbers.pick([undefined, "float"]);
  return { dtype, scheme: zeroPoint ? "affine" : scheme, zeroPoint, ...granularity };
}

/** A random layer from `columns` features, with its number of outputs. */
function layerOf(numbers, columns) {
  const rows = numbers.integer(1, 9);
  const weight = numbers.floats([rows, columns]);
  const bias = numbers.pick([undefined, numbers.floats([rows])]);
  const options = quantizeOptions(numbers, columns);
  const makers = [
    () => [new Linear(weight, { bias }), rows],
    () => [new Linear(quantize(weight, options), { bias }), rows],
    () => [new Linear(quantizePerTensor(weight, 0.03, 2, "qint8"), { bias }), rows],
    () => [new QuantizedLinear(weight, { ...options, bias }), rows],
    () => [new QuantizedLinear(weight, { activations: "dynamic", axis: 0, bias }), rows],
    () => [new ReLU(), columns],
    () => [new Tanh(), columns],
    () => [new Sigmoid(), columns],
    () => [new Softmax({ axis: numbers.pick([-1, 1]) }), columns],
    () => [
      new LayerNorm(columns, {
        weight: numbers.pick([undefined, numbers.floats([columns])]),
        eps: 10 ** -numbers.integer(3, 8),
      }),
      columns,
    ],
    () => {
      const [inner, own] = layerOf(numbers, columns);
      return [new Sequential({ inner }), own];
    },
  ];
  return numbers.pick(makers)();
}

/** A random model, in one of all states, and an input for it. */
function modelOf(numbers) {
  const columns = numbers.integer(1, 12);
  const x = numbers.floats([numbers.integer(2, 4), columns]);
  const layers = {};
  let width = columns;
  const first = numbers.integer(1, 9);
  layers.first = new Linear(numbers.floats([first, columns]), { bias: numbers.floats([first]) });
  layers.relu = new ReLU();
  width = first;
  for (let i = numbers.integer(0, 3); i > 0; i--) {
    const [layer, own] = layerOf(numbers, width);
    layers[numbers.pick(["fc", "läyer", "0", "x y"]) + i] = layer;
    width = own;
  }
  const model = new Sequential(layers);
  const states = [
    () => model,
    () => prepare(model, getDefaultQConfig("x86")).calibrate([x]),
    () => convert(prepare(model, getDefaultQConfig("qnnpack")).calibrate([x])),
    () =>
      quantizeDynamic(
        model,
        numbers.pick([predefinedQConfigs.per_channel_dynamic_qconfig, undefined]),
      ),
    () => quantizeDynamic(model, new WeightOnlyQConfig({ bits: numbers.integer(2, 8) })),
    () => quantizeDynamic(model, new WeightOnlyQConfig({ dtype: "int4", groupSize: 1 })),
  ];
  return [numbers.pick(states)(), x];
}

/** A random table of an embedding, float or quantized, and indices. */
function embeddingOf(numbers) {
  const weight = numbers.floats([numbers.integer(1, 6), 4]);
  const x = Int32Array.of(0, weight.shape[0] - 1);
  const mapping = new QConfigMapping().setObjectType(
    Embedding,
    numbers.pick([
      predefinedQConfigs.float_qparams_weight_only_qconfig,
      new WeightOnlyQConfig(quantizeOptions(numbers, 4)),
    ]),
  );
  const makers = [
    () => new Embedding(weight),
    () => new Embedding(quantize(weight, quantizeOptions(numbers, 4))),
    () => quantizeDynamic(new Sequential({ table: new Embedding(weight) }), mapping),
  ];
  return [numbers.pick(makers)(), x];
}

/** A layer without inputs or without outputs, and an input. */
function emptyLayerOf(numbers) {
  const [rows, columns] = numbers.pick([
    [0, 3],
    [3, 0],
    [0, 0],
  ]);
  const weight = numbers.floats([rows, columns]);
  const q = quantize(weight, { dtype: numbers.pick(["int8", "int3"]), scale: 0.5 });
  const bias = numbers.pick([undefined, numbers.floats([rows])]);
  const makers = [
    () => new Linear(weight, { bias }),
    () => new Linear(q, { bias }),
    () => new QuantizedLinear(q, { bias }),
    () => new Sequential([new QuantizedLinear(q), new Linear(numbers.floats([2, rows]))]),
  ];
  return [numbers.pick(makers)(), numbers.floats([2, columns])];
}

/** A random tensor of any rank, lengths of 0 and 1 included: float, half, or quantized by given qparams. */
function tensorOf(numbers) {
  const shape = Array.from({ length: numbers.integer(0, 4) }, () => numbers.pick([0, 1, 1, 2, 3]));
  const x = numbers.floats(shape);
  const patterns = Uint16Array.from(x.data, () => numbers.integer(0, 0xffff));
  const scale = 0.01 + numbers.next();
  const dtype = numbers.pick([...DTYPES, "int16", "uint16", "int32"]);
  const affine = { dtype, scheme: "affine", scale, zeroPoint: numbers.integer(0, 1) };
  const makers = [
    () => x,
    () => ({ data: patterns, shape, dtype: numbers.pick(["float16", "bfloat16"]) }),
    () => quantize(x, affine),
    () => quantize(x, { dtype, scale, offset: numbers.next() }),
  ];
  return [numbers.pick(makers)(), undefined];
}

/** A random quantized tensor, alone or among others. */
function tensorsOf(numbers) {
  const x = numbers.floats([numbers.integer(0, 5), 6]);
  const q = () => (x.data.length === 0 ? x : quantize(x, quantizeOptions(numbers, 6)));
  const scales = Float64Array.from({ length: 6 }, () => 0.01 + numbers.next());
  const zeros = Int32Array.from({ length: 6 }, () => numbers.integer(0, 9));
  const makers = [
    () => x,
    q,
    () =>
      quantizePerTensor(x, 0.1 + numbers.next(), 7, numbers.pick(["qint8", "quint8", "qint32"])),
    () => quantizePerChannel(x, scales, zeros, 1, "quint8"),
    () => ({ a: x, "a.scale": q(), a_scale: x, list: [x, { q: q() }] }),
    () => x.data,
  ];
  return [numbers.pick(makers)(), undefined];
}

/** Random things to save, with an input where they take one. */
export const things = fc
  .nat()
  .map((seed) => new Numbers(seed))
  .map((numbers) => {
    const makers = [modelOf, modelOf, embeddingOf, emptyLayerOf, tensorOf, tensorsOf];
    return numbers.pick(makers)(numbers);
  });
