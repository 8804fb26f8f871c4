// Messages of the worker of the cells, which are hostile input to the page.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromPage } from "../from-page.mjs";

const { BOUNDS, checkedPlot, Inbox } = await fromPage("notebook/messages.js");

const NOT_SENT = /messages of its own/;

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
    assert.ok(inbox.take({ ...text("a"), token: inbox.token }));
  });

  it("reads no field but the token of a message without the kernel's", () => {
    const { inbox } = started();
    const read = [];
    const forged = new Proxy(
      { ...text("a"), token: "x" },
      {
        get: (target, name) => {
          read.push(name);
          return target[name];
        },
      },
    );
    assert.equal(inbox.take(forged), undefined);
    assert.deepEqual(read, ["token"]);
  });

  it("takes no list of files and no request for the core once cells may run", () => {
    const { take } = started();
    assert.throws(() => take({ type: "ready", files: ["https://example.org/x"] }), NOT_SENT);
    const { port1 } = new MessageChannel();
    assert.throws(() => take({ type: "core", file: "x", port: port1 }), NOT_SENT);
    assert.throws(() => take({ type: "failed", message: "m" }), NOT_SENT);
    port1.close();
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
    assert.throws(() => take(text("a".repeat(2 ** 26))), NOT_SENT);
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
      assert.throws(
        () => take({ type: "output", run: 1, output: { kind: "error", error } }),
        NOT_SENT,
      );
    }
    assert.throws(
      () => take({ type: "done", run: 1, checks: [{ passed: true, message: tree }] }),
      NOT_SENT,
    );
  });

  it("takes as many values of plots, and points of lines, as a run may have in all", () => {
    const { take } = started();
    const plotted = (plot, run) => take({ type: "output", run, output: { kind: "plot", plot } });
    const quarter = new Float64Array(BOUNDS.values / 4);
    const map = heatMap({ ...panel([quarter.length], 0), data: quarter });
    for (let i = 0; i < 4; i++) assert.ok(plotted(map, 1));
    assert.equal(plotted(map, 1), undefined);
    assert.ok(plotted(map, 2));
    const half = new Float64Array(BOUNDS.points / 2);
    const lines = {
      ...{ kind: "lines", title: "", x: "", y: "" },
      series: [{ name: "", x: half, y: half }],
    };
    for (let i = 0; i < 2; i++) assert.ok(plotted(lines, 3));
    assert.equal(plotted(lines, 3), undefined);
  });

  it("takes values of no other kind, whatever can be sent", () => {
    const { port1, port2 } = new MessageChannel();
    const cyclic = [];
    cyclic.push(cyclic);
    const hostile = [
      ...[undefined, null, true, 1n, Number.NaN, -1, 0.5, 2 ** 60, "x", "x".repeat(2 ** 25)],
      ...[{}, [], [[]], cyclic, Array(2 ** 32 - 1), new Map([["x", 1]]), new Set(["x"])],
      ...[new Date(), /x/, new Error("x"), new ArrayBuffer(8), new SharedArrayBuffer(8)],
      ...[new Int8Array(4), new Float64Array(2), new DataView(new ArrayBuffer(8)), new Blob(["x"])],
      ...[port1, new ReadableStream(), new Proxy([], {}), Object.create({ length: 1 })],
    ];
    const valid = {
      output: text("a"),
      plot: { type: "output", run: 1, output: { kind: "plot", plot: heatMap(panel([2], 2)) } },
      error: {
        ...{ type: "output", run: 1 },
        output: {
          kind: "error",
          error: { name: "n", message: "m", inside: { cell: "c", line: 1 } },
        },
      },
      done: {
        ...{ type: "done", run: 1, result: "1", checks: [{ passed: true, message: "m" }] },
        names: {
          reads: [],
          writes: [],
          changes: [],
          later: { reads: [], writes: [], changes: [] },
        },
        grade: { passed: true, text: "t", mistakes: ["m"], detail: "d" },
      },
      module: { type: "module", text: "" },
    };
    /** Every field of a value, however deep. */
    const paths = (value, path = []) =>
      Object(value) === value && !ArrayBuffer.isView(value)
        ? Object.keys(value).flatMap((key) => [
            [...path, key],
            ...paths(value[key], [...path, key]),
          ])
        : [];
    const changed = (value, [key, ...rest], to) => {
      const copy = Array.isArray(value) ? [...value] : { ...value };
      copy[key] = rest.length > 0 ? changed(value[key], rest, to) : to;
      return copy;
    };
    const isPlain = (value) =>
      Object(value) !== value ||
      value instanceof Float64Array ||
      ((Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype) &&
        Object.values(value).every(isPlain));
    let tried = 0;
    for (const message of Object.values(valid)) {
      const { take } = started();
      assert.ok(take(message));
      for (const path of paths(message)) {
        for (const value of hostile) {
          const { take: takeNext } = started();
          let taken;
          try {
            taken = takeNext(changed(message, path, value));
          } catch (error) {
            assert.match(error.message, NOT_SENT);
          }
          assert.ok(isPlain(taken), `${path}: ${Object.prototype.toString.call(value)}`);
          assert.ok(JSON.stringify(taken ?? "").length < 2 ** 24);
          tried++;
        }
      }
    }
    assert.ok(tried > 1000, String(tried));
    port1.close();
    port2.close();
  });

  it("is sent lists without the methods that a cell gave them", () => {
    const series = [{ name: "", x: new Float64Array(1), y: new Float64Array(1) }];
    const hide = () => assert.fail("called");
    for (const name of ["map", "reduce", Symbol.iterator]) {
      Object.defineProperty(series, name, { value: hide });
    }
    const { series: checked } = checkedPlot({ kind: "lines", title: "", x: "", y: "", series });
    assert.deepEqual(Reflect.ownKeys(checked), ["0", "length"]);
  });
});
