// Ranges, codes and values of a large tensor: from JavaScript arrays to JavaScript arrays, and inside
// the core's heap.

import * as javascript from "../contestants/javascript.mjs";
import { session } from "../contestants/onnxruntime.mjs";
import { minMax, minMaxInside, quantization, quantizationInside } from "../onnx.mjs";
import { normalValues } from "../random.mjs";
import { roundHalfToEven, spread, wrong } from "../reference.mjs";
import { disposeAll } from "./dispose.mjs";

export const GRANULARITIES = {
  tensor: { title: "per tensor", options: {} },
  rows: { title: "per channel, axis 0", options: { axis: 0 } },
  columns: { title: "per channel, last axis", options: { axis: 1 } },
  group128: { title: "groups of 128", options: { groupSize: 128 } },
  group32: { title: "groups of 32", options: { groupSize: 32 } },
};

const CHECKED = 20_000;

/**
 * For each operation: bytes read and written per value, the limit it is compared with, and the loop that does only
 * these reads and writes.
 */
const OPERATIONS = {
  minmax: { title: "min and max", bytes: 4, limit: "read", loop: "read" },
  quantize: { title: "quantize", bytes: 5, limit: "copy", loop: "narrow" },
  dequantize: { title: "dequantize", bytes: 5, limit: "copy", loop: "widen" },
  fakeQuantize: { title: "fake quantize", bytes: 8, limit: "copy", loop: "move" },
  error: { title: "error", bytes: 8, limit: "read", loop: "read" },
};

/** The slice of a value. */
function sliceOf(granularity, [, columns]) {
  const size = { group128: 128, group32: 32 }[granularity];
  if (size) return (i) => Math.floor(i / size);
  if (granularity === "rows") return (i) => Math.floor(i / columns);
  if (granularity === "columns") return (i) => i % columns;
  return () => 0;
}

const scaleAt = (scale, slice) => (typeof scale === "number" ? scale : scale.data[slice]);

/** Code and value as the notebooks define them, all in separately rounded float32. */
function expectedAt(x, i, scale) {
  const steps = roundHalfToEven(Math.fround(x[i] / Math.fround(scale)));
  const code = Math.min(Math.max(steps, -128), 127);
  return { code, value: Math.fround(Math.fround(scale) * code) };
}

