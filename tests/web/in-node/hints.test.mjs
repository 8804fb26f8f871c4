// Hints of a cell about the cause of an error; no browser needed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromPage } from "../from-page.mjs";

const { adviceOnCall, hint, nearest } = await fromPage("notebook/cell/hints.js");

const CELLS = [
  { label: "Cell 1", source: 'import { torch, linear_q as q } from "zeropoint/notebook";' },
  {
    label: "Cell 2",
    source: "function linear(x) { return x; }\nconst [scale, rest] = [1, 2], more = 3;",
  },
];

/** The hint for a name that is not defined. */
function missing(name, source = `1 + ${name}`) {
  const cell = { label: "Cell 3", source };
  const error = { name: "ReferenceError", message: `${name} is not defined`, line: 1 };
  return hint(error, cell, [...CELLS, cell]);
}

describe("hint, for a name that is not defined", () => {
  it("names the cell that imports or declares it", () => {
    assert.equal(missing("torch"), "Cell 1 defines it: has it been run?");
    assert.equal(missing("q"), "Cell 1 defines it: has it been run?");
    assert.equal(missing("linear"), "Cell 2 defines it: has it been run?");
    assert.equal(missing("rest"), "Cell 2 defines it: has it been run?");
    assert.equal(missing("more"), "Cell 2 defines it: has it been run?");
  });

  it("reports a definition further down in the same cell", () => {
    assert.match(missing("late", "late + 1;\nlet late = 1;"), /^This cell defines it, but further/);
  });

  it("suggests similar names of the notebook and of every cell", () => {
    assert.equal(missing("sclae"), "Did you mean scale?");
    assert.equal(missing("prnt"), "Did you mean print?");
    assert.equal(missing("Torch"), "Did you mean torch?");
    assert.equal(missing("z"), "No cell of this notebook defines it.");
    assert.equal(missing("$odd"), "No cell of this notebook defines it.");
  });

  it("knows Python's words", () => {
    assert.equal(missing("None"), "JavaScript writes null");
    assert.equal(missing("len"), "JavaScript writes x.length");
    assert.equal(missing("enumerate"), "JavaScript writes list.entries()");
    assert.equal(missing("del", "del(x)"), "JavaScript writes x = undefined");
  });

  it("asks for a declaration, which Python does not need", () => {
    const instead = "JavaScript declares a name first: let a = …";
    assert.equal(missing("a", "a = [1, 2];\na"), instead);
    assert.equal(missing("a", "let b = 1;\n  a = b;"), instead);
    assert.match(missing("a", "a = 1;\nlet a;"), /further down/);
    assert.match(missing("a", "if (a == 1) print(2);"), /^No cell/);
  });

  it("asks for the declaration of a loop's name, too, and knows torch's names", () => {
    const instead = "JavaScript declares a name first: for (let i …";
    assert.equal(missing("i", "for (i of [1, 2]) print(i);"), instead);
    assert.equal(missing("i", "for (i = 0; i < 2; i++) print(i);"), instead);
    const error = { name: "ReferenceError", message: "int8 is not defined", inTorch: true };
    assert.equal(hint(error, CELLS[0], CELLS), "Did you mean torch.int8?");
  });

  it("understands the messages of Firefox and Safari", () => {
    const cell = { label: "Cell 3", source: "a = [1, 2];" };
    for (const message of ["assignment to undeclared variable a", "Can't find variable: a"]) {
      assert.equal(
        hint({ name: "ReferenceError", message, line: 1 }, cell, [...CELLS, cell]),
        "JavaScript declares a name first: let a = …",
      );
    }
  });

  it("suggests the worker's similar name, with two letters swapped too", () => {
    const error = { name: "TypeError", message: "x.dvi is not a function", near: "div" };
    assert.equal(hint(error, CELLS[0], CELLS), "Did you mean div?");
    assert.equal(nearest("dvi", ["dim", "div", "add"]), "div");
    assert.equal(
      nearest("quantise_per_tensor", ["tensor", "quantize_per_tensor"]),
      "quantize_per_tensor",
    );
    assert.equal(nearest("xyz", ["dim", "div", "add"]), "");
  });

  it("recognizes an import of Python by the line above the error", () => {
    const cell = { label: "Cell 3", source: "import torch\nx = torch.tensor([1])" };
    const error = { name: "SyntaxError", message: "Unexpected token", line: 2 };
    assert.match(hint(error, cell, CELLS), /^JavaScript writes import \{ torch \} from/);
  });

  it("reports that cells connect to no address, and make no code of text", () => {
    const aboutMissing = (name) =>
      hint({ name: "ReferenceError", message: `${name} is not defined` }, CELLS[0], CELLS);
    for (const name of ["fetch", "XMLHttpRequest", "WebSocket", "EventSource"]) {
      assert.match(aboutMissing(name), /they connect to no address. Paste the data/);
    }
    assert.equal(aboutMissing("eval"), "Cells have no eval: write the code in a cell.");
  });

  it("prefers the name with the same capitals", () => {
    assert.equal(nearest("tensr", ["Tensor", "tensor"]), "tensor");
  });

  it("reports that cells run in a worker", () => {
    assert.equal(missing("document"), "Cells run in a worker, which has no document.");
    assert.equal(
      missing("localStorage"),
      "Cells have no localStorage: nothing that a cell does outlives its notebook.",
    );
  });
});

