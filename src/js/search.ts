// zeropoint/search: the nearest vectors, from codes, with a proof. The public exports, nothing else.

export type { ExportedVectors, ExportLayout } from "./search/export.js";
export type { VectorFilter } from "./search/filter.js";
export type {
  VectorDType,
  VectorId,
  VectorIndexOptions,
  VectorMetric,
  VectorOriginals,
} from "./search/layout.js";
export type { DistanceHit, ScoreHit, SearchHit, SearchResult } from "./search/result.js";
export {
  type QueryTensor,
  type QueryVector,
  type ReadVectors,
  type SearchOptions,
  VectorIndex,
} from "./search/vector-index.js";
export type { PackedSigns, VectorsInput } from "./search/vectors.js";
