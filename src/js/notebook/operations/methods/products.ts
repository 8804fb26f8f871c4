// Products of vectors and matrices.

import type { Keywords } from "./calls.js";

/** Products by name. Float32 is accumulated in double precision and rounded once. */
export interface ProductMethods<T> {
  /**
   * Python's t @ other: the product of matrices or vectors; dimensions before the last two broadcast.
   * @throws {RangeError} RuntimeError for dtypes or shapes that do not fit
   */
  matmul(other: T | { other: T }): T;
  /** The product of two matrices. Source: `torch.mm`. */
  mm(mat2: T | Keywords): T;
  /** The product of a matrix and a vector. Source: `torch.mv`. */
  mv(vec: T | Keywords): T;
  /** The product of two vectors. Source: `torch.dot`. */
  dot(tensor: T | Keywords): T;
  /** The products of as many matrices. Source: `torch.bmm`. */
  bmm(mat2: T | Keywords): T;
  /** The matrix of all products of two vectors' elements. Source: `torch.outer`. */
  outer(vec2: T | Keywords): T;
  /** The sum of a matrix's diagonal. Source: `torch.trace`. */
  trace(): T;
}
