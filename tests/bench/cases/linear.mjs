// Linear layers: every engine's ways to multiply by quantized weights, and float32 for comparison.

import * as javascript from "../contestants/javascript.mjs";
import { linearModels, session, transposed } from "../contestants/onnxruntime.mjs";
import { weightsOf } from "../contestants/zeropoint.mjs";
import { normalValues } from "../random.mjs";
import {
  BOUNDS,
  checkDynamic,
  checkLinear,
  checkOnnxDynamic,
  linearProblem,
  sameBits,
  wrong,
} from "../reference.mjs";
import { disposeAll } from "./dispose.mjs";

/** Weight formats: options for `quantize`, and the limit each is compared with. */
export const FORMATS = {
  "w8a32-channel": { title: "W8A32 per channel", quantize: { axis: 0 } },
  "w8a32-tensor": { title: "W8A32 per tensor", quantize: {} },
  "w8a32-affine": { title: "W8A32 per channel, affine", quantize: { axis: 0, scheme: "affine" } },
  "w8a32-group128": { title: "W8A32, groups of 128", quantize: { groupSize: 128 } },
  "w8a32-group32": { title: "W8A32, groups of 32", quantize: { groupSize: 32 } },
  "w4a32-channel": { title: "W4A32 per channel", quantize: { dtype: "int4", axis: 0 } },
  "w4a32-group32": { title: "W4A32, groups of 32", quantize: { dtype: "int4", groupSize: 32 } },
  "w2a32-channel": { title: "W2A32 per channel", quantize: { dtype: "int2", axis: 0 } },
  "w2a32-group32": { title: "W2A32, groups of 32", quantize: { dtype: "int2", groupSize: 32 } },
  "w8a32-float32": {
    title: 'W8A32 per channel, accumulate: "float32"',
    quantize: { axis: 0 },
    layer: { accumulate: "float32" },
  },
  "w8a8-dynamic": {
    title: "W8A8 dynamic",
    quantize: { axis: 0 },
    layer: { activations: "dynamic" },
  },
  "w8a8-8bit": {
    title: "W8A8 dynamic, activations of 8 bits",
    quantize: { axis: 0 },
    layer: { activations: "dynamic", reduceRange: false },
  },
  "w8a8-group32": {
    title: "W8A8 dynamic, groups of 32",
    quantize: { groupSize: 32 },
    layer: { activations: "dynamic" },
  },
  "w4a8-channel": {
    title: "W4A8 dynamic per channel",
    quantize: { dtype: "int4", axis: 0 },
    layer: { activations: "dynamic" },
  },
  "w4a8-group32": {
    title: "W4A8 dynamic, groups of 32",
    quantize: { dtype: "int4", groupSize: 32 },
    layer: { activations: "dynamic" },
  },
  float32: { title: "float32" },
  "float32-fast": { title: 'float32, accumulate: "float32"', layer: { accumulate: "float32" } },
};

const bitsOf = ({ quantize }) => (quantize?.dtype ? Number(quantize.dtype.slice(-1)) : 8);

/** The limit of an entry: its inner loop alone. @param build  the running build */
function limitOf(format, build, kernels) {
  if (FORMATS[format].layer?.activations === "dynamic") {
    return kernels === "baseline" ? "dot_i16" : "dot_i8";
  }
  return build === "relaxed" ? "madd" : "muladd";
}

/**
 * The entries of one shape.
 * @returns {Promise<{ entries: any[], skipped: any[], dispose: () => void }>}
 */