/** @returns {Promise<{ entries: any[], skipped: any[], dispose: () => void }>} */
export async function elementwiseEntries({ shape, granularity }, { zeropoint, heaps, ort }) {
  const [rows, columns] = shape;
  const size = rows * columns;
  const x = normalValues(size, 3);
  const tensor = { data: x, shape };
  const { title, options } = GRANULARITIES[granularity];
  const { zp: first } = zeropoint[0];
  const qparams = first.chooseQParams(tensor, options);
  const given = { ...options, scale: qparams.scale, zeroPoint: qparams.zeroPoint };
  const q = first.quantize(tensor, given);
  const codes = q.data;
  const values = first.dequantize(q).data;
  const slice = sliceOf(granularity, shape);
  const sampled = spread(size, CHECKED);

  const checkCodes = (got) => {
    for (const i of sampled) {
      const { code } = expectedAt(x, i, scaleAt(qparams.scale, slice(i)));
      if (got[i] !== code) return wrong(`code ${i} is ${got[i]} instead of ${code}`);
    }
    return { worst: 0 };
  };
  const checkValues = (got, indices = sampled) => {
    for (const i of indices) {
      const { value } = expectedAt(x, i, scaleAt(qparams.scale, slice(i)));
      if (got[i] !== value) return wrong(`value ${i} is ${got[i]} instead of ${value}`);
    }
    return { worst: 0 };
  };
  const checkScale = (got) => {
    const count = typeof got === "number" ? 1 : got.data.length;
    const largest = new Float64Array(count);
    for (let i = 0; i < size; i++) largest[slice(i)] = Math.max(largest[slice(i)], Math.abs(x[i]));
    for (const s of spread(count, CHECKED)) {
      const expected = typeof got === "number" ? largest[s] / 127 : Math.fround(largest[s] / 127);
      if (scaleAt(got, s) !== expected)
        return wrong(`scale ${s} is ${scaleAt(got, s)} instead of ${expected}`);
    }
    return { worst: 0 };
  };
  let sumOfSquares;
  /**
   * Bound for PyTorch's float32 mean, which adds in four levels of at most 2⁶ values each, then the lanes: a value
   * passes at most 300 additions, each of which rounds a sum of positive numbers.
   */
  const checkError = (got) => {
    sumOfSquares ??= x.reduce((sum, value, i) => sum + (value - values[i]) ** 2, 0);
    const expected = sumOfSquares / size;
    const part = Math.abs(got - expected) / (300 * 2 ** -24 * expected);
    return part <= 1 ? { worst: part } : wrong(`mse is ${got} instead of ${expected}`, part);
  };

  const entries = [];
  const skipped = [];
  const disposals = [];
  const add = (operation, entry) => {
    const { title: what, bytes, limit, loop } = OPERATIONS[operation];
    entries.push({
      ...entry,
      operation,
      title: `${what} ${title}`,
      name: `${entry.contestant}${entry.build ? ` ${entry.variant}` : ""}${entry.place === "heap" ? ", in its heap" : ""}: ${what} ${title}`,
      unit: "GB/s",
      work: bytes * size,
      limit,
      ...(entry.place === "heap" ? { loop } : {}),
    });
  };

  for (const { name, build, threads, zp } of zeropoint) {
    const who = { contestant: "zeropoint", build, threads, variant: name, place: "arrays" };
    const outCodes = new Int8Array(size);
    const outValues = new Float32Array(size);
    const choose = () => zp.chooseQParams(tensor, options);
    const quantize = () => zp.quantize(tensor, { ...given, out: outCodes });
    const dequantize = () => zp.dequantize(q, { out: outValues });
    const fake = () => zp.fakeQuantize(tensor, { ...given, out: outValues });
    add("minmax", { ...who, run: choose, judge: ({ scale }) => checkScale(scale) });
    add("quantize", {
      ...who,
      run: quantize,
      clear: () => outCodes.fill(99),
      judge: () => checkCodes(outCodes),
    });
    add("dequantize", {
      ...who,
      run: dequantize,
      clear: () => outValues.fill(99),
      judge: () => checkValues(outValues),
    });
    add("fakeQuantize", {
      ...who,
      run: fake,
      clear: () => outValues.fill(99),
      judge: () => checkValues(outValues),
    });
    if (granularity === "tensor") {
      const error = () => zp.quantizationError(tensor, { data: values, shape });
      add("error", { ...who, run: error, judge: checkError });
    }
  }

  for (const { build, core } of heaps) {
    const who = { contestant: "zeropoint", build, threads: 1, variant: build, place: "heap" };
    try {
      const heap = layOut(core, { x, values, shape, granularity, options, qparams });
      disposals.push(heap.dispose);
      add("minmax", {
        ...who,
        run: heap.findRanges,
        judge: () => checkScale(heap.scales()),
      });
      add("quantize", {
        ...who,
        run: heap.quantize,
        clear: heap.clear,
        judge: () => checkCodes(heap.codes()),
      });
      add("dequantize", {
        ...who,
        run: heap.dequantize,
        clear: () => heap.out().fill(99),
        judge: () => checkValues(heap.out()),
      });
      add("fakeQuantize", {
        ...who,
        run: heap.fakeQuantize,
        clear: () => heap.out().fill(99),
        judge: () => checkValues(heap.out()),
      });
      if (granularity === "tensor") {
        add("error", { ...who, run: heap.error, judge: checkError });
      }
    } catch (error) {
      skipped.push({ name: `zeropoint ${build}, in its heap, ${title}`, reason: error.message });
    }
  }

  if (granularity === "tensor") {
    const who = { contestant: "JavaScript", place: "arrays" };
    const scale = Math.fround(qparams.scale);
    const outCodes = new Int8Array(size);
    const outValues = new Float32Array(size);
    const choose = () => javascript.minMax(x);
    const quantize = () => javascript.quantize(x, scale, outCodes);
    const dequantize = () => javascript.dequantize(codes, scale, outValues);
    const error = () => javascript.meanSquaredError(x, values);
    add("minmax", {
      ...who,
      run: choose,
      judge: (ends) => checkScale(Math.max(...ends.map(Math.abs)) / 127),
    });
    add("quantize", { ...who, run: quantize, judge: () => checkCodes(outCodes) });
    add("dequantize", {
      ...who,
      run: dequantize,
      judge: () => checkValues(outValues),
    });
    add("error", { ...who, run: error, judge: checkError });
  }

  if (ort) {
    const who = { contestant: "onnxruntime-web", threads: 1 };
    const scale =
      typeof qparams.scale === "number" ? Float32Array.of(qparams.scale) : qparams.scale.data;
    const groups = { group128: 128, group32: 32 }[granularity];
    const scaleDims = { tensor: [], rows: [rows], columns: [columns] }[granularity] ?? [
      rows,
      columns / groups,
    ];
    const attributes = { tensor: {}, rows: { axis: 0 }, columns: { axis: 1 } }[granularity] ?? {
      axis: 1,
      block_size: groups,
    };
    /** An engine may round x / scale differently, for example by the reciprocal: only near ties may differ. */
    const nearCodes = (got, indices = sampled) => {
      for (const i of indices) {
        const steps = x[i] / scaleAt(qparams.scale, slice(i));
        const off = Math.abs(got[i] - Math.min(Math.max(steps, -128), 127));
        if (!(off <= 0.5 + 128 * 2 ** -22)) {
          return wrong(`code ${i} is ${got[i]} instead of ${steps} rounded`);
        }
      }
      return { worst: 0 };
    };
    const attempt = async (operation, place, model, inputs, judge) => {
      try {
        const optimize = place === "heap" ? "disabled" : "all";
        const { run, dispose } = await session(ort, model, inputs, optimize);
        disposals.push(dispose);
        add(operation, { ...who, place, isAsync: true, run, judge });
      } catch (error) {
        const reason = error.message;
        skipped.push({ name: `onnxruntime-web, ${operation} ${title}, ${place}`, reason });
      }
    };
    const how = { scale, scaleDims, attributes };
    const given = { scale: { data: scale, dims: scaleDims } };
    const firstRow = spread(columns, columns);
    if (granularity === "tensor") {
      const judge = ({ least, greatest }) =>
        checkScale(Math.max(-least.data[0], greatest.data[0]) / 127);
      await attempt("minmax", "arrays", minMax(shape), { x: { data: x, dims: shape } }, judge);
      await attempt("minmax", "heap", minMaxInside(shape, x), {}, judge);
    }
    for (const [operation, op, data, judge] of [
      ["quantize", "QuantizeLinear", x, nearCodes],
      ["dequantize", "DequantizeLinear", codes, checkValues],
    ]) {
      const outside = quantization(op, shape, how);
      await attempt(operation, "arrays", outside, { x: { data, dims: shape } }, ({ y }) =>
        judge(y.data),
      );
      const inside = quantizationInside(op, shape, { ...how, x: data });
      await attempt(operation, "heap", inside, given, ({ y }) => judge(y.data, firstRow));
    }
  }

  return { entries, skipped, dispose: disposeAll(disposals) };
}

