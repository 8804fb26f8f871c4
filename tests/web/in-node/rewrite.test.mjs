// Rewriting of a cell's text to code that shares its names; no browser needed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromPage } from "../from-page.mjs";

const { diffLines, matches } = await fromPage("notebook/cell/compare.js");
const { describeError } = await fromPage("notebook/worker/cell-error.js");
const { rewriteCell } = await fromPage("notebook/worker/rewrite.js");
const { createScope } = await fromPage("notebook/worker/scope.js");

/** Runs cells one after the other, as the worker does, and returns the shown values. */
async function runCells(...sources) {
  const scope = createScope();
  const shown = [];
  const modules = { numbers: { one: 1, two: 2, default: 0 } };
  const importFrom = async (name) => modules[name];
  for (const source of sources) {
    const { hoisted, body } = rewriteCell(source);
    for (const [code, arrow] of [
      [hoisted, "() =>"],
      [body, "async () =>"],
    ]) {
      const run = new Function(
        "$names",
        "$declare",
        "$import",
        "$tuple",
        "$get",
        `with ($names) return (${arrow} { "use strict"; ${code}\n})();`,
      );
      const tuple = (items) => ({ tuple: items });
      const get = (object, key, text) => object[key] ?? `${text} has no ${key}`;
      const value = run(scope.names, scope.declare, importFrom, tuple, get);
      if (code === body) shown.push(await value);
    }
  }
  return shown;
}

const lastOf = async (...sources) => (await runCells(...sources)).at(-1);

