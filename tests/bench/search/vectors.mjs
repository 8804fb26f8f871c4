// The vectors of the search benchmark: clusters of a documented generator, and their float scores.

import { normalValues } from "../random.mjs";

/** The spread of a cluster around its center, as a part of the centers' own. */
const SPREAD = 0.7;

/**
 * Rows in clusters, as embeddings of texts on some topics: row i is center i mod clusters plus SPREAD times a normal
 * vector, each value a sum of four uniform numbers (random.mjs, seeds 1 and 2). Queries are rows of the same kind.
 * @param {{ rows: number, dimensions: number, queries: number }} sizes
 */
export function clusteredVectors({ rows, dimensions, queries }) {
  const clusters = Math.max(4, Math.round(rows / 100));
  const centers = normalValues(clusters * dimensions, 1);
  const make = (/** @type {number} */ count, /** @type {number} */ seed) => {
    const values = normalValues(count * dimensions, seed);
    for (let i = 0; i < values.length; i++) {
      const cluster = Math.floor(i / dimensions) % clusters;
      values[i] = SPREAD * values[i] + centers[cluster * dimensions + (i % dimensions)];
    }
    return values;
  };
  return { vectors: make(rows, 2), queries: make(queries, 3) };
}

/**
 * The k nearest rows by cosine, in plain JavaScript: rows are normalized once.
 * @param {Float32Array} unit  normalized rows
 * @param {Float32Array} query
 * @param {number} k
 */
export function plainSearch(unit, query, k) {
  const dimensions = query.length;
  const rows = unit.length / dimensions;
  /** @type {number[]} */
  const ids = [];
  /** @type {number[]} */
  const scores = [];
  for (let row = 0, at = 0; row < rows; row++) {
    let score = 0;
    for (let i = 0; i < dimensions; i++) score += unit[at++] * query[i];
    if (ids.length === k && score <= scores[k - 1]) continue;
    let place = Math.min(ids.length, k - 1);
    for (; place > 0 && scores[place - 1] < score; place--) {
      scores[place] = scores[place - 1];
      ids[place] = ids[place - 1];
    }
    scores[place] = score;
    ids[place] = row;
  }
  return ids;
}

/**
 * Normalized copies of rows.
 * @param {Float32Array} vectors
 * @param {number} dimensions
 */
export function normalized(vectors, dimensions) {
  const unit = new Float32Array(vectors.length);
  for (let at = 0; at < vectors.length; at += dimensions) {
    let square = 0;
    for (let i = at; i < at + dimensions; i++) square += vectors[i] * vectors[i];
    const factor = square === 0 ? 0 : 1 / Math.sqrt(square);
    for (let i = at; i < at + dimensions; i++) unit[i] = vectors[i] * factor;
  }
  return unit;
}