export async function linearEntries(
  { m, k, n },
  { zeropoint, ort, tf, formats, withJavaScript = true },
) {
  const problem = linearProblem({ m, k, n });
  const work = 2 * m * k * n;
  const entries = [];
  const skipped = [];
  const disposals = [];
  const add = (entry) => entries.push({ work, rows: m, unit: "GFLOP/s", ...entry });

  const { zp: first } = zeropoint[0];
  const wTensor = { data: problem.w, shape: [n, k] };
  const xTensor = { data: problem.x, shape: [m, k] };
  const perChannel = first.quantize(wTensor, { axis: 0 });
  for (const [format, { title, quantize, layer }] of Object.entries(FORMATS)) {
    if (formats && !formats.includes(format)) continue;
    if (quantize?.groupSize && k % quantize.groupSize !== 0) continue;
    const isExact = layer?.accumulate !== "float32";
    const bound = isExact ? BOUNDS.exact : BOUNDS.float32;
    const q =
      quantize &&
      (quantize.axis === 0 && Object.keys(quantize).length === 1
        ? perChannel
        : first.quantize(wTensor, quantize));
    let bits;
    for (const { name, build, threads, chosen, kernels, zp } of zeropoint) {
      const out = new Float32Array(m * n);
      let run;
      try {
        if (q === undefined) {
          // Without a layer, every call copies the float weight into the core.
          run = () => zp.linear(xTensor, wTensor, undefined, layer);
        } else {
          const made = new zp.QuantizedLinear(q, layer);
          disposals.push(() => made.dispose());
          run = () => made.forward(xTensor, out);
        }
      } catch (error) {
        skipped.push({ name: `zeropoint ${name}, ${title}`, reason: error.message });
        continue;
      }
      add({
        contestant: "zeropoint",
        build,
        threads,
        format,
        title,
        name: `zeropoint ${name}: ${title}`,
        limit: limitOf(format, chosen, kernels),
        bitsPerWeight: q ? bitsOf({ quantize }) : 32,
        run,
        judge({ data: y }) {
          if (isExact) {
            bits ??= y.slice();
            if (!sameBits(bits, y))
              return wrong("the bits differ from another build or thread count");
          }
          if (layer?.activations === "dynamic") return checkDynamic(problem, q, layer, y);
          const weights = q ? weightsOf(q) : floatRows(problem);
          return checkLinear(problem, weights, y, bound);
        },
      });
    }
  }

  if (withJavaScript) {
    const out = new Float32Array(m * n);
    const { codes, scales } = { codes: perChannel.data, scales: perChannel.scale.data };
    const w8a32 = () => javascript.linearW8A32(problem.x, codes, scales, m, k, n, out);
    add({
      contestant: "JavaScript",
      format: "w8a32-channel",
      title: "W8A32 per channel",
      name: "plain JavaScript: W8A32 per channel",
      run: w8a32,
      judge: () => checkLinear(problem, weightsOf(perChannel), out, BOUNDS.exact),
    });
    if (!formats || formats.includes("float32")) {
      const outFloat = new Float32Array(m * n);
      const float32 = () => javascript.linearFloat32(problem.x, problem.w, m, k, n, outFloat);
      add({
        contestant: "JavaScript",
        format: "float32",
        title: "float32",
        name: "plain JavaScript: float32",
        run: float32,
        judge: () => checkLinear(problem, floatRows(problem), outFloat, BOUNDS.exact),
      });
    }
  }

  if (ort) {
    const models = linearModels(problem);
    const input = { x: { data: problem.x, dims: [m, k] } };
    for (const [format, title, make, judge] of [
      [
        "float32",
        "MatMul, float32",
        models.float32,
        (made, y) => checkLinear(problem, made, y, BOUNDS.float32),
      ],
      [
        "w8a32-group32",
        "MatMulNBits, 8 bits, block 32",
        () => models.nBits(8),
        (made, y) => checkLinear(problem, made, y, BOUNDS.float32),
      ],
      [
        "w4a32-group32",
        "MatMulNBits, 4 bits, block 32",
        () => models.nBits(4),
        (made, y) => checkLinear(problem, made, y, BOUNDS.float32),
      ],
      [
        "w8a8-dynamic",
        "DynamicQuantizeMatMul",
        models.dynamic,
        (made, y) => checkOnnxDynamic(problem, made.codes, made.scales, y),
      ],
    ]) {
      if (formats && !formats.includes(format)) continue;
      try {
        const made = make();
        const { run, dispose } = await session(ort, made.model, input);
        // The engine has copied the model.
        made.model = undefined;
        disposals.push(dispose);
        add({
          contestant: "onnxruntime-web",
          threads: 1,
          format,
          title,
          name: `onnxruntime-web: ${title}`,
          isAsync: true,
          run,
          judge: ({ y }) => judge(made, y.data),
        });
      } catch (error) {
        skipped.push({ name: `onnxruntime-web, ${title}`, reason: error.message });
      }
    }
  }

  if (tf && (!formats || formats.includes("float32"))) {
    // tfjs is slow with a weight that is transposed during the multiplication: transpose it before.
    const w = tf.tensor2d(transposed(problem.w, k, n), [k, n]);
    disposals.push(() => w.dispose());
    const run = () => {
      const x = tf.tensor2d(problem.x, [m, k]);
      const y = tf.matMul(x, w);
      const values = y.dataSync();
      x.dispose();
      y.dispose();
      return values;
    };
    add({
      contestant: "tfjs",
      threads: 1,
      format: "float32",
      title: "matMul, float32",
      name: "tfjs wasm: matMul, float32",
      run,
      judge: (y) => checkLinear(problem, floatRows(problem), y, BOUNDS.float32),
    });
  }

  return { entries, skipped, dispose: disposeAll(disposals) };
}

const floatRows = ({ w, k }) => ({
  row: (row) => Float64Array.from(w.subarray(row * k, (row + 1) * k)),
});

/**
 * One row of activations times 64 MiB of weights, split into as many layers as needed, one after the other, so that
 * weights are never read from a cache.
 */
export function coldEntries({ k, n, bytes }, { zeropoint }) {
  const entries = [];
  const disposals = [];
  const x = normalValues(k, 1);
  const w = normalValues(n * k, 2);
  const wTensor = { data: w, shape: [n, k] };
  for (const format of ["w8a32-channel", "w4a32-channel", "w2a32-channel"]) {
    const { title, quantize } = FORMATS[format];
    const bits = bitsOf({ quantize });
    const count = Math.ceil(bytes / ((n * k * bits) / 8));
    const q = zeropoint[0].zp.quantize(wTensor, quantize);
    let expected;
    for (const { name, build, threads, chosen, kernels, zp } of zeropoint) {
      const layers = Array.from({ length: count }, () => new zp.QuantizedLinear(q));
      disposals.push(() => {
        for (const layer of layers) layer.dispose();
      });
      const out = new Float32Array(n);
      let at = 0;
      const run = () => {
        at = (at + 1) % count;
        return layers[at].forward({ data: x, shape: [1, k] }, out);
      };
      entries.push({
        contestant: "zeropoint",
        build,
        threads,
        format,
        title: `${title}, cold`,
        name: `zeropoint ${name}: ${title}, cold`,
        unit: "GFLOP/s",
        work: 2 * k * n,
        rows: 1,
        bitsPerWeight: bits,
        limit: limitOf(format, chosen, kernels),
        isCold: true,
        run,
        judge() {
          for (let i = 0; i < count; i++) {
            const y = run().data;
            expected ??= { [format]: y.slice() };
            expected[format] ??= y.slice();
            if (!sameBits(expected[format], y)) return wrong(`the bits of layer ${at} differ`);
          }
          return checkLinear({ m: 1, k, n, x }, weightsOf(q), out, BOUNDS.exact);
        },
      });
    }
  }
  return { entries, skipped: [], dispose: disposeAll(disposals) };
}
