// The names a cell uses, and the results that depend on it; no browser needed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromPage } from "../from-page.mjs";

const { Dependencies } = await fromPage("notebook/dependencies.js");
const { rewriteCell } = await fromPage("notebook/worker/rewrite.js");

const namesOf = (source) => rewriteCell(source).names;

/** Runs cells in order; returns the dependencies and a function that lists the stale cells after a change. */
function notebook(...sources) {
  const dependencies = new Dependencies();
  const names = sources.map(namesOf);
  names.forEach((each, cell) => {
    dependencies.record(cell, each);
  });
  return {
    dependencies,
    rerun: (cell) => dependencies.record(cell, names[cell]),
    stale: (...changed) => [...dependencies.stale((cell) => changed.includes(cell))].sort(),
  };
}

describe("The names of a cell", () => {
  it("are the names it reads, assigns and changes in place", () => {
    const names = namesOf("let a = b + 1;\nc = a;\nd.push(e);\nf.data[0] = 1;\ng.add_(1);");
    assert.deepEqual(names.reads.sort(), ["a", "b", "d", "e", "f", "g"]);
    assert.deepEqual(names.writes, ["a", "c"]);
    assert.deepEqual(names.changes, ["d", "f", "g"]);
  });

  it("leave out parameters, names of blocks and loops, and properties", () => {
    const names = namesOf(
      "for (const i of list) { const twice = 2 * i; print(twice.length, { key: i }); }\n" +
        "list.map((x, j) => x + j);\ntry { f(); } catch (error) { print(error); }",
    );
    assert.deepEqual(names.reads.sort(), ["f", "list", "print"]);
    assert.deepEqual([...names.writes, ...names.changes], []);
  });

  it("separate names used by a function's call from names used by its cell", () => {
    const names = namesOf("function f(x) { table.set(x, scale); return helper(x); }");
    assert.deepEqual(names.reads, []);
    assert.deepEqual(names.writes, ["f"]);
    assert.deepEqual(names.later.reads.sort(), ["helper", "scale", "table"]);
    assert.deepEqual(names.later.changes, ["table"]);
  });

  it("do not count a tensor as changed when its sum is taken", () => {
    assert.deepEqual(namesOf("y = x.add(1);").changes, []);
  });
});

describe("Stale results", () => {
  it("are the readers of a changed cell's names, directly or not, and no others", () => {
    const { stale } = notebook("let a = 1;", "let b = a;", "let c = b;", "let d = 1;");
    assert.deepEqual(stale(0), [0, 1, 2]);
    assert.deepEqual(stale(1), [1, 2]);
    assert.deepEqual(stale(3), [3]);
  });

  it("remain stale until they run again, in turn", () => {
    const { stale, rerun } = notebook("let a = 1;", "let b = a;", "let c = b;");
    rerun(0);
    assert.deepEqual(stale(), [1, 2]);
    rerun(1);
    assert.deepEqual(stale(), [2]);
    rerun(2);
    assert.deepEqual(stale(), []);
  });

  it("are found through functions that other cells call", () => {
    const { stale } = notebook("let scale = 1;", "function f(x) { return x * scale; }", "f(2);");
    assert.deepEqual(stale(0), [0, 2]);
    assert.deepEqual(stale(1), [1, 2]);
  });

  it("are found through values that are changed in place", () => {
    const { stale } = notebook(
      "const table = new Map();\nfunction keep(x) { table.set(x, x); }",
      "keep(1);",
      "keep(2);",
      "print(table);",
    );
    assert.deepEqual(stale(1), [1, 2, 3]);
  });

  it("do not include a reader of a name that a later cell reassigns", () => {
    const { stale } = notebook("let s = 1;", "print(s);", "s = 2;", "print(s);");
    assert.deepEqual(stale(2), [2, 3]);
    assert.deepEqual(stale(0), [0, 1]);
  });
});

describe("Cells to run against staleness", () => {
  it("include the cell whose value was replaced later", () => {
    const { dependencies } = notebook("let s = 1;", "print(s);", "s = 2;", "print(s);");
    assert.deepEqual(dependencies.toRun([1]), [0, 1]);
    assert.deepEqual(dependencies.toRun([3]), [3]);
    assert.deepEqual(dependencies.toRun([0, 1, 3]), [0, 1, 2, 3]);
  });
});
