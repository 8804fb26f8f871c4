// Plain JavaScript, as written without a library.

/**
 * int8 weights with one scale for each output, float32 activations.
 * @param {Float32Array} x  [m, k]
 * @param {Int8Array} codes  [n, k]
 * @param {ArrayLike<number>} scales  [n]
 * @param {Float32Array} out  [m, n]
 */
export function linearW8A32(x, codes, scales, m, k, n, out) {
  for (let row = 0; row < m; row++) {
    for (let column = 0; column < n; column++) {
      const a = row * k;
      const b = column * k;
      let sum = 0;
      for (let i = 0; i < k; i++) sum += x[a + i] * codes[b + i];
      out[row * n + column] = sum * scales[column];
    }
  }
}

/**
 * @param {Float32Array} x  [m, k]
 * @param {Float32Array} w  [n, k]
 * @param {Float32Array} out  [m, n]
 */
export function linearFloat32(x, w, m, k, n, out) {
  for (let row = 0; row < m; row++) {
    for (let column = 0; column < n; column++) {
      const a = row * k;
      const b = column * k;
      let sum = 0;
      for (let i = 0; i < k; i++) sum += x[a + i] * w[b + i];
      out[row * n + column] = sum;
    }
  }
}

/** @param {Float32Array} x */
export function minMax(x) {
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < x.length; i++) {
    const value = x[i];
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return [least, greatest];
}

/**
 * Symmetric int8, ties to even as in all other contestants.
 * @param {Float32Array} x
 * @param {number} scale
 * @param {Int8Array} out
 */
export function quantize(x, scale, out) {
  for (let i = 0; i < x.length; i++) {
    const steps = Math.fround(x[i] / scale);
    let q = Math.round(steps);
    if (q - steps === 0.5 && q % 2 !== 0) q--;
    out[i] = q < -128 ? -128 : q > 127 ? 127 : q;
  }
}

/**
 * @param {Int8Array} codes
 * @param {number} scale
 * @param {Float32Array} out
 */
export function dequantize(codes, scale, out) {
  for (let i = 0; i < codes.length; i++) out[i] = scale * codes[i];
}

/**
 * @param {Float32Array} a
 * @param {Float32Array} b
 */
export function meanSquaredError(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) {
    const difference = a[i] - b[i];
    sum += difference * difference;
  }
  return sum / a.length;
}
