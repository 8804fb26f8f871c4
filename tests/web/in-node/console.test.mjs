// What the console says in the page; no browser needed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connectConsole, formatted } from "../../../web/console.js";

describe("formatted", () => {
  it("fills in what the first text asks for, and leaves the rest", () => {
    assert.deepEqual(formatted(["%s is %d", "x", 3.7, { a: 1 }]), ["x is 3", { a: 1 }]);
    assert.deepEqual(formatted(["%o %i %f%%", [1], "4.5", "4.5"]), ["[1] 4 4.5%"]);
    assert.deepEqual(formatted(["%cred", "color: red"]), ["red"]);
    assert.deepEqual(formatted(["%s %s", 1]), ["1 %s"]);
  });

  it("leaves all else as it is", () => {
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

  it("prints beside what the console does", () => {
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

  it("prints how often it came by", () => {
    console.count();
    console.count();
    console.countReset();
    console.count();
    console.count("a");
    assert.deepEqual(printed.splice(0).flat(), ["default: 1", "default: 2", "default: 1", "a: 1"]);
  });

  it("leaves a thousand messages of a run to the console, which would hold up the page", () => {
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

  it("prints how long something took", () => {
    console.time("a");
    console.timeEnd("a");
    console.timeEnd("never begun");
    assert.match(printed.splice(0).join(";"), /^a: \d+\.\d{3} ms$/);
  });
});
