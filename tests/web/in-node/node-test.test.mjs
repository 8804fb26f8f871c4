// The browser's replacement of node:test runs tests in order, and misses no failure.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { nodeOnly } from "../in-browser/node-only.js";
import * as standIn from "../in-browser/node-test.js";

const log = [];
const note = (word) => () => {
  log.push(word);
};
const boom = (message) => () => {
  throw new Error(message);
};
const victim = { method: () => "real" };

standIn.before(note("first of all"));
standIn.after(note("last of all"));
standIn.describe("outer", () => {
  standIn.before(note("before"));
  standIn.after(note("after"));
  standIn.beforeEach(note("each"));
  standIn.afterEach(note("done"));
  standIn.it("one", note("one"));
  standIn.describe("inner", () => {
    standIn.beforeEach(note("inner each"));
    standIn.it("two", async () => {
      await Promise.resolve();
      log.push("two");
    });
  });
});
standIn.describe("failures", () => {
  standIn.it("thrown", boom("thrown"));
  standIn.it("rejected", () => Promise.reject(new Error("rejected")));
  standIn.it("no error at all", () => {
    throw undefined;
  });
  standIn.it("of a method that the context lacks", (t) => t.todo());
  standIn.describe("of before", () => {
    standIn.before(boom("hook"));
    standIn.it("fails the test", note("never"));
    standIn.describe("and deeper", () => standIn.it("fails it too", note("never")));
  });
  standIn.describe("of beforeEach", () => {
    standIn.beforeEach(boom("hook"));
    standIn.it("fails the test", note("never"));
  });
  standIn.describe("of afterEach", () => {
    standIn.afterEach(boom("hook"));
    standIn.it("fails the test", () => {});
  });
  standIn.describe("of after", () => {
    standIn.after(boom("hook"));
    standIn.it("stands beside the test", () => {});
  });
});
standIn.describe("skipped", () => {
  standIn.it("by option", { skip: "because" }, note("never"));
  standIn.it("by itself", (t) => t.skip("later"));
  standIn.it("not at all", { skip: false }, () => {});
  standIn.describe("as a suite", { skip: true }, () => {
    standIn.before(note("never"));
    standIn.it("with all in it", note("never"));
  });
});
standIn.describe("mocks", () => {
  standIn.it("count", (t) => {
    const mocked = t.mock.method(victim, "method", () => "mocked");
    assert.equal(victim.method(1), "mocked");
    assert.deepEqual(mocked.mock.calls[0].arguments, [1]);
  });
  standIn.it("end with the test", () => assert.equal(victim.method(), "real"));
});
standIn.describe("Node", () => {
  const readFileSync = nodeOnly("node:fs readFileSync");
  standIn.it("called", () => readFileSync("x"));
  standIn.it("read from", () => readFileSync.length);
  standIn.it("missing", () => {
    throw new ReferenceError("Buffer is not defined");
  });
});

describe("The stand-in for node:test", () => {
  let results;
  before(async () => {
    results = await standIn.runAll();
  });
  const outcomes = (suite) =>
    results
      .filter(({ name }) => name.startsWith(`${suite} > `))
      .map(({ name, outcome }) => [name.slice(suite.length + 3), outcome]);

  it("runs tests and hooks in node:test's order", () => {
    assert.deepEqual(log, [
      ...["first of all", "before", "each", "one", "done"],
      ...["each", "inner each", "two", "done", "after", "last of all"],
    ]);
    assert.deepEqual(outcomes("outer"), [
      ["one", "passed"],
      ["inner > two", "passed"],
    ]);
  });

  it("reports every failure, with its reason", () => {
    assert.deepEqual(outcomes("failures"), [
      ["thrown", "failed"],
      ["rejected", "failed"],
      ["no error at all", "failed"],
      ["of a method that the context lacks", "failed"],
      ["of before > fails the test", "failed"],
      ["of before > and deeper > fails it too", "failed"],
      ["of beforeEach > fails the test", "failed"],
      ["of afterEach > fails the test", "failed"],
      ["of after > stands beside the test", "passed"],
      ["of after > after", "failed"],
    ]);
    assert.match(results.find(({ name }) => name === "failures > thrown").reason, /thrown/);
  });

  it("reports skipped tests", () => {
    assert.deepEqual(outcomes("skipped"), [
      ["by option", "skipped"],
      ["by itself", "skipped"],
      ["not at all", "passed"],
      ["as a suite > with all in it", "skipped"],
    ]);
  });

  it("undoes mocks", () => {
    assert.deepEqual(outcomes("mocks"), [
      ["count", "passed"],
      ["end with the test", "passed"],
    ]);
  });

  it("distinguishes tests that need Node from failures", () => {
    assert.deepEqual(outcomes("Node"), [
      ["called", "Node only"],
      ["read from", "Node only"],
      ["missing", "Node only"],
    ]);
  });

  it("refuses unknown options", () => {
    assert.throws(() => standIn.it("x", { todo: true }, () => {}), TypeError);
  });
});
