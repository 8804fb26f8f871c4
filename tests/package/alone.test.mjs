// Two commands that build the same checkout run one after the other.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { alone } from "../../scripts/process/alone.mjs";

const MODULE = new URL("../../scripts/process/alone.mjs", import.meta.url);
const NAME = fileURLToPath(import.meta.url);

/** Starts a process that holds the lock for the given time, and collects its output. */
function start(milliseconds) {
  const script = `
    import { alone } from ${JSON.stringify(MODULE)};
    await alone(async () => {
      console.log("begin " + Date.now());
      await new Promise((done) => setTimeout(done, ${milliseconds}));
      console.log("end " + Date.now());
    }, ${JSON.stringify(NAME)});`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script]);
  const process_ = { child, said: "", ended: once(child, "close") };
  child.stdout.setEncoding("utf8").on("data", (text) => {
    process_.said += text;
  });
  return process_;
}

const timeOf = (said, word) => Number(new RegExp(`^${word} (\\d+)$`, "m").exec(said)?.[1]);

describe("Commands that build", { timeout: 60_000 }, () => {
  it("run one after the other, and report the wait", async () => {
    // Hold the lock while the processes start, so that all of them compete for it when it is released.
    const processes = await alone(async () => {
      const waiting = Array.from({ length: 8 }, () => start(10));
      await Promise.all(waiting.map(({ child }) => once(child.stdout, "data")));
      return waiting;
    }, NAME);
    await Promise.all(processes.map(({ ended }) => ended));
    const said = processes.map((each) => each.said);
    for (const each of said) {
      assert.match(each, /^Waiting for another command that builds this checkout\nbegin/);
    }
    said.sort((a, b) => timeOf(a, "begin") - timeOf(b, "begin"));
    for (let i = 1; i < said.length; ++i) {
      assert.ok(timeOf(said[i], "begin") >= timeOf(said[i - 1], "end"), said.join());
    }
  });

  it("do not wait for a killed process", async () => {
    const killed = start(60_000);
    await once(killed.child.stdout, "data");
    const waiting = alone(() => "done", NAME);
    killed.child.kill("SIGKILL");
    assert.equal(await waiting, "done");
  });

  it("return the result of the work, and release the lock after an error", async () => {
    const error = new Error("of the work");
    await assert.rejects(
      alone(() => Promise.reject(error), NAME),
      error,
    );
    assert.equal(await alone(() => 7, NAME), 7);
  });
});
