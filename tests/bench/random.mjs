// Reproducible random numbers for the benchmark's tensors.

/**
 * Approximately normal numbers with mean 0 and standard deviation 1: sums of four uniform ones.
 * @param {number} count
 * @param {number} seed
 * @returns {Float32Array}
 */
export function normalValues(count, seed) {
  const values = new Float32Array(count);
  let state = (Math.imul(seed, 2654435761) + 12345) >>> 0 || 1;
  const scale = Math.sqrt(3) / 2 ** 32;
  for (let i = 0; i < count; i++) {
    let sum = 0;
    for (let part = 0; part < 4; part++) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      sum += state;
    }
    values[i] = sum * scale;
  }
  return values;
}
