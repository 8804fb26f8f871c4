// Small calls, dominated by the overhead of a call.

import * as javascript from "../contestants/javascript.mjs";
import { session, transposed } from "../contestants/onnxruntime.mjs";
import { weightsOf } from "../contestants/zeropoint.mjs";
import { matMul } from "../onnx.mjs";
import { normalValues } from "../random.mjs";
import { BOUNDS, checkLinear, linearProblem, roundHalfToEven, wrong } from "../reference.mjs";
import { disposeAll } from "./dispose.mjs";

/** @returns {Promise<{ entries: any[], skipped: any[], dispose: () => void }>} */
export async function smallEntries({ zeropoint, ort, tf }) {
  const entries = [];
  const skipped = [];
  const disposals = [];
  const x = normalValues(16, 4);
  const tensor = { data: x, shape: [16] };
  const scale = 0.03125;
  const expected = Array.from(x, (value) =>
    Math.min(Math.max(roundHalfToEven(Math.fround(value / scale)), -128), 127),
  );
  const checkCodes = (codes) =>
    expected.every((code, i) => codes[i] === code) ? { worst: 0 } : wrong(`codes are ${codes}`);

  const problem = linearProblem({ m: 1, k: 64, n: 64 });
  const weight = { data: problem.w, shape: [64, 64] };
  const input = { data: problem.x, shape: [1, 64] };
  const q = zeropoint[0].zp.quantize(weight, { axis: 0 });
  const add = (entry) => entries.push({ unit: "µs", work: 1, ...entry });

  for (const { name, build, threads, zp } of zeropoint) {
    const who = { contestant: "zeropoint", build, threads };
    const out = new Int8Array(16);
    const given = { scale, zeroPoint: 0, out };
    const quantize = () => zp.quantize(tensor, given);
    add({
      ...who,
      operation: "quantize16",
      title: "quantize 16 values, scale and out given",
      name: `zeropoint ${name}: quantize 16 values, scale and out given`,
      run: quantize,
      clear: () => out.fill(99),
      judge: () => checkCodes(out),
    });
    const choose = () => zp.quantize(tensor);
    add({
      ...who,
      operation: "choose16",
      title: "quantize 16 values",
      name: `zeropoint ${name}: quantize 16 values`,
      run: choose,
      judge(made) {
        const largest = x.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
        return made.scale === largest / 127 ? { worst: 0 } : wrong(`scale is ${made.scale}`);
      },
    });
    const layer = new zp.QuantizedLinear(q);
    disposals.push(() => layer.dispose());
    const y = new Float32Array(64);
    const forward = () => layer.forward(input, y);
    add({
      ...who,
      operation: "linear64",
      title: "64 × 64 layer, one row",
      name: `zeropoint ${name}: 64 × 64 layer, one row`,
      run: forward,
      clear: () => y.fill(Number.NaN),
      judge: () => checkLinear(problem, weightsOf(q), y, BOUNDS.exact),
    });
  }

  const out = new Int8Array(16);
  const quantize = () => javascript.quantize(x, scale, out);
  add({
    contestant: "JavaScript",
    operation: "quantize16",
    title: "quantize 16 values, scale and out given",
    name: "plain JavaScript: quantize 16 values, scale and out given",
    run: quantize,
    judge: () => checkCodes(out),
  });
  const y = new Float32Array(64);
  const linear = () => javascript.linearW8A32(problem.x, q.data, q.scale.data, 1, 64, 64, y);
  add({
    contestant: "JavaScript",
    operation: "linear64",
    title: "64 × 64 layer, one row",
    name: "plain JavaScript: 64 × 64 layer, one row",
    run: linear,
    judge: () => checkLinear(problem, weightsOf(q), y, BOUNDS.exact),
  });

  const rows = { row: (row) => Float64Array.from(problem.w.subarray(64 * row, 64 * (row + 1))) };
  if (ort) {
    const { run, dispose } = await session(ort, matMul(problem, transposed(problem.w, 64, 64)), {
      x: { data: problem.x, dims: [1, 64] },
    });
    disposals.push(dispose);
    add({
      contestant: "onnxruntime-web",
      operation: "linear64",
      title: "64 × 64 layer, one row",
      name: "onnxruntime-web: 64 × 64 MatMul, one row",
      isAsync: true,
      run,
      judge: ({ y }) => checkLinear(problem, rows, y.data, BOUNDS.float32),
    });
  }
  if (tf) {
    const w = tf.tensor2d(transposed(problem.w, 64, 64), [64, 64]);
    disposals.push(() => w.dispose());
    const run = () => tf.tidy(() => tf.matMul(tf.tensor2d(problem.x, [1, 64]), w).dataSync());
    add({
      contestant: "tfjs",
      operation: "linear64",
      title: "64 × 64 layer, one row",
      name: "tfjs wasm: 64 × 64 matMul, one row",
      run,
      judge: (y) => checkLinear(problem, rows, y, BOUNDS.float32),
    });
  }
  return { entries, skipped, dispose: disposeAll(disposals) };
}
