// The console's output in cells; no browser needed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromPage } from "../from-page.mjs";

const { connectConsole, formatted } = await fromPage("notebook/worker/console.js");

describe("formatted", () => {
  it("fills in the placeholders of the first text, and keeps the other arguments", () => {
    assert.deepEqual(formatted(["%s is %d", "x", 3.7, { a: 1 }]), ["x is 3", { a: 1 }]);
    assert.deepEqual(formatted(["%o %i %f%%", [1], "4.5", "4.5"]), ["[1] 4 4.5%"]);
    assert.deepEqual(formatted(["%cred", "color: red"]), ["red"]);
    assert.deepEqual(formatted(["%s %s", 1]), ["1 %s"]);
  });

  it("keeps all other arguments", () => {
    assert.deepEqual(formatted(["100%"]), ["100%"]);
    assert.deepEqual(formatted([1, "%s"]), [1, "%s"]);
    assert.deepEqual(formatted([]), []);
  });
});

describe("connectConsole", () => {
  const told = [];
  const printed = [];
  const tell = (name) => [name, (...values) => told.push([name, ...values])];
  const names =
    "log info warn error debug trace group groupCollapsed groupEnd clear dir table assert time " +
    "timeEnd timeLog count countReset";
  const console = Object.fromEntries(names.split(" ").map(tell));
  const countAnew = connectConsole(console, (...values) => printed.push(values));

  it("prints in addition to the console's output", () => {
    console.warn("a %s", 1);
    console.dir({ a: 1 }, { depth: 0 });
    assert.deepEqual(told.splice(0), [
      ["warn", "a %s", 1],
      ["dir", { a: 1 }, { depth: 0 }],
    ]);
    assert.deepEqual(printed.splice(0), [["a 1"], [{ a: 1 }]]);
  });

  it("prints an assertion only if it fails", () => {
    console.assert(true, "no");
    console.assert(false, "x is %d", 2);
    assert.deepEqual(printed.splice(0), [["Assertion failed", "x is 2"]]);
  });

  it("prints a counter's value", () => {
    console.count();
    console.count();
    console.countReset();
    console.count();
    console.count("a");
    assert.deepEqual(printed.splice(0).flat(), ["default: 1", "default: 2", "default: 1", "a: 1"]);
  });

  it("prints at most a thousand messages of a run, which would slow down the page", () => {
    countAnew();
    told.length = 0;
    for (let i = 0; i < 5000; i++) console.log(i);
    assert.equal(printed.splice(0).length, 5000);
    assert.deepEqual(told.slice(999), [
      ["log", 999],
      ["warn", "… the rest of what this cell says is left out"],
    ]);
    countAnew();
    told.length = 0;
    console.log("again");
    assert.deepEqual([told.splice(0), printed.splice(0)], [[["log", "again"]], [["again"]]]);
  });

  it("passes as many messages of the other kinds to the browser", () => {
    let count = 0;
    const other = { ...globalThis.console, dirxml: () => count++, context: () => count++ };
    connectConsole(other, () => {});
    for (let i = 0; i < 2000; i++) {
      other.dirxml(i);
      assert.equal(other.context("x"), undefined);
    }
    assert.ok(count <= 1001, String(count));
  });

  it("prints elapsed time", () => {
    console.time("a");
    console.timeEnd("a");
    console.timeEnd("never begun");
    assert.match(printed.splice(0).join(";"), /^a: \d+\.\d{3} ms$/);
  });
});
