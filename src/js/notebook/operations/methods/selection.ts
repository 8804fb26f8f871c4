// Methods that choose or move elements: masks, indices, shapes.

import type { Scalar } from "../../tensor/cast.js";
import type { Keywords, SizeList } from "./calls.js";

/** Elements by mask or index. */
export interface SelectionMethods<T> {
  /**
   * The elements where a bool tensor is true, and those of `other` elsewhere.
   * @throws {RangeError} RuntimeError for a condition that is not bool
   */
  where(condition: T, other: T | Scalar): T;
  where(keywords: { condition: T; other: T | Scalar }): T;
  /**
   * The elements for which a bool tensor is true, in one dimension: Python's t[mask]. Source: `torch.masked_select`.
   */
  masked_select(mask: T | Keywords): T;
  /** A copy with `value` where a bool tensor is true. Source: `torch.masked_fill`. */
  masked_fill(mask: T | Keywords, value?: Scalar | T | Keywords): T;
  /** The slices of a dimension that a tensor of indices names. Source: `torch.index_select`. */
  index_select(dim: number | Keywords, index?: T | Keywords): T;
  /** For each index, the element at it along a dimension. Source: `torch.gather`. */
  gather(dim: number | Keywords, index?: T | Keywords): T;
  /** A copy with the elements of `src`, or a number, at indices along a dimension. Source: `torch.scatter`. */
  scatter(dim: number | Keywords, index?: T | Keywords, src?: T | Scalar | Keywords): T;
  /** As `scatter`, adding to what is there. Source: `torch.scatter_add`. */
  scatter_add(dim: number | Keywords, index?: T | Keywords, src?: T | Keywords): T;
  /** The elements at places in row-major order. Source: `torch.take`. */
  take(index: T | Keywords): T;
  /** The indices of elements that are not 0, a row for each. Source: `torch.nonzero`. */
  nonzero(keywords?: { as_tuple?: false }): T;
  nonzero(keywords: { as_tuple: true }): readonly T[];
  /** The same. Source: `torch.argwhere`. */
  argwhere(): T;
}

/** Elements in other places. */
export interface ArrangementMethods<T> {
  /** A range of indices of a dimension, sharing memory. @throws {RangeError} IndexError, RuntimeError */
  narrow(dim: number, start: number, length: number): T;
  narrow(keywords: { dim: number; start: number; length: number }): T;
  /** Without the dimensions of size 1, or without one of them, sharing memory. */
  squeeze(dim?: number): T;
  squeeze(keywords: { dim?: number }): T;
  /** With one more dimension, of size 1, sharing memory. */
  unsqueeze(dim: number): T;
  unsqueeze(keywords: { dim: number }): T;
  /** A matrix with rows and columns exchanged, sharing memory; vectors stay. @throws {RangeError} RuntimeError */
  t(): T;
  /** With two dimensions exchanged, sharing memory. */
  transpose(dim0: number, dim1: number): T;
  transpose(keywords: { dim0: number; dim1: number }): T;
  /** With its dimensions in another order, sharing memory. @throws {RangeError} RuntimeError, IndexError */
  permute(...dims: SizeList | [{ dims: readonly number[] }]): T;
  /**
   * Stretched, sharing memory: dimensions of size 1 repeat. -1 keeps a size.
   * @throws {RangeError} RuntimeError
   */
  expand(...size: SizeList | [{ size: readonly number[] }]): T;
  /** A copy with dimensions in reverse. Source: `torch.flip`. */
  flip(...dims: SizeList | [Keywords]): T;
  /** A copy in which elements move along dimensions, and those beyond the end to its start. Source: `torch.roll`. */
  roll(
    shifts: number | readonly number[] | Keywords,
    dims?: number | readonly number[] | Keywords,
  ): T;
  /** The tensor several times along each dimension. Source: Tensor.repeat. */
  repeat(...repeats: SizeList | [Keywords]): T;
  /** The same, where leading numbers may be missing. Source: `torch.tile`. */
  tile(...dims: SizeList | [Keywords]): T;
  /** Each element, or each slice of a dimension, several times. Source: `torch.repeat_interleave`. */
  repeat_interleave(repeats: number | T | Keywords, dim?: number | Keywords): T;
  /** Parts of a size, or of several, sharing memory. Source: `torch.split`. */
  split(split_size: number | readonly number[] | Keywords, dim?: number | Keywords): readonly T[];
  /** So many parts, or fewer, sharing memory. Source: `torch.chunk`. */
  chunk(chunks: number | Keywords, dim?: number | Keywords): readonly T[];
  /** The slices of a dimension, sharing memory. Source: `torch.unbind`. */
  unbind(dim?: number | Keywords): readonly T[];
  /** All elements in one dimension; a copy where they must move. Source: `torch.ravel`. */
  ravel(): T;
  /** In the shape of another tensor, sharing memory. Source: Tensor.view_as. */
  view_as(other: T | Keywords): T;
  /** In the shape of another tensor; a copy where elements must move. Source: Tensor.reshape_as. */
  reshape_as(other: T | Keywords): T;
  /** With one dimension as several. Source: `torch.unflatten`. */
  unflatten(dim: number | Keywords, sizes?: readonly number[] | Keywords): T;
  /** With dimensions moved to other places, sharing memory. Source: `torch.movedim`. */
  movedim(
    source: number | readonly number[] | Keywords,
    destination?: number | readonly number[] | Keywords,
  ): T;
  /** The same as `transpose`. Source: `torch.swapaxes`. */
  swapaxes(axis0: number | Keywords, axis1?: number | Keywords): T;
  /** Stretched to a shape, sharing memory. Source: `torch.broadcast_to`. */
  broadcast_to(size: readonly number[] | Keywords): T;
  /** Stretched to the shape of another tensor. Source: Tensor.expand_as. */
  expand_as(other: T | Keywords): T;
  /** The elements on a diagonal of two dimensions, sharing memory. Source: `torch.diagonal`. */
  diagonal(offset?: number | Keywords, dim1?: number | Keywords, dim2?: number | Keywords): T;
  /** A matrix with a vector on a diagonal, or a matrix's diagonal. Source: `torch.diag`. */
  diag(diagonal?: number | Keywords): T;
  /** A copy with 0 above a diagonal. Source: `torch.tril`. */
  tril(diagonal?: number | Keywords): T;
  /** A copy with 0 below a diagonal. Source: `torch.triu`. */
  triu(diagonal?: number | Keywords): T;
}
