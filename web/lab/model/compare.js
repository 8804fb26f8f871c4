// Another model beside the opened one, tensor by tensor.

import { library } from "../../shell/library.js";
import { mainOf, openFiles } from "./files.js";
import { opened } from "./opened.js";

/**
 * Compares the opened model with another one.
 * @param {import("./files.js").Given} given  the other model
 * @param {import("../show/progress.js").Run} run
 * @returns {Promise<{ name: string, rows: import("zeropoint/models").CompareRow[] }>}  name: of the other file
 */
export async function compareWith(given, { signal, pause, onProgress }) {
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
