// Memory of the readers, in processes of their own. Node only.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const script = fileURLToPath(new URL("../support/processes/hostile-headers.mjs", import.meta.url));
const kinds = [
  "keys of GGUF",
  "nodes of ONNX",
  "integers of an ONNX attribute",
  "tensors of safetensors",
  "arrays of GGUF",
  "texts of GGUF, which are not asked for",
  "a text of escapes in safetensors",
  "objects of JSON",
];

describe("30 MiB of the smallest possible entries", () => {
  for (const kind of kinds) {
    it(`are read or refused within the file's size and 64 MiB of heap: ${kind}`, async () => {
      // A heap beyond the limit ends the process.
      const limits = ["--max-old-space-size=94", "--max-semi-space-size=2"];
      const { stdout } = await promisify(execFile)(process.execPath, [...limits, script, kind], {
        timeout: 240_000,
      });
      assert.match(stdout, /^(read|ZP_UNSUPPORTED_FILE)\n$/);
    });
  }
});
