// onnxruntime-web, on its WebAssembly CPU.

import { dynamicQuantizeMatMul, matMul, matMulNBits } from "../onnx.mjs";

/**
 * A session for one model, with inputs and outputs as JavaScript arrays.
 * @param {any} ort
 * @param {Uint8Array} model
 * @param {Record<string, { data: Float32Array | Int8Array, dims: number[] }>} inputs
 * @param {"all" | "disabled"} [optimize]
 */
export async function session(ort, model, inputs, optimize = "all") {
  const made = await ort.InferenceSession.create(model, {
    executionProviders: ["wasm"],
    graphOptimizationLevel: optimize,
  });
  const feeds = Object.fromEntries(
    Object.entries(inputs).map(([name, { data, dims }]) => [
      name,
      new ort.Tensor(data instanceof Int8Array ? "int8" : "float32", data, dims),
    ]),
  );
  return {
    run: () => made.run(feeds),
    dispose: () => made.release(),
  };
}

/**
 * int8 with one scale for each of n outputs: codes and scales.
 * @param {{ w: Float32Array, k: number, n: number }} problem
 */
export function quantizeRows({ w, k, n }, blockSize = k) {
  const blocks = Math.ceil(k / blockSize);
  const codes = new Int8Array(n * k);
  const scales = new Float32Array(n * blocks);
  for (let row = 0; row < n; row++) {
    for (let block = 0; block < blocks; block++) {
      const from = row * k + block * blockSize;
      const to = Math.min(from + blockSize, (row + 1) * k);
      let largest = 0;
      for (let i = from; i < to; i++) largest = Math.max(largest, Math.abs(w[i]));
      const scale = Math.fround(largest / 127) || 1;
      scales[row * blocks + block] = scale;
      for (let i = from; i < to; i++) codes[i] = Math.round(w[i] / scale);
    }
  }
  return { codes, scales };
}

/** [n, k] → [k, n] */
export function transposed(values, k, n) {
  const out = new values.constructor(values.length);
  for (let row = 0; row < n; row++) {
    for (let i = 0; i < k; i++) out[i * n + row] = values[row * k + i];
  }
  return out;
}

/** ONNX's three forms of a linear layer, each with its weights in double precision. */
export function linearModels(problem) {
  const { m, k, n, w } = problem;
  const size = { m, k, n };
  const blockSize = 32;
  return {
    float32: () => ({
      model: matMul(size, transposed(w, k, n)),
      row: (row) => Float64Array.from(w.subarray(row * k, (row + 1) * k)),
    }),
    nBits: (bits) => {
      const reach = 2 ** (bits - 1) - 1;
      const blocks = Math.ceil(k / blockSize);
      const scales = new Float32Array(n * blocks);
      const perByte = 8 / bits;
      const codes = new Uint8Array((n * blocks * blockSize) / perByte);
      const values = new Float64Array(n * k);
      for (let row = 0; row < n; row++) {
        for (let block = 0; block < blocks; block++) {
          const from = row * k + block * blockSize;
          const to = Math.min(from + blockSize, (row + 1) * k);
          let largest = 0;
          for (let i = from; i < to; i++) largest = Math.max(largest, Math.abs(w[i]));
          const scale = Math.fround(largest / reach) || 1;
          scales[row * blocks + block] = scale;
          for (let i = from; i < to; i++) {
            const steps = Math.round(w[i] / scale);
            const place = (row * blocks + block) * blockSize + (i - from);
            codes[Math.floor(place / perByte)] |= (steps + reach + 1) << (bits * (place % perByte));
            values[i] = steps * scale;
          }
        }
      }
      return {
        model: matMulNBits(size, { bits, blockSize, codes, scales }),
        row: (row) => values.subarray(row * k, (row + 1) * k),
      };
    },
    dynamic: () => {
      const { codes, scales } = quantizeRows(problem);
      return {
        model: dynamicQuantizeMatMul(size, { codes: transposed(codes, k, n), scales }),
        codes,
        scales,
      };
    },
  };
}
