// Another model beside the opened one, tensor by tensor.

import type { CompareRow } from "zeropoint/models";
import { library } from "../../shell/library.js";
import type { Run } from "../show/progress.js";
import { type Given, mainOf, openFiles } from "./files.js";
import { opened } from "./opened.js";

/**
 * Compares the opened model with another one.
 * @param given  the other model
 * @returns name: of the other file
 */
export async function compareWith(
  given: Given,
  { signal, pause, onProgress }: Run,
): Promise<{ name: string; rows: CompareRow[] }> {
  const zp = await library();
  const { name } = mainOf(given);
  const other = await openFiles(zp, given, (path) => `${name} needs ${path} beside it`);
  try {
    const rows = [];
    for await (const row of zp.compare(opened(), other, { signal, onProgress })) {
      rows.push(row);
      await pause.ready();
    }
    return { name, rows };
  } finally {
    other.dispose();
  }
}
