// The examples of every command's help and of the README, run one after the other in a folder with the files that they
// name.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { COMMAND_NAMES, COMMANDS } from "../../internal/cli.mjs";
import {
  makeFolder,
  program,
  safetensors,
  smallModel,
  write,
  writeShards,
} from "../support/processes/cli.mjs";

const folder = makeFolder();
const isWindows = process.platform === "win32";

before(async () => {
  write(folder, {
    "model.safetensors": await safetensors(smallModel()),
    "bin/zeropoint": `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`,
    "bin/npx": '#!/bin/sh\nexec "$@"\n',
  });
  for (const name of ["zeropoint", "npx"]) chmodSync(join(folder, "bin", name), 0o755);
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

function shell(command, cwd = folder) {
  const { status, stdout, stderr } = spawnSync("sh", ["-c", command], {
    cwd,
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

describe("the README's commands", { skip: isWindows && "they are for a POSIX shell" }, () => {
  const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");
  const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text);
  const [install, oneFile, manyFiles, ...others] = blocks;

  it("are one walk through a file, one through shards, and the installation", () => {
    assert.equal(install, "npm install zeropoint\n");
    assert.deepEqual(others, []);
  });

  it("run on a file", async () => {
    const cwd = join(folder, "one file");
    write(cwd, { "model.safetensors": await safetensors(smallModel()) });
    for (const line of oneFile.trimEnd().split("\n")) {
      const { code, stderr } = shell(line, cwd);
      assert.deepEqual([code, stderr], [0, ""], line);
    }
  });

  it("run on shards, those of one shard for each of them", async () => {
    const cwd = join(folder, "many files");
    await writeShards(join(cwd, "model"), 12, { width: 32 });
    for (const line of manyFiles.trimEnd().split("\n")) {
      const jobs = Array.from({ length: 12 }, (_, i) => line.replace(" 3/12 ", ` ${i + 1}/12 `));
      for (const job of new Set(jobs)) {
        const { code, stderr } = shell(job, cwd);
        assert.deepEqual([code, stderr], [0, ""], job);
      }
    }
  });
});
