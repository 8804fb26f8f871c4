// A plain interpreter of the ONNX operators that quantized models use, for tests without an engine.

import { bytesSource, readOnnx, readValues } from "../../../internal/formats.mjs";

const sizeOf = (shape) => shape.reduce((product, length) => product * length, 1);
const { fround } = Math;

/** A value: numbers in row-major order. */
const value = (shape, data) => ({ shape, data });

/** Index into a tensor of a shape that is broadcast to another one. */
function broadcastIndex(shape, to) {
  const steps = [];
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    steps[axis + to.length - shape.length] = shape[axis] === 1 ? 0 : step;
    step *= shape[axis];
  }
  return (index) => {
    let rest = index;
    let at = 0;
    for (let axis = to.length - 1; axis >= 0; axis--) {
      at += (rest % to[axis]) * (steps[axis] ?? 0);
      rest = Math.floor(rest / to[axis]);
    }
    return at;
  };
}

function elementwise(a, b, compute) {
  const rank = Math.max(a.shape.length, b.shape.length);
  const shape = Array.from({ length: rank }, (_, i) =>
    Math.max(a.shape[i - rank + a.shape.length] ?? 1, b.shape[i - rank + b.shape.length] ?? 1),
  );
  const [inA, inB] = [broadcastIndex(a.shape, shape), broadcastIndex(b.shape, shape)];
  const length = sizeOf(shape);
  return value(
    shape,
    Array.from({ length }, (_, i) => fround(compute(a.data[inA(i)], b.data[inB(i)]))),
  );
}

function transpose({ shape, data }, perm) {
  const to = perm.map((axis) => shape[axis]);
  const out = Array.from({ length: data.length }, (_, index) => {
    const at = [];
    let rest = index;
    for (let axis = to.length - 1; axis >= 0; axis--) {
      at[perm[axis]] = rest % to[axis];
      rest = Math.floor(rest / to[axis]);
    }
    return data[at.reduce((sum, place, axis) => sum * shape[axis] + place, 0)];
  });
  return value(to, out);
}

function reshape({ shape, data }, wanted) {
  const to = wanted.map((length, axis) => (length === 0 ? shape[axis] : length));
  const at = to.indexOf(-1);
  if (at >= 0) to[at] = -data.length / sizeOf(to);
  if (sizeOf(to) !== data.length) throw new Error(`[${shape}] is not [${to}]`);
  return value(to, data);
}

function matMul(a, b) {
  const [k, n] = b.shape.slice(-2);
  const m = a.data.length / k;
  const isBatched = b.shape.length > 2;
  const rows = a.shape.at(-2);
  const out = Array.from({ length: m * n }, (_, index) => {
    const row = Math.floor(index / n);
    const batch = isBatched ? Math.floor(row / rows) * k * n : 0;
    let sum = 0;
    for (let i = 0; i < k; i++) sum += a.data[row * k + i] * b.data[batch + i * n + (index % n)];
    return sum;
  });
  return value([...a.shape.slice(0, -1), n], out);
}

function gather({ shape, data }, indices, axis) {
  const inner = sizeOf(shape.slice(axis + 1));
  const outer = sizeOf(shape.slice(0, axis));
  const out = [];
  for (let o = 0; o < outer; o++) {
    for (const index of indices.data) {
      const row = index < 0 ? index + shape[axis] : index;
      const start = (o * shape[axis] + row) * inner;
      out.push(...data.slice(start, start + inner));
    }
  }
  return value([...shape.slice(0, axis), ...indices.shape, ...shape.slice(axis + 1)], out);
}

function dequantizeLinear(q, scale, zero, { axis = 1, block_size: block = 0 }) {
  const isScalar = scale.data.length === 1;
  const own = axis < 0 ? axis + q.shape.length : axis;
  const inner = sizeOf(q.shape.slice(own + 1));
  const length = q.shape[own];
  const groups = block ? Math.ceil(length / block) : length;
  return value(
    q.shape,
    q.data.map((code, i) => {
      const place = Math.floor(i / inner) % length;
      const outer = Math.floor(i / inner / length);
      const at = isScalar
        ? 0
        : block
          ? (outer * groups + Math.floor(place / block)) * inner + (i % inner)
          : place;
      return fround((code - (zero?.data[at] ?? 0)) * scale.data[at]);
    }),
  );
}

/** Rows of packed blocks to floats. */
function unpackBlocks(codes, scales, zeros, rows, inputs, bits, block) {
  const blocks = Math.ceil(inputs / block);
  const read = (data, at) => (bits === 8 ? data[at] : (data[at >> 1] >> (4 * (at & 1))) & 15);
  const zeroRow = (8 * Math.ceil((blocks * bits) / 8)) / bits;
  return Array.from({ length: rows * inputs }, (_, index) => {
    const row = Math.floor(index / inputs);
    const input = index % inputs;
    const own = Math.floor(input / block);
    const zero = zeros ? read(zeros.data, row * zeroRow + own) : 2 ** (bits - 1);
    const code = read(codes.data, row * blocks * block + input);
    return fround((code - zero) * scales.data[row * blocks + own]);
  });
}

