// The cases of PyTorch's functions, and their arithmetic, for the tests of torch.

import assert from "node:assert/strict";
import { it } from "node:test";
import { init } from "zeropoint";
import { cases, decodeTensor } from "../support/vectors.mjs";

await init();

/** Runs a test for every case of an operation, and says at the end how many there were. */
export function forCases(file, op, count, run) {
  const all = cases(file).filter((item) => item.op === op);
  it(`covers all ${count} cases of ${op}`, () => assert.equal(all.length, count));
  for (const { id, in: input, out, note } of all) it(`${id} ${note ?? ""}`, () => run(input, out));
}

/** A list of channels' qparams as JavaScript has it: floats, int32, or int64 as BigInts. */
export const list = (encoded) => decodeTensor(encoded).data;
