// The examples of every command's help, run one after the other in a folder with the files that they name.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { COMMANDS } from "../../../dist/cli/commands.js";
import { COMMAND_NAMES } from "../../../dist/cli/names.js";
import {
  makeFolder,
  program,
  safetensors,
  smallModel,
  write,
  writeShards,
} from "../support/cli.mjs";

const folder = makeFolder();
const isWindows = process.platform === "win32";

before(async () => {
  write(folder, {
    "model.safetensors": await safetensors(smallModel()),
    "bin/zeropoint": `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`,
  });
  chmodSync(join(folder, "bin", "zeropoint"), 0o755);
  await writeShards(join(folder, "sharded"), 2);
});

/** Commands to run before an example: jobs that its text refers to. */
const FIRST = {
  finish: [
    "zeropoint analyze sharded -o shards.json",
    "zeropoint plan shards.json --size 25% -o plan.json --force",
    "zeropoint quantize sharded --plan plan.json --shard 1/1 -o out --force",
  ],
};

function shell(command) {
  const { status, stdout, stderr } = spawnSync("sh", ["-c", command], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1", PATH: `${join(folder, "bin")}:${process.env.PATH}` },
    encoding: "utf8",
    timeout: 120_000,
  });
  return { code: status, stdout, stderr };
}

describe("the help's examples", { skip: isWindows && "they are for a POSIX shell" }, () => {
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