const OPERATORS = {
  Identity: ([x]) => x,
  Cast: ([x]) => x,
  Floor: ([x]) => value(x.shape, x.data.map(Math.floor)),
  Add: ([a, b]) => elementwise(a, b, (x, y) => x + y),
  Sub: ([a, b]) => elementwise(a, b, (x, y) => x - y),
  Mul: ([a, b]) => elementwise(a, b, (x, y) => x * y),
  Reshape: ([x, shape]) => reshape(x, shape.data),
  Transpose: ([x], { perm }) => transpose(x, perm ?? x.shape.map((_, i) => x.shape.length - 1 - i)),
  Gather: ([x, indices], { axis = 0 }) => gather(x, indices, axis),
  MatMul: ([a, b]) => matMul(a, b),
  Gemm([a, b, c], { transB = 0 }) {
    const product = matMul(a, transB ? transpose(b, [1, 0]) : b);
    return c ? elementwise(product, c, (x, y) => x + y) : product;
  },
  /** One axis, no padding. */
  Conv([x, w]) {
    const [outputs, channels, width] = w.shape;
    const [batch, , length] = x.shape;
    const steps = length - width + 1;
    const out = [];
    for (let b = 0; b < batch; b++) {
      for (let o = 0; o < outputs; o++) {
        for (let at = 0; at < steps; at++) {
          let sum = 0;
          for (let c = 0; c < channels; c++) {
            for (let i = 0; i < width; i++) {
              sum +=
                x.data[(b * channels + c) * length + at + i] *
                w.data[(o * channels + c) * width + i];
            }
          }
          out.push(sum);
        }
      }
    }
    return value([batch, outputs, steps], out);
  },
  /** Rows. */
  Slice([x, starts, ends, axes]) {
    const [[start], [end], [axis]] = [starts.data, ends.data, axes.data];
    if (axis !== 0) throw new Error("only the first axis");
    const row = sizeOf(x.shape.slice(1));
    return value([end - start, ...x.shape.slice(1)], x.data.slice(start * row, end * row));
  },
  Unsqueeze([x, axes]) {
    const [axis] = axes.data;
    return value([...x.shape.slice(0, axis), 1, ...x.shape.slice(axis)], x.data);
  },
  Concat([a, b], { axis }) {
    if (axis === 0) {
      return value([a.shape[0] + b.shape[0], ...a.shape.slice(1)], [...a.data, ...b.data]);
    }
    if (axis !== a.shape.length - 1) throw new Error("only the first and the last axis");
    const [m, n] = [a.shape.at(-1), b.shape.at(-1)];
    const rows = a.data.length / m;
    const out = Array.from({ length: rows }, (_, row) => [
      ...a.data.slice(row * m, (row + 1) * m),
      ...b.data.slice(row * n, (row + 1) * n),
    ]);
    return value([...a.shape.slice(0, -1), m + n], out.flat());
  },
  DequantizeLinear: ([q, scale, zero], attributes) => dequantizeLinear(q, scale, zero, attributes),
  DynamicQuantizeLinear([x]) {
    const min = Math.min(0, ...x.data);
    const max = Math.max(0, ...x.data);
    const scale = fround((max - min) / 255);
    const zero = Math.round(-min / scale);
    const codes = x.data.map((v) => Math.min(255, Math.max(0, Math.round(v / scale) + zero)));
    return [value(x.shape, codes), value([], [scale]), value([], [zero])];
  },
  MatMulInteger: ([a, b, zeroA, zeroB]) => {
    const minus = (x, y) => x - y;
    return matMul(elementwise(a, zeroA, minus), elementwise(b, zeroB, minus));
  },
  MatMulNBits([x, codes, scales, zeros], { K, N, bits, block_size: block }) {
    const rows = unpackBlocks(codes, scales, zeros, N, K, bits, block);
    return matMul(x, transpose(value([N, K], rows), [1, 0]));
  },
  GatherBlockQuantized([codes, indices, scales, zeros], { bits, block_size: block }) {
    const [rows, bytes] = codes.shape;
    const inputs = (bytes * 8) / bits;
    const table = unpackBlocks(codes, scales, zeros, rows, inputs, bits, block);
    return gather(value([rows, inputs], table), indices, 0);
  },
};

async function run(graph, outer) {
  const values = new Map(outer);
  for (const tensor of graph.initializers) values.set(tensor.name, await read(tensor));
  for (const { opType, inputs, outputs, attributes } of graph.nodes) {
    const given = inputs.map((name) => values.get(name));
    const read1 = ({ int, ints, tensor }) => tensor ?? (ints.length > 0 ? ints : int);
    const own = Object.fromEntries(Array.from(attributes, ([name, each]) => [name, read1(each)]));
    let results;
    if (opType === "Constant") results = await read(own.value);
    else if (opType === "If") {
      const branch = given[0].data[0] ? "then_branch" : "else_branch";
      results = Object.values(await run(attributes.get(branch).graph, values));
    } else if (OPERATORS[opType]) results = OPERATORS[opType](given, own);
    else throw new Error(`${opType} is missing`);
    for (const [i, name] of outputs.entries()) values.set(name, [results].flat()[i]);
  }
  return Object.fromEntries(graph.outputs.map(({ name }) => [name, values.get(name)]));
}

async function read(tensor) {
  const tiles = [];
  for await (const tile of readValues(tensor)) tiles.push(...tile);
  return value([...tensor.shape], tiles);
}

/** Runs a model. @returns its outputs by name: `{ shape, data }` */
export async function runOnnx(bytes, inputs, externalData) {
  const { graph } = await readOnnx(bytesSource(bytes), { externalData });
  const given = Object.entries(inputs).map(([name, { shape, data }]) => [
    name,
    value(shape, [...data]),
  ]);
  return run(graph, given);
}
