// The filter of a search: a bit for each row.

import { wrongKind } from "../base/check.js";
import { typeError } from "../base/errors.js";
import { newArray } from "../base/typed-arrays.js";
import type { RowIds } from "./ids.js";
import type { VectorId } from "./layout.js";
import type { VectorRows } from "./rows.js";

/** The ids to search: a function that tells whether an id is one of them, or the ids. */
// A method's type: an index of strings is an index of any ids.
export type VectorFilter<Id extends VectorId = VectorId> =
  | { isWanted(id: Id): unknown }["isWanted"]
  | Iterable<Id>;

/** The mask of a filter's rows. Ids that the index has not are ignored. */
export function checkFilter(
  where: string,
  filter: unknown,
  rows: VectorRows,
  ids: RowIds,
): Uint8Array | undefined {
  if (filter === undefined) return undefined;
  const { version } = rows;
  const mask = newArray(where, Uint8Array, Math.ceil(rows.size / 8));
  const mark = (row: number): void => {
    mask[row >> 3] |= 1 << (row & 7);
  };
  if (typeof filter === "function") {
    const isWanted = filter as (id: VectorId) => unknown;
    for (let row = 0; row < rows.size; row++) if (isWanted(ids.at(row))) mark(row);
  } else if (typeof (Object(filter) as Iterable<unknown>)[Symbol.iterator] !== "function") {
    throw wrongFilter(where, filter);
  } else if (typeof filter === "string") {
    throw wrongFilter(where, filter);
  } else {
    for (const id of filter as Iterable<unknown>) {
      const row = ids.rowOf(id);
      if (row !== -1) mark(row);
    }
  }
  // The function, or the iteration, is a user's code.
  rows.checkAlive(where);
  if (rows.version === version) return mask;
  const problem = "options.filter must not add or remove rows while it runs";
  throw typeError("ZP_INVALID_FUNCTION", where, problem);
}

const wrongFilter = (where: string, filter: unknown): Error =>
  wrongKind("ZP_INVALID_OPTION", where, "options.filter", "a function or a list of ids", filter);
