// Messages of the worker of the cells, which are hostile input to the page.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BOUNDS, checkedPlot, Inbox } from "../../../web/notebook/messages.js";

/** An inbox whose worker has started. */
function started() {
  const inbox = new Inbox();
  inbox.take({ type: "ready", files: [] });
  const take = (message) => inbox.take({ token: inbox.token, ...message });
  return { inbox, take };
}

const panel = (shape, length, name = "original") => ({
  ...{ name, title: "t", shape, data: new Float64Array(length) },
});
const heatMap = (...panels) => ({ kind: "quantization-errors", n_bits: 8, panels });
const text = (value, run = 1) => ({ type: "output", run, output: { kind: "text", text: value } });

describe("The page", () => {
  it("takes what the kernel sends", () => {
    const { take } = started();
    assert.equal(take(text("a")).output.text, "a");
    const plot = heatMap(panel([2, 3], 6), panel([2, 3], 6, "error"));
    assert.deepEqual(
      take({ type: "output", run: 1, output: { kind: "plot", plot } }).output.plot,
      plot,
    );
    const done = {
      ...{ type: "done", run: 1, result: "1", checks: [{ passed: true }] },
      error: { name: "TypeError", message: "m", line: 2 },
      names: {
        reads: ["x"],
        writes: [],
        changes: [],
        later: { reads: [], writes: [], changes: [] },
      },
      grade: { passed: true, text: "Right.", mistakes: [] },
    };
    assert.deepEqual(take(done), done);
    assert.equal(take({ type: "module", text: "export {}" }).text, "export {}");
  });

  it("ignores messages without the kernel's token", () => {
    const { inbox } = started();
    for (const forged of [
      text("a"),
      { ...text("a"), token: "x" },
      null,
      1,
      "x",
      { type: "__proto__" },
    ]) {
      assert.equal(inbox.take(forged), undefined);
    }
  });

  it("takes no list of files and no request for the core once cells may run", () => {
    const { take } = started();
    assert.equal(take({ type: "ready", files: ["https://example.org/x"] }), undefined);
    assert.equal(take({ type: "core", file: "x", port: new MessageChannel().port1 }), undefined);
    assert.equal(take({ type: "failed", message: "m" }), undefined);
  });

  it("ends a worker that goes on to send such messages", () => {
    const { inbox } = started();
    for (let i = 0; i < BOUNDS.foreign; i++) assert.equal(inbox.take(text("a")), undefined);
    assert.throws(() => inbox.take(text("a")), /messages of its own/);
  });

  it("draws no plot whose shape is not that of its data", () => {
    for (const plot of [
      heatMap(panel([1, 2 ** 40], 1)),
      heatMap(panel([2 ** 32, 2 ** 32], 0)),
      heatMap(panel([2], 2), panel([1, 2], 2)),
      heatMap(panel([-1], 1)),
      heatMap(panel([2], 2, "innerHTML")),
      heatMap({ ...panel([2], 2), data: { length: 2 ** 40 } }),
      heatMap(),
      { kind: "lines", title: "", x: "", y: "", series: [] },
      {
        kind: "lines",
        title: "t".repeat(2000),
        x: "",
        y: "",
        series: [{ name: "", x: new Float64Array(1), y: new Float64Array(1) }],
      },
      {
        kind: "lines",
        title: "",
        x: "",
        y: "",
        series: [{ name: "", x: new Float64Array(1), y: new Float64Array(2) }],
      },
      { kind: "bars" },
      undefined,
    ]) {
      assert.throws(() => checkedPlot(plot), TypeError);
    }
  });

  it("shows no text, and no number of messages, beyond what a run may print", () => {
    const { take } = started();
    assert.equal(take(text("a".repeat(2 ** 26))), undefined);
    assert.ok(take(text("a".repeat(BOUNDS.characters))));
    assert.equal(take(text("b")), undefined);
    // Another run begins anew.
    for (let i = 0; i < BOUNDS.messages; i++) assert.ok(take(text("", 2)));
    assert.equal(take(text("", 2)), undefined);
  });

  it("takes texts for texts alone: no trees of elements", () => {
    const { take } = started();
    const tree = { tag: "script", attributes: {}, children: ["x"] };
    for (const error of [
      { name: tree, message: "" },
      { name: "", message: [tree] },
    ]) {
      assert.equal(take({ type: "output", run: 1, output: { kind: "error", error } }), undefined);
    }
    assert.equal(
      take({ type: "done", run: 1, checks: [{ passed: true, message: tree }] }),
      undefined,
    );
  });
});
