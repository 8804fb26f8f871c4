// zeropoint quantize after an interruption: it continues its own unfinished file, and no other.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { partialPath } from "../../internal/cli.mjs";
import {
  leave,
  makeFolder,
  safetensors,
  smallModel,
  start,
  write,
  zeropoint,
} from "../support/processes/cli.mjs";

const folder = makeFolder();
const quantize = (...args) => zeropoint(folder, ["quantize", ...args]);
const at = (...names) => join(folder, ...names);

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("zeropoint quantize", () => {
  describe("continues after a signal", () => {
    // Least squares take long enough for a signal to arrive before the end.
    const job = (output) => ["large.safetensors", "int4-g16-mse", "-o", output];
    let expected;
    before(async () => {
      write(folder, { "large.safetensors": await safetensors(smallModel(4, 512)) });
      assert.equal(quantize(...job("whole.safetensors")).code, 0);
      expected = readFileSync(at("whole.safetensors"));
    });

    const partials = (name) =>
      (existsSync(at(name)) ? readdirSync(at(name)) : []).filter((n) => /\.partial$/.test(n));

    /** Sends a signal to a job that has written a megabyte. @returns how the job ended */
    async function interrupt(signal) {
      const output = `${signal}/large.safetensors`;
      const { child, ended } = start(folder, ["quantize", ...job(output)]);
      const isRecord = (name) =>
        name.endsWith(".sum.partial") && statSync(at(signal, name)).size > 0;
      while (!partials(signal).some(isRecord)) await delay(5);
      assert.match(partials(signal)[0], /^\.large\.safetensors\..*\.partial$/);
      child.kill(signal);
      const { code, output: said } = await ended;
      assert.equal(existsSync(at(output)), false);
      return { code, said };
    }

    /** Runs the job again. */
    function continueJob(signal) {
      const again = quantize(...job(`${signal}/large.safetensors`));
      assert.match(again.stdout, /, \d.* MB were there from an interrupted run, /);
      assert.deepEqual(partials(signal), []);
      assert.ok(readFileSync(at(signal, "large.safetensors")).equals(expected));
    }

    it("SIGINT, of which it says what is kept, and writes the bytes of one run", async () => {
      const { code, said } = await interrupt("SIGINT");
      assert.equal(code, 130);
      assert.match(said, /^zeropoint: interrupted; .*B of SIGINT\/large\.safetensors are kept, /);
      continueJob("SIGINT");
    });

    it("SIGKILL, and writes the bytes of one run, with their checksum", async () => {
      await interrupt("SIGKILL");
      continueJob("SIGKILL");
      const done = at("SIGKILL", ".zeropoint", "large.safetensors.done.json");
      const { sha256 } = JSON.parse(readFileSync(done, "utf8")).output;
      assert.equal(sha256, createHash("sha256").update(expected).digest("hex"));
    });
  });

  it("does not continue the unfinished file of another scheme or another source", async () => {
    write(folder, { "mine.safetensors": await safetensors(smallModel(1, 64, 7)) });
    const args = ["mine.safetensors", "int4-g32", "-o", "mixed/mine.safetensors"];
    assert.equal(quantize(...args).code, 0);
    const right = readFileSync(at("mixed", "mine.safetensors"));
    rmSync(at("mixed", "mine.safetensors"));
    // The number of an ended process: of the one that wrote the file.
    const { pid } = start(folder, ["--version"]).child;
    while (isRunning(pid)) await delay(5);
    const left = basename(partialPath(at("mixed", "mine.safetensors"), "0123456789abcdef"));
    const path = at("mixed", left.replace(/\d+\.partial$/, `${pid}.partial`));
    leave(path, Buffer.alloc(1000, 255));
    const { stdout } = quantize(...args);
    assert.doesNotMatch(stdout, /interrupted/);
    assert.ok(right.equals(readFileSync(at("mixed", "mine.safetensors"))));
    assert.deepEqual(readdirSync(at("mixed")).sort(), [".zeropoint", "mine.safetensors"]);
  });
});