/** The tensor inside a core's heap, and the core's own functions on it. */
function layOut(core, { x, values, shape, granularity, options, qparams }) {
  const size = x.length;
  const count = typeof qparams.scale === "number" ? 1 : qparams.scale.data.length;
  const blocks = [];
  const allocate = (bytes) => {
    const address = core.allocate(bytes + 16);
    if (address === 0) throw new RangeError(`no room for ${bytes} bytes`);
    blocks.push(address);
    return Math.ceil(address / 16) * 16;
  };
  const at = {
    x: allocate(4 * size),
    codes: allocate(size),
    out: allocate(4 * size),
    scales32: allocate(4 * count),
    zeroPoints: allocate(4 * count),
    ranges: allocate(8 * count),
    viewShape: allocate(16),
    qShape: allocate(16),
    result: allocate(16),
    state: allocate(core.errorStateBytes()),
  };
  const view = (Type, offset, length) => new Type(core.HEAPU8.buffer, offset, length);
  const [rows, columns] = shape;
  const groupSize = options.groupSize;
  const viewShape = groupSize ? [size / groupSize, groupSize] : shape;
  const qShape = { tensor: [], rows: [rows, 1], columns: [1, columns] }[granularity] ?? [
    size / groupSize,
    1,
  ];
  view(Float32Array, at.x, size).set(x);
  view(Uint32Array, at.viewShape, 2).set(viewShape);
  view(Uint32Array, at.qShape, 2).set(qShape);
  view(Int32Array, at.zeroPoints, count).fill(0);
  view(Float32Array, at.scales32, count).set(
    count === 1 && typeof qparams.scale === "number" ? [qparams.scale] : qparams.scale.data,
  );
  /** Layout: outer, slices, inner. */
  const slices = {
    tensor: [1, 1, size],
    rows: [1, rows, columns],
    columns: [rows, columns, 1],
  }[granularity] ?? [1, size / groupSize, groupSize];
  const run = (status) => {
    if (status !== "kOk") throw new Error(`the core returned ${status}`);
  };
  const elementwise = (name, from, to) => () =>
    run(
      core[name](
        from,
        at.viewShape,
        2,
        at.scales32,
        at.zeroPoints,
        at.qShape,
        qShape.length,
        0,
        "int8",
        false,
        "course",
        to,
      ),
    );
  const heap = {
    findRanges: () => run(core.ranges(at.x, ...slices, "throw", at.ranges)),
    quantize: elementwise("quantize", at.x, at.codes),
    dequantize: elementwise("dequantize", at.codes, at.out),
    fakeQuantize: elementwise("fakeQuantize", at.x, at.out),
    error: () => {
      // The whole tensor in one call.
      run(core.quantizationError(at.x, at.out, size, "mse", 0, size, at.state, at.result));
      return view(Float64Array, at.result, 1)[0];
    },
    /** Symmetric scales of the ranges. */
    scales: () => {
      const ends = view(Float32Array, at.ranges, 2 * count);
      const scale = (i) => Math.max(-ends[2 * i], ends[2 * i + 1]) / 127;
      return granularity === "tensor"
        ? scale(0)
        : { data: Float32Array.from({ length: count }, (_, i) => scale(i)) };
    },
    codes: () => view(Int8Array, at.codes, size),
    out: () => view(Float32Array, at.out, size),
    clear: () => heap.codes().fill(99),
    dispose() {
      for (const address of blocks) core.release(address);
    },
  };
  heap.out().set(values);
  return heap;
}
