// Products of matrices.

import { showShape } from "../../base/format-value.js";
import * as core from "../core.js";
import { pythonError } from "../python/errors.js";
import { dtypes, type Storage } from "./dtype.js";
import { unsqueeze } from "./shapes.js";
import { allocate, broadcast, countOf, elements, permute, stretch, type View } from "./view.js";

/** Matrices of one dtype, row-major: x of shape [m, k], and w of shape [n, k]. */
interface Factors {
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly x: Storage;
  readonly w: Storage;
}

/**
 * x . w^T + bias. float32 is accumulated in double precision and rounded once, float64 is added in order, and
 * integers wrap.
 * @param out   [m, n]
 * @param bias  [n], of float32 alone
 */
export function product(
  where: string,
  { m, k, n, x, w }: Factors,
  out: Storage,
  bias?: Float32Array,
): void {
  if (x instanceof Float32Array) {
    core.linear(where, { m, k, n, x, w: w as Float32Array, bias }, out as Float32Array);
    return;
  }
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      if (x instanceof BigInt64Array && w instanceof BigInt64Array) {
        let total = 0n;
        for (let l = 0; l < k; l++) total += x[i * k + l] * w[j * k + l];
        out[i * n + j] = total;
        continue;
      }
      let total = 0;
      const isFloat = x instanceof Float64Array;
      for (let l = 0; l < k; l++) {
        const [a, b] = [Number(x[i * k + l]), Number(w[j * k + l])];
        total = isFloat ? total + a * b : (total + Math.imul(a, b)) | 0;
      }
      out[i * n + j] = total;
    }
  }
}

/**
 * Python's a @ b: of vectors their dot product, otherwise products of matrices, in the last two dimensions; those
 * before broadcast.
 *
 * float32 is accumulated in double precision and rounded once, so results differ from PyTorch's, whose order of
 * addition is not defined, within (K + 1) 2^-24 sum|a b|.
 *
 * Source: `torch.matmul`.
 *
 * @param a  [K] or [..., M, K]
 * @param b  [K] or [..., K, N], of the same dtype
 * @returns [..., M, N], without M or N where an operand is a vector
 * @throws {RangeError} RuntimeError for bools, and for dtypes or shapes that do not fit
 */
export function matmul(where: string, a: View, b: View): View {
  if (a.dtype !== b.dtype || a.dtype === dtypes.bool) {
    throw pythonError(
      "RuntimeError",
      `${where}: both tensors must have the same dtype, and not torch.bool, got ${a.dtype} and ${b.dtype}`,
    );
  }
  const [aRank, bRank] = [a.shape.length, b.shape.length];
  if (aRank === 0 || bRank === 0) {
    throw pythonError(
      "RuntimeError",
      `${where}: takes tensors of 1 dimension or more, got a 0-d one`,
    );
  }
  const left = aRank === 1 ? unsqueeze(where, a, 0) : a;
  const right = bRank === 1 ? unsqueeze(where, b, 1) : b;
  const [m, k] = left.shape.slice(-2);
  const [rows, n] = right.shape.slice(-2);
  if (k !== rows) {
    throw pythonError(
      "RuntimeError",
      `${where}: shapes ${showShape(a.shape)} and ${showShape(b.shape)} do not fit: the last ` +
        `dimension of the first, ${k}, must be the ${bRank === 1 ? "length" : "number of rows"} of the ` +
        `second, ${rows}`,
    );
  }
  const batch = broadcast(where, left.shape.slice(0, -2), right.shape.slice(0, -2));
  const x = elements(stretch(left, [...batch, m, k]));
  const across = stretch(right, [...batch, k, n]);
  const axes = [...across.shape.keys()];
  const last = axes.length - 1;
  const w = elements(permute(across, [...axes.slice(0, -2), last, last - 1]));
  const out = allocate(a.dtype, [...batch, m, n]);
  for (let i = 0; i < countOf(batch); i++) {
    const part = <Some extends Storage>(all: Some, size: number): Some =>
      all.subarray(i * size, (i + 1) * size) as Some;
    const factors = { m, k, n, x: part(x, m * k), w: part(w, n * k) };
    product(where, factors, part(out.storage, m * n));
  }
  const shape = [...batch, ...(aRank === 1 ? [] : [m]), ...(bRank === 1 ? [] : [n])];
  return { ...allocate(a.dtype, shape), storage: out.storage };
}
