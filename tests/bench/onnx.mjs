// Writes the ONNX models of the comparison. An ONNX file is a protocol buffer; these models need only a few of its
// fields. Field numbers are from onnx.proto.

const FLOAT = 1;
const UINT8 = 2;
const INT8 = 3;
const INT64 = 7;
const IR_VERSION = 10;
const OPSET = 21;

/** @param {number} value  non-negative */
function varint(value) {
  const bytes = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

/** @param {Uint8Array[]} parts */
function concat(parts) {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const integer = (field, value) => concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => concat([varint(field * 8 + 2), varint(value.length), value]);
const text = (field, value) => bytes(field, new TextEncoder().encode(value));
const message = (field, ...parts) => bytes(field, concat(parts));

/** A typed array's bytes; ONNX is little-endian, as all supported engines are. */
const raw = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

function typeOf(array) {
  if (array instanceof Float32Array) return FLOAT;
  if (array instanceof BigInt64Array) return INT64;
  return array instanceof Uint8Array ? UINT8 : INT8;
}

/** A constant of the model. */
const initializer = ({ name, dims, data }) =>
  message(
    5,
    ...dims.map((length) => integer(1, length)),
    integer(2, typeOf(data)),
    text(8, name),
    bytes(9, raw(data)),
  );

const attribute = ([name, value]) => message(5, text(1, name), integer(3, value), integer(20, 2));

const valueInfo = (field, { name, type, dims }) =>
  message(
    field,
    text(1, name),
    message(
      2,
      message(
        1,
        integer(1, type),
        message(2, ...dims.map((length) => message(1, integer(1, length)))),
      ),
    ),
  );

/**
 * A model of some nodes.
 * @returns {Uint8Array}
 */
function model({ nodes, constants = [], inputs, outputs }) {
  return concat([
    integer(1, IR_VERSION),
    text(2, "zeropoint's benchmark"),
    message(
      7,
      ...nodes.map(({ op, domain = "", inputs: from, outputs: to, attributes = {} }) =>
        message(
          1,
          ...from.map((name) => text(1, name)),
          ...to.map((name) => text(2, name)),
          text(4, op),
          ...Object.entries(attributes).map(attribute),
          text(7, domain),
        ),
      ),
      text(2, "graph"),
      ...constants.map(initializer),
      ...inputs.map((value) => valueInfo(11, value)),
      ...outputs.map((value) => valueInfo(12, value)),
    ),
    message(8, text(1, ""), integer(2, OPSET)),
    message(8, text(1, "com.microsoft"), integer(2, 1)),
  ]);
}

const linear = ({ m, k, n }, node, constants) =>
  model({
    nodes: [{ ...node, outputs: ["y"] }],
    constants,
    inputs: [{ name: "x", type: FLOAT, dims: [m, k] }],
    outputs: [{ name: "y", type: FLOAT, dims: [m, n] }],
  });

/** x · w, w: [k, n] */
export const matMul = (size, w) =>
  linear(size, { op: "MatMul", inputs: ["x", "w"] }, [
    { name: "w", dims: [size.k, size.n], data: w },
  ]);

/** Weights of 4 or 8 bits with a scale for every block of a row; codes: [n, blocks, bytes of a block]. */
export const matMulNBits = (size, { bits, blockSize, codes, scales }) => {
  const blocks = Math.ceil(size.k / blockSize);
  return linear(
    size,
    {
      op: "MatMulNBits",
      domain: "com.microsoft",
      inputs: ["x", "w", "scales"],
      attributes: { K: size.k, N: size.n, bits, block_size: blockSize },
    },
    [
      { name: "w", dims: [size.n, blocks, (blockSize * bits) / 8], data: codes },
      { name: "scales", dims: [size.n * blocks], data: scales },
    ],
  );
};

/** Weights of int8 with a scale for each output; codes: [k, n]. */
export const dynamicQuantizeMatMul = (size, { codes, scales }) =>
  linear(
    size,
    { op: "DynamicQuantizeMatMul", domain: "com.microsoft", inputs: ["x", "w", "scales"] },
    [
      { name: "w", dims: [size.k, size.n], data: codes },
      { name: "scales", dims: [size.n], data: scales },
    ],
  );

/**
 * QuantizeLinear or DequantizeLinear of int8 with zero points 0.
 * @param {"QuantizeLinear" | "DequantizeLinear"} op
 * @param {number[]} dims
 * @param {{ scale: Float32Array, scaleDims: number[], attributes?: Record<string, number> }} qparams
 */
export const quantization = (op, dims, { scale, scaleDims, attributes = {} }) => {
  const [from, to] = op === "QuantizeLinear" ? [FLOAT, INT8] : [INT8, FLOAT];
  return model({
    nodes: [{ op, inputs: ["x", "scale", "zero"], outputs: ["y"], attributes }],
    constants: [
      { name: "scale", dims: scaleDims, data: scale },
      { name: "zero", dims: scaleDims, data: new Int8Array(scale.length) },
    ],
    inputs: [{ name: "x", type: from, dims }],
    outputs: [{ name: "y", type: to, dims }],
  });
};

/** The smallest and the largest value of a tensor. */
export const minMax = (dims) =>
  model({
    nodes: [
      { op: "ReduceMin", inputs: ["x"], outputs: ["least"], attributes: { keepdims: 0 } },
      { op: "ReduceMax", inputs: ["x"], outputs: ["greatest"], attributes: { keepdims: 0 } },
    ],
    inputs: [{ name: "x", type: FLOAT, dims }],
    outputs: ["least", "greatest"].map((name) => ({ name, type: FLOAT, dims: [] })),
  });

/**
 * The same inside the engine's heap: x is a constant, the input is its scale, and the output only its first row.
 * Run it without optimizations, which would fold the constant.
 * @param {"QuantizeLinear" | "DequantizeLinear"} op
 * @param {number[]} dims
 * @param {{ x: Float32Array | Int8Array, scale: Float32Array, scaleDims: number[],
 *   attributes?: Record<string, number> }} qparams
 */
export const quantizationInside = (op, dims, { x, scale, scaleDims, attributes = {} }) =>
  model({
    nodes: [
      { op, inputs: ["x", "scale", "zero"], outputs: ["all"], attributes },
      { op: "Slice", inputs: ["all", "first", "second", "rows"], outputs: ["y"] },
    ],
    constants: [
      { name: "x", dims, data: x },
      { name: "zero", dims: scaleDims, data: new Int8Array(scale.length) },
      ...Object.entries({ first: 0n, second: 1n, rows: 0n }).map(([name, value]) => ({
        name,
        dims: [1],
        data: BigInt64Array.of(value),
      })),
    ],
    inputs: [{ name: "scale", type: FLOAT, dims: scaleDims }],
    outputs: [{ name: "y", type: op === "QuantizeLinear" ? INT8 : FLOAT, dims: [1, dims[1]] }],
  });

/** The smallest and the largest value of a constant. */
export const minMaxInside = (dims, x) =>
  model({
    nodes: [
      { op: "ReduceMin", inputs: ["x"], outputs: ["least"], attributes: { keepdims: 0 } },
      { op: "ReduceMax", inputs: ["x"], outputs: ["greatest"], attributes: { keepdims: 0 } },
    ],
    constants: [{ name: "x", dims, data: x }],
    inputs: [],
    outputs: ["least", "greatest"].map((name) => ({ name, type: FLOAT, dims: [] })),
  });
