// Memory of an index and of its file, in a process of its own: a million rows with ZEROPOINT_THOROUGH=1. Node only.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isThorough } from "../support/effort.mjs";

const script = fileURLToPath(new URL("../support/processes/large-index.mjs", import.meta.url));
const ROWS = isThorough ? 1_000_000 : 100_000;
const DIMENSIONS = 256;
/** The list of ids and the table of their positions, without the texts themselves. */
const BYTES_OF_AN_ID = { none: 0, numbers: 20, strings: 20 };

describe(`${ROWS} vectors of ${DIMENSIONS} values fit in memory, are found and saved`, () => {
  for (const ids of ["none", "numbers", "strings"]) {
    it(`with ids: ${ids}`, { timeout: 1_800_000 }, async (context) => {
      const args = ["--expose-gc", script, String(ROWS), String(DIMENSIONS), ids];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const { found, fileBytes, ...memory } = JSON.parse(stdout);
      const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
      const shown = Object.entries(memory).map(([name, bytes]) => `${name} ${megabytes(bytes)}`);
      const codes = ROWS * (DIMENSIONS + 8);
      const inIds = ROWS * BYTES_OF_AN_ID[ids];
      context.diagnostic(
        `codes and 8 bytes a row ${megabytes(codes)}; growth: ${shown.join(", ")}; file ${megabytes(fileBytes)}`,
      );
      const { index, heap, peak } = memory;
      assert.ok(index <= 1.1 * codes, `index ${megabytes(index)}`);
      // 2 MB: modules that are loaded on the way.
      assert.ok(heap <= 1.1 * inIds + 2e6, `heap and arrays ${megabytes(heap)}`);
      // 24 MB: compiled code and garbage of a process, whatever the number of rows.
      const most = 1.1 * (codes + inIds) + 24e6;
      assert.ok(memory.process <= most, `process ${megabytes(memory.process)}`);
      assert.equal(found, ROWS - 1);
      // Saving holds a chunk of the codes or ids. 40 MB: chunks that the collector has not freed yet.
      assert.ok(peak <= most + 40e6, `process, at most ${megabytes(peak)}`);
      assert.ok(fileBytes >= codes && fileBytes <= codes + 32 * ROWS + 4096, megabytes(fileBytes));
    });
  }
});
