import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { afterFreeSeconds } from "../../../internal/core.mjs";

/** A turn of the event loop in which due timers run. */
const turn = () => new Promise((resolve) => setTimeout(resolve));

function blockThread(milliseconds) {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

describe("The wait for a worker's answer", () => {
  it("ends after its seconds", async () => {
    const start = performance.now();
    await new Promise((resolve) => afterFreeSeconds(2, resolve));
    // Timers count whole milliseconds.
    assert.ok(performance.now() - start > 1990);
  });

  it("goes on while the thread is blocked, so that an answer is read before it ends", async () => {
    let isLate = false;
    const stop = afterFreeSeconds(2, () => {
      isLate = true;
    });
    blockThread(2500);
    await turn();
    await turn();
    assert.equal(isLate, false);
    stop();
  });

  it("does not end once it was stopped", async () => {
    const stop = afterFreeSeconds(1, () => assert.fail("it ended"));
    stop();
    await new Promise((resolve) => setTimeout(resolve, 1200));
  });
});
