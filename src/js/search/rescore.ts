// candidates + their originals from elsewhere -> the k best, on the core.

import { rangeError } from "../base/errors.js";
import { valueAt } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import type { VectorId, VectorLayout, VectorMetric } from "./layout.js";
import { Candidates, keepPending, type Pending, type SearchResult } from "./result.js";
import type { VectorSource } from "./vectors.js";

const FORMAT_BYTES = 20;
const SEGMENT_BYTES = 44;

/** Scores the candidates of a result exactly. @param source  their vectors, in the order of their ids */
export function rescored<Id extends VectorId, Metric extends VectorMetric>(
  core: Core,
  where: string,
  { dimensions, metric, dtype }: VectorLayout,
  { query, k, ids, orders, isFiltered }: Pending,
  source: VectorSource,
): SearchResult<Id, Metric> {
  const { memory, module } = core;
  const count = ids.length;
  if (source.rows !== count) {
    const problem = `read must give a vector for each of ${count} ids, got ${source.rows}`;
    throw rangeError("ZP_SHAPE_MISMATCH", where, problem);
  }
  const size = count * dimensions;
  const values = source.tile(where, 0, count);
  for (let i = 0; i < size; i++) {
    const value = Math.fround(valueAt(values, i));
    if (Number.isFinite(value)) continue;
    const problem = `read must give finite numbers, got ${value} for the id ${ids[Math.floor(i / dimensions)]}`;
    throw rangeError("ZP_NON_FINITE", where, problem);
  }
  // Only row and order of the candidates are set: bounds come from the originals.
  const words = new Uint32Array((Candidates.BYTES / 4) * count);
  for (let i = 0; i < count; i++) words.set([i, orders[i]], 8 * i + 6);
  const [formatAt, segmentAt, queryAt, originalsAt, ordersAt, candidatesAt] = memory.layOut(
    where,
    FORMAT_BYTES,
    SEGMENT_BYTES,
    4 * dimensions,
    4 * size,
    4 * count,
    Candidates.BYTES * count,
  );
  try {
    module.vectorFormat(dimensions, metric, dtype, "float32", 0, formatAt);
    const segment = [0, 0, 0, 0, originalsAt, 0, ordersAt, 0, count, 0, 0];
    memory.write("Uint32Array", segmentAt, segment);
    memory.write("Float32Array", queryAt, query);
    memory.copyIn(where, "Float32Array", originalsAt, values, size);
    memory.write("Uint32Array", ordersAt, orders);
    memory.write("Uint32Array", candidatesAt, words);
    const left = Math.min(
      k,
      module.refineCandidates(formatAt, segmentAt, 1, queryAt, k, candidatesAt, count),
    );
    const bytes = new Uint8Array(Candidates.BYTES * left);
    if (left > 0) memory.read(candidatesAt, bytes);
    const hits = new Candidates(bytes).hits<Id, Metric>(k, metric as Metric, (row) => ids[row]);
    const result = { hits, proven: isFiltered ? false : "order", candidates: count } as const;
    return keepPending(result, "decided");
  } finally {
    memory.end();
  }
}
