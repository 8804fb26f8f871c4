// A worker's end of the page's calls: answers, errors, ends of calls, and buffers that go over.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromPage } from "../from-page.mjs";

const { moving, serveCalls } = await fromPage("shell/calls/serve.js");

/** Serves commands, and gives what they post for a message. */
function served(t, commands) {
  const own = new EventTarget();
  const answers = [];
  const post = (message, options) => answers.push(structuredClone(message, options));
  const before = [globalThis.self, globalThis.postMessage];
  Object.assign(globalThis, { self: own, postMessage: post });
  t.after(() => Object.assign(globalThis, { self: before[0], postMessage: before[1] }));
  serveCalls(commands);
  return async (data) => {
    own.dispatchEvent(new MessageEvent("message", { data }));
    await new Promise((resolve) => setTimeout(resolve));
    return answers.splice(0);
  };
}

describe("Calls of a worker", () => {
  it("are answered by results, with the buffers that move", async (t) => {
    const values = Float32Array.of(1, 2);
    const send = served(t, { read: () => moving({ values }, [values.buffer]) });
    const [{ id, result }] = await send({ id: 1, name: "read" });
    assert.deepEqual([id, [...result.values]], [1, [1, 2]]);
    assert.equal(values.length, 0);
  });

  it("are answered by errors, with a line and nothing that cannot be sent", async (t) => {
    const send = served(t, {
      read() {
        throw Object.assign(new RangeError("no number"), { line: 3, column: 5, retry: () => {} });
      },
    });
    const [{ error }] = await send({ id: 1, name: "read" });
    assert.deepEqual(error, { name: "RangeError", message: "no number", line: 3, column: 5 });
  });

  it("end by their number, and no other call does", async (t) => {
    const signals = [];
    const send = served(t, {
      sweep(_, signal) {
        signals.push(signal);
        return new Promise((_, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        );
      },
    });
    await send({ id: 1, name: "sweep" });
    await send({ id: 2, name: "sweep" });
    const [{ id, error }] = await send({ id: 1 });
    assert.deepEqual([id, error.name], [1, "AbortError"]);
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [true, false],
    );
    assert.deepEqual(await send({ id: 9 }), []);
  });
});
