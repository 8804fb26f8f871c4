// How an index keeps its rows: what its options say.

/** The score of a row x for a query q. */
export type VectorMetric = "cosine" | "dot" | "euclidean";

/** The codes of a row. */
export type VectorDType = "int8" | "int4" | "binary";

/** The original vectors that are kept beside the codes. */
export type VectorOriginals = "none" | "float32" | "float16";

/** An id of a row. 1 and "1" are different ids. */
export type VectorId = number | string;

/** The checked options of an index. */
export interface VectorLayout {
  readonly dimensions: number;
  readonly metric: VectorMetric;
  readonly dtype: VectorDType;
  readonly originals: VectorOriginals;
  /** Values of a group that has a scale of its own; undefined: one scale a row. */
  readonly groupSize: number | undefined;
  /** Whether rows have signs, by which a search chooses the rows that it scans. */
  readonly hasSigns: boolean;
}

/** Bytes of a row's signs. */
export const signBytes = (dimensions: number): number => Math.ceil(dimensions / 8);
