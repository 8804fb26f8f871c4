// The examples of every command's help, run one after the other in a folder with the files that they name.

import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { COMMAND_NAMES, COMMANDS } from "../../internal/cli.mjs";
import {
  inPosixShell,
  makeFolder,
  makeShell,
  safetensors,
  smallModel,
  write,
  writeShards,
} from "../support/processes/cli.mjs";

const folder = makeFolder();
const shell = makeShell(folder);

before(async () => {
  write(folder, { "model.safetensors": await safetensors(smallModel()) });
  await writeShards(join(folder, "sharded"), 2);
});

/** Commands to run before an example: jobs that its text refers to. */
const FIRST = {
  finish: [
    "zeropoint analyze sharded -o shards.json",
    "zeropoint plan shards.json --size 25% -o plan.json --force",
    "zeropoint quantize sharded --plan plan.json --shard 1/1 -o out --force",
  ],
  // A plan may have schemes with "-mse", which files do not record.
  verify: ["zeropoint quantize model.safetensors int8-channel -o small.safetensors --force"],
};

describe("the help's examples", inPosixShell, () => {
  for (const name of COMMAND_NAMES) {
    for (const { command } of COMMANDS[name].examples) {
      it(`run: ${command}`, () => {
        for (const line of [...(FIRST[name] ?? []), command]) {
          const { code, stderr } = shell(line);
          assert.deepEqual([code, stderr], [0, ""], line);
        }
      });
    }
  }
});