describe("rewriteCell", () => {
  it("keeps const, let and var for later cells", async () => {
    assert.equal(await lastOf("const a = 1; let b = 2; var c = 3;", "a + b + c"), 6);
  });

  it("keeps destructured names of arrays and objects, with defaults and rests", async () => {
    const cell =
      "const [q, , s = 7, ...more] = [1, 2, undefined, 4, 5], { a: { b }, ...rest } = f();";
    const define = "function f() { return { a: { b: 8 }, c: 9 }; }";
    const shown = await lastOf(define, cell, "[q, s, more, b, rest]");
    assert.deepEqual(shown, [1, 7, [4, 5], 8, { c: 9 }]);
  });

  it("keeps functions, and lets the same cell call them before they are defined", async () => {
    assert.deepEqual(await runCells("twice(4); function twice(x) { return 2 * x; }", "twice(5)"), [
      undefined,
      10,
    ]);
  });

  it("keeps async functions, generators and classes", async () => {
    const cell = "async function a() { return 1 }\nfunction* g() { yield 2 }\nclass C { x = 3 }";
    assert.deepEqual(await lastOf(cell, "[await a(), ...g(), new C().x, C.name, a.name]"), [
      1,
      2,
      3,
      "C",
      "a",
    ]);
  });

  it("lets an earlier function see the assignments of a later cell", async () => {
    assert.equal(await lastOf("let n = 1; const get = () => n;", "n = 5;", "get()"), 5);
  });

  it("lets a cell declare a name of another cell again", async () => {
    assert.equal(await lastOf("const x = 1;", "const x = 2;", "let x = x + 1;", "x"), 3);
  });

  it("shows the last expression, with or without a semicolon or a comment after it", async () => {
    assert.equal(await lastOf("1; 2"), 2);
    assert.equal(await lastOf("3;"), 3);
    assert.equal(await lastOf("(4) // four;"), 4);
    assert.deepEqual(await lastOf("({ a: 1 });"), { a: 1 });
  });

  it("shows nothing for assignments and declarations", async () => {
    assert.deepEqual(await runCells("let a = 1", "a = 2", "a += 1", "function f() {}", "// only"), [
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("shows expressions with commas between them as a tuple", async () => {
    assert.deepEqual(await lastOf("1, 2, 3;"), { tuple: [1, 2, 3] });
    assert.deepEqual(await lastOf("(1, 2)"), { tuple: [1, 2] });
    assert.deepEqual(await lastOf("[1, 2]"), [1, 2]);
  });

  it("imports named, renamed, default and all exports", async () => {
    const cell =
      'import zero, { one, two as second } from "numbers";\nimport * as all from "numbers";';
    assert.deepEqual(await lastOf(cell, "[zero, one, second, all.two]"), [0, 1, 2, 2]);
  });

  it("imports by a call, in any place", async () => {
    assert.equal(await lastOf('const { one, two: b } = await import("numbers");', "one + b"), 3);
    assert.equal(await lastOf('(await import("numbers")).two'), 2);
    assert.equal(await lastOf('import("numbers").then((m) => m.one)'), 1);
    const inside = 'async function f() {\n  return (await import("numbers")).default;\n}';
    assert.equal(await lastOf(inside, "await f()"), 0);
  });

  it("keeps statements separate that line breaks separate", async () => {
    assert.equal(await lastOf("let f = () => 7\nlet a = 1\nlet b\n(f())"), 7);
    assert.equal(await lastOf("let g = 3\nconst [h] = [4]\ng + h"), 7);
  });

  it("keeps every line number", () => {
    const source =
      'import {\n  one,\n} from "numbers";\n\nfunction f() {\n  g();\n}\nconst a =\n  1;\nb;';
    const { hoisted, body } = rewriteCell(source);
    assert.equal(hoisted.split("\n").length, source.split("\n").length);
    assert.equal(body.split("\n").length, source.split("\n").length);
    assert.match(hoisted.split("\n")[5], /g\(\)/);
    assert.match(body.split("\n")[9], /b/);
  });

  it("names the line of a syntax error", () => {
    assert.throws(() => rewriteCell("let a = 1;\nlet = = 2;"), { name: "SyntaxError", line: 2 });
  });

  it("names the unexpected token, and the bracket that may be open", () => {
    for (const [source, message] of [
      ["1 +* 2", "Unexpected *"],
      ["print 'a'", "Unexpected 'a'"],
      ["let a =", "Unexpected end of the cell"],
      ["f(\n[1, 2;", "Unexpected ; (is the [ of line 2 closed?)"],
      ["f(1, 2]", "Unexpected ] (is the ( of line 1 closed?)"],
      ["function f() {\n  g();\n", "Unexpected end of the cell (is the { of line 1 closed?)"],
      ["`a ${1; `", "Unexpected ; (is the ${ of line 1 closed?)"],
      ["(1, 2))", "Unexpected )"],
    ]) {
      assert.throws(() => rewriteCell(source), { name: "SyntaxError", message }, source);
    }
  });

  it("refuses exports", () => {
    assert.throws(() => rewriteCell("1;\nexport const a = 1;"), { name: "SyntaxError", line: 2 });
  });
});

describe("createScope", () => {
  it("refuses to assign to a constant", async () => {
    await assert.rejects(runCells("const a = 1;", "a = 2;"), TypeError);
    await assert.rejects(runCells("const a = 1; a++;"), TypeError);
  });

  it("refuses to assign to an undeclared name", async () => {
    await assert.rejects(runCells("undeclared = 1;"), ReferenceError);
  });

  it("reports an undefined name when its declaration failed", async () => {
    const scope = createScope();
    scope.declare("let", "a");
    assert.throws(() => scope.names.a, { name: "ReferenceError", message: "a is not defined" });
  });
});

describe("describeError", () => {
  const at = (file, line) => `Error: no\n    at f (${file}:${line}:3)`;

  it("gives the line of this cell", () => {
    const error = Object.assign(new RangeError("no"), { stack: at("zeropoint-cell-4.js", 7) });
    assert.deepEqual(
      describeError(error, "zeropoint-cell-4.js", () => undefined),
      { name: "RangeError", message: "no", line: 7 },
    );
  });

  it("names the earlier cell whose function failed, and the line here that called it", () => {
    const stack = `${at("zeropoint-cell-2.js", 3)}\n    at zeropoint-cell-4.js:1:1`;
    const error = Object.assign(new Error("no"), { stack });
    assert.deepEqual(
      describeError(error, "zeropoint-cell-4.js", (file) =>
        file === "zeropoint-cell-2.js" ? "Cell 10" : undefined,
      ),
      { name: "Error", message: "no", line: 1, inside: { cell: "Cell 10", line: 3 } },
    );
  });

  it("shows a thrown value that is no error", () => {
    const thrown = describeError("words", "zeropoint-cell-1.js", () => undefined);
    assert.deepEqual(thrown, { name: "Thrown", message: "words" });
    for (const [value, text] of [
      [{ a: 1 }, "{'a': 1}"],
      [[1, "b"], "[1, 'b']"],
      [undefined, "None"],
    ]) {
      assert.equal(describeError(value, "", () => undefined).message, text);
    }
    const unreadable = new Proxy({}, { get: () => assert.fail() });
    assert.equal(describeError(unreadable, "", () => undefined).name, "Thrown");
  });
});

describe("compare", () => {
  it("ignores spaces at line ends and empty lines around the text", () => {
    assert.ok(matches("\na  \n b\n", "a\n b"));
  });

  it("reports every other difference", () => {
    assert.ok(!matches(" a", "a"));
    assert.ok(!matches("a\n\nb", "a\nb"));
    assert.ok(!matches("tensor([1.0000])", "tensor([1.0001])"));
  });

  it("keeps common lines together in a difference", () => {
    assert.deepEqual(diffLines("a\nx\nc", "a\nb\nc"), [
      { kind: "same", text: "a" },
      { kind: "expected", text: "b" },
      { kind: "actual", text: "x" },
      { kind: "same", text: "c" },
    ]);
  });

  const refused = (source) => {
    try {
      rewriteCell(source);
    } catch ({ name, message, line }) {
      return `${name} in line ${line}: ${message}`;
    }
  };

  it("refuses a tuple as an index, because JavaScript takes only its last value", () => {
    assert.equal(
      refused("1;\nprint(t[0, 1]);"),
      "SyntaxError in line 2: t[0, 1] is t[1] in JavaScript: write t[0][1]",
    );
    assert.match(refused("x.y[i, j + 1, 2] = 3;"), /write t\[i\]\[j \+ 1\]\[2\]$/);
    assert.match(refused("function f(a) { return () => a[0, 0]; }"), /write a\[0\]\[0\]$/);
    for (const fine of ["[0, 1]", "t[[0, 1]]", "t[(0, 1)]", "t[f(0, 1)]", "t[0], t[1]"]) {
      assert.equal(refused(fine), undefined, fine);
    }
  });

  it("refuses tuple assignment without brackets, because JavaScript assigns only the last name", () => {
    assert.equal(
      refused("1;\nq, scale = f(x)"),
      "SyntaxError in line 2: q, scale = … assigns to scale alone in JavaScript: " +
        "write [q, scale] = …, and let before it where they are new",
    );
    assert.match(refused("function f() { a, b = b, a; }"), /write \[a, b\] = …/);
    assert.match(refused("x.y, z[0] = 1;"), /write \[x\.y, z\[0\]\] = …/);
    for (const fine of ["[q, s] = f()", "q, s", "let a, b = 1", "a = 1, b = 2", "f(), b = 2"]) {
      assert.equal(refused(fine), undefined, fine);
    }
  });

  it("refuses named arguments as Python writes them, which are assignments in JavaScript", () => {
    assert.match(
      refused("1;\nf(x,\n  dim=0, dtype=torch.int8)"),
      /^SyntaxError in line 3: dim=0 assigns to dim .* write \{ dim: 0, dtype: torch\.int8 \}/,
    );
    assert.match(refused("() => t.sum(dim = 1)"), /write \{ dim: 1 \}/);
    for (const fine of [
      "f((x = 1))",
      "f(0, (x = 1))",
      "f({ x: 1 })",
      "f((x = 1) => x)",
      "f(x += 1)",
    ]) {
      assert.equal(refused(fine), undefined, fine);
    }
  });

  it("refuses arithmetic with lists, because JavaScript makes numbers and texts of them", () => {
    assert.match(refused("let s = [1] * t.dim();"), /write Array\(t\.dim\(\)\)\.fill\(1\)$/);
    assert.match(refused("2 * [0]"), /write Array\(2\)\.fill\(0\)$/);
    assert.match(refused("a + [1, 2]"), /write \[\.\.\.a, 1, 2\]$/);
    assert.equal(refused("[1] == a"), undefined);
  });

  it("refuses a line that continues the one above, where Python starts a new statement", () => {
    assert.match(
      refused("let x = 3 // three\n[q, s] = f(x)"),
      /^SyntaxError in line 2: this line goes on with the one above, because it begins with \[/,
    );
    assert.match(refused("print(x)\n(q, s)"), /line 2: .* begins with \(/);
    for (const fine of ["f(\n  x,\n)", "a[\n  0\n]", "x;\n[1]", "f(x)\n  .g()", "f\n  ?.(x)"]) {
      assert.equal(refused(fine), undefined, fine);
    }
  });

  it("reads a final property by its name, so that a missing property is reported", async () => {
    assert.deepEqual(await runCells("let a = { b: [5] }; a.b[0]", "a\n  .b;", "(a).c", "a[`c`]"), [
      5,
      [5],
      "(a) has no c",
      "a has no c",
    ]);
    assert.equal(await lastOf('(await import("numbers")).one'), 1);
    assert.equal(await lastOf("let n; n?.x"), undefined);
  });
});