describe("adviceOnCall", () => {
  class Tensor {
    shape = [2];
    mean() {}
    item() {}
  }
  const advice = (method, owner) => adviceOnCall("x", method, owner, Tensor);

  it("tells values from functions", () => {
    assert.equal(
      advice("shape", new Tensor()),
      "x.shape is a value and no function: write it without ().",
    );
    assert.equal(
      advice("max", () => {}),
      "x is a function: write x()",
    );
  });

  it("reports a value that is no tensor", () => {
    assert.equal(advice("item", 3), "x is a number and no tensor.");
    assert.equal(advice("mean", [1]), "x is a list and no tensor.");
    assert.equal(advice("mean", {}), "x is an object and no tensor.");
  });

  it("translates methods of Python's values", () => {
    assert.equal(advice("append", []), "JavaScript writes list.push(x)");
    assert.equal(advice("upper", "a"), "JavaScript writes text.toUpperCase()");
  });

  it("else suggests a similar method, of a tensor if the value is not known", () => {
    assert.equal(advice("maen", new Tensor()), "Did you mean mean?");
    assert.equal(advice("maen", undefined), "Did you mean mean?");
    assert.equal(advice("zzzz", undefined), "");
  });
});

describe("hint, for a promise", () => {
  it("reports the place of the missing await", () => {
    const error = { name: "TypeError", message: "q.add is not a function", promise: "q" };
    assert.equal(hint(error, CELLS[0], CELLS), "q is a Promise: write await before what makes it.");
  });
});

describe("hint, for the grammar", () => {
  const refused = (source, line) =>
    hint({ name: "SyntaxError", message: "Unexpected", line }, { label: "Cell 1", source }, []);

  it("translates a line of Python to JavaScript", () => {
    assert.equal(refused("1;\n# comment", 2), "JavaScript writes // a comment");
    assert.match(refused("def f(x):", 1), /function f\(x\)/);
    assert.match(refused("import torch", 1), /import \{ torch \}/);
    assert.match(refused("for i in y:", 1), /for \(const/);
    assert.match(refused("if x:", 1), /if \(/);
    assert.match(refused("elif x:", 1), /else if \(/);
    assert.match(refused("while True:", 1), /while \(/);
    assert.match(refused("const q, scale = f(x);", 1), /const \[a, b\] = f\(\);/);
    assert.match(refused("!pip install torch", 1), /nothing here/);
  });

  it("translates slices", () => {
    for (const source of ["t[1:2]", "t[0][:2]", "f(x)[1:]", "t[:, 0]"]) {
      assert.match(refused(source, 1), /t\.get\("1:3"/, source);
    }
    for (const source of ["a[i] ? b : c :", "[{ a: 1 }", "f([x ? y : z)", "a[x ? y : z"]) {
      assert.equal(refused(source, 1), "", source);
    }
  });

  it("translates Python's words inside a line", () => {
    assert.match(refused('f"scale: {s}"', 1), /`text with \$\{x\}`/);
    assert.match(refused("y = [f(x) for x in xs]", 1), /list\.map/);
    assert.match(refused("if (not x) print(1)", 1), /!x/);
    assert.match(refused("x > 1 and x < 3", 1), /x && y/);
    assert.match(refused("f = lambda x: x", 1), /=>/);
    assert.match(refused("x is None", 1), /===/);
    assert.match(refused("y = 1 if x else 2", 1), /\? x : y/);
    assert.match(refused("let x = 1;  # one", 1), /\/\/ a comment/);
    assert.match(refused("else:", 1), /\{ … \}/);
  });

  it("translates statements and the operator that JavaScript lacks", () => {
    assert.equal(refused("y = a @ b", 1), "JavaScript writes a.matmul(b)");
    assert.match(refused("f(a)@b.t()", 1), /a\.matmul\(b\)/);
    assert.equal(refused("del x", 1), "JavaScript writes x = undefined");
    assert.equal(refused("delete x;", 1), "JavaScript writes x = undefined");
    assert.equal(refused("  del a.b", 1), "JavaScript writes delete x.name");
    assert.equal(refused("del d['k']", 1), "JavaScript writes delete x.name");
    assert.match(refused('raise ValueError("no")', 1), /throw new Error/);
    assert.match(refused("assert x == 1", 1), /throw new Error/);
    assert.match(refused("global x", 1), /a function sees/);
    for (const source of ['let x = "a@b" 1', "let del 1", "x = 1 // a @ b )"]) {
      assert.equal(refused(source, 1), "", source);
    }
  });

  it("ignores words in texts and comments, and JavaScript's words", () => {
    assert.equal(refused('print("this is not it" 1)', 1), "");
    assert.equal(refused("let x = ; // and not y", 1), "");
    assert.equal(refused("if (x) y(; else z()", 1), "");
  });

  it("ignores other lines, and other errors", () => {
    assert.equal(refused("1 +* 2", 1), "");
    assert.equal(refused("for (let i = 0; i < 2; i++", 1), "");
    assert.equal(hint({ name: "TypeError", message: "no" }, CELLS[0], CELLS), "");
  });
});
