// ggml's block types: from values in a JavaScript array to bytes in another, and back.

import { normalValues } from "../random.mjs";
import { wrong } from "../reference.mjs";

/** Types, and the least signal-to-noise ratio of normal values in them, in dB. */
const TYPES = {
  q8_0: 40,
  q4_0: 17,
  q4_1: 18,
  q5_0: 23,
  q5_1: 24,
  q2_k: 7,
  q3_k: 12,
  q4_k: 20,
  q5_k: 26,
  q6_k: 32,
  iq4_nl: 19,
  iq4_xs: 19,
};
/** Types whose scales are searched: a part of the rows is enough. */
const isSearched = (type) => /_k$|^iq/.test(type);

/** @returns {Promise<{ entries: any[], skipped: any[], dispose: () => void }>} */
export async function blockEntries({ shape }, { zeropoint }) {
  const entries = [];
  const [rows, columns] = shape;
  const x = normalValues(rows * columns, 31);
  const bytesOf = {};
  for (const { name, build, threads, zp } of zeropoint) {
    for (const [type, leastSqnr] of Object.entries(TYPES)) {
      const some = isSearched(type) ? Math.max(1, rows >> 4) : rows;
      const part = { data: x.subarray(0, some * columns), shape: [some, columns] };
      bytesOf[type] ??= { part: zp.quantizeBlocks(part, type) };
      bytesOf[type].whole ??= zp.quantizeBlocks({ data: x, shape }, type);
      const { part: expected, whole } = bytesOf[type];
      const out = new Uint8Array(expected.length);
      const values = new Float32Array(x.length);
      const add = (operation, work, entry) =>
        entries.push({
          contestant: "zeropoint",
          build,
          threads,
          place: "arrays",
          operation,
          format: type,
          title: `${operation} ${type}`,
          name: `zeropoint ${name}: ${operation} ${type}`,
          unit: "GB/s",
          work,
          limit: "copy",
          ...entry,
        });
      add("quantizeBlocks", 4 * part.data.length + out.length, {
        run: () => zp.quantizeBlocks(part, type, { out }),
        clear: () => out.fill(99),
        judge: () =>
          out.every((byte, i) => byte === expected[i])
            ? { worst: 0 }
            : wrong("the bytes differ from those of the first build"),
      });
      add("dequantizeBlocks", 4 * x.length + whole.length, {
        run: () => zp.dequantizeBlocks(whole, type, shape, { out: values }),
        clear: () => values.fill(99),
        judge: () => {
          const sqnr = zp.quantizationError(x, values, "sqnr");
          return sqnr >= leastSqnr ? { worst: 0 } : wrong(`${sqnr} dB`);
        },
      });
    }
  }
  return { entries, skipped: [], dispose: () => {} };
}
