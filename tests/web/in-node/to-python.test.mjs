// The Python that the page shows: run against a stand-in of the torch functions that it calls, where Python is installed.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { init, torch } from "zeropoint/notebook";
import { isFull } from "../../../scripts/process/run.mjs";
import { fromPage } from "../from-page.mjs";

const { courseFunctions, pythonNotebook } = await fromPage("build/python/python-notebook.mjs");
const { NoPython } = await fromPage("build/python/expressions.mjs");
const { pythonOf, toPython } = await fromPage("build/python/to-python.mjs");
const { TASKS } = await fromPage("notebook/exercises/tasks.js");

const folder = new URL("../../../web/notebooks/", import.meta.url);
const runner = fileURLToPath(new URL("python/run.py", import.meta.url));
const solver = fileURLToPath(new URL("python/solve.py", import.meta.url));

/** The cells, exercises and solutions of a notebook that have Python, in their order. */
function cellsOf(name) {
  const text = readFileSync(new URL(name, folder), "utf8");
  const cells = [];
  let task;
  for (const [, info, source] of text.matchAll(/^```(\S.*)\n([\s\S]*?)\n```$/gm)) {
    const [block, id, ...tags] = info.split(" ");
    const last = cells.at(-1);
    if (block === "output") {
      const isComparable = ["stored", "torch"].includes(id) && last?.isOpen;
      if (isComparable) last.expected = source;
    }
    if (block === "js") task = id;
    if (last) last.isOpen = false;
    const code = ["js", "solution"].includes(block) ? pythonOf(source) : undefined;
    if (code === undefined) continue;
    const isExercise = task.startsWith("exercise-");
    const kind = isExercise ? "exercise" : tags.includes("skeleton") ? "skeleton" : "cell";
    const title = `${name} ${block === "solution" ? "solution of " : ""}${task}`;
    cells.push({ id: title, code, kind, expected: null, isOpen: block === "js" });
  }
  return cells;
}

const hasPython = spawnSync("python3", ["-c", ""]).status === 0;
const hasTorch = isFull && hasPython && spawnSync("python3", ["-c", "import torch"]).status === 0;

/** Runs the Python of all notebooks. */
function runAll(args, more = []) {
  const notebooks = readdirSync(folder)
    .filter((name) => /^\d.*\.md$/.test(name))
    .sort()
    .map(cellsOf);
  // The page shows this function's body in JavaScript alone; its exercise has it in Python.
  const error = notebooks[1].find(({ id }) => id.endsWith("solution of exercise-error"));
  notebooks.unshift([{ ...error, kind: "cell" }]);
  const input = JSON.stringify([...notebooks, more]);
  const { stdout, stderr } = spawnSync("python3", ["-B", runner, ...args], {
    input,
    encoding: "utf8",
  });
  // PyTorch writes warnings there.
  if (!args.includes("--torch")) assert.equal(stderr, "");
  return JSON.parse(stdout);
}

describe("The Python that the page shows", () => {
  it("runs against a stand-in of PyTorch, and prints the notebooks' outputs", {
    skip: !hasPython && "python3 is not installed",
  }, () => {
    const { ran, compared, problems } = runAll([]);
    assert.deepEqual(problems, []);
    assert.ok(ran > 200 && compared > 80, `${ran} ran, ${compared} compared`);
  });

  it("runs against PyTorch", {
    skip: !hasTorch && "for npm run check, where PyTorch is installed",
  }, () => {
    const { problems } = runAll(["--torch"]);
    assert.deepEqual(problems, []);
  });

  it("fails for wrong syntax, names, attributes and outputs", {
    skip: !hasPython && "python3 is not installed",
  }, () => {
    const wrong = [
      ["syntax", "x = ", null],
      ["name", "def f():\n    return missing", null],
      ["attribute", "def f(x):\n    return x.constructor", null],
      ["shadowed", "def f(min):\n    return min(min, 0)", null],
      ["output", "torch.tensor([1, 2])", "tensor([1, 3])"],
    ].map(([id, code, expected]) => ({ id, code, expected, kind: "cell" }));
    const { problems } = runAll([], wrong);
    const named = problems.map((each) => each.split(":")[0]);
    assert.deepEqual(named, ["syntax", "output", "name", "attribute", "shadowed"]);
  });
});

/** A value of a trial for solve.py. */
function encoded(value) {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || Number.isFinite(value)) return value;
  if (typeof value === "number") return { float: String(value) };
  if (Array.isArray(value)) return value.map(encoded);
  if (!value.tolist) return { dtype: String(value) };
  return { tensor: value.tolist(), shape: [...value.shape], dtype: String(value.dtype) };
}

/** The exercises whose solutions have Python, with the results of their references. */
function solutions() {
  const found = [];
  for (const name of readdirSync(folder).sort()) {
    const text = readFileSync(new URL(name, folder), "utf8");
    const solved = text.matchAll(
      /^```js exercise-(\S+)\n(?:(?!^```js)[\s\S])*?^```solution\n([\s\S]*?)\n```$/gm,
    );
    for (const [, id, source] of solved) {
      const code = pythonOf(source);
      const task = TASKS.find((each) => each.id === id);
      if (code === undefined) continue;
      const reference = task.make(torch, () => false);
      const trials = task.trials.map(({ label, args }) => ({
        label,
        args: args(torch).map(encoded),
        result: encoded(reference(...args(torch))),
      }));
      found.push({ number: name[0], name: task.name, code, trials });
    }
  }
  return found;
}

/** Runs solutions. */
function solve(exercises, args = []) {
  const input = JSON.stringify(exercises);
  const { stdout, stderr } = spawnSync("python3", ["-B", solver, ...args], {
    input,
    encoding: "utf8",
  });
  assert.notEqual(stdout, "", stderr);
  return JSON.parse(stdout);
}

describe("The solutions of exercises in Python", () => {
  before(async () => {
    await init();
  });

  it("are there for all exercises of the notebooks that PyTorch has", () => {
    assert.equal(solutions().filter(({ number }) => number <= "5").length, 25);
  });

  it("give what the graders' references give, on all trials", {
    skip: !hasPython && "python3 is not installed",
  }, () => {
    const { trials, problems } = solve(solutions());
    assert.deepEqual(problems, []);
    assert.ok(trials > 120, `${trials} trials`);
  });

  it("give the same in PyTorch", {
    skip: !hasTorch && "for npm run check, where PyTorch is installed",
  }, () => {
    assert.deepEqual(solve(solutions(), ["--torch"]).problems, []);
  });

  it("fail for another number, shape or dtype", {
    skip: !hasPython && "python3 is not installed",
  }, () => {
    const result = encoded(torch.tensor([1, 2]));
    const wrong = ["[1, 3]", "[[1, 2]]", "[1., 2.]"].map((values) => ({
      name: "f",
      code: `def f():\n    return torch.tensor(${values})`,
      trials: [{ label: values, args: [], result }],
    }));
    assert.equal(solve(wrong).problems.length, 3);
  });
});

describe("pythonNotebook", () => {
  const functions = courseFunctions();
  const notebooks = readdirSync(folder)
    .filter((name) => /^\d.*\.md$/.test(name))
    .sort()
    .map((name) => {
      const text = readFileSync(new URL(name, folder), "utf8");
      const skeletons = Array.from(text.matchAll(/^```js (\S+) skeleton$/gm), ([, id]) => id);
      return { name, skeletons, text: pythonNotebook(text, functions) };
    });

  it("makes a file of each notebook whose steps PyTorch has", () => {
    const made = notebooks.filter(({ text }) => text !== undefined).map(({ name }) => name[0]);
    assert.deepEqual(made, ["1", "2", "3", "4", "5"]);
  });

  for (const { name, skeletons, text } of notebooks) {
    if (text === undefined) continue;
    it(`gives ${name} cells that run by themselves and print what the file holds`, {
      skip: !hasPython && "python3 is not installed",
    }, () => {
      const { cells, nbformat } = JSON.parse(text);
      assert.equal(nbformat, 4);
      assert.ok(cells.some(({ cell_type: type }) => type === "markdown"));
      assert.equal(new Set(cells.map(({ id }) => id)).size, cells.length);
      assert.doesNotMatch(text, /\]\(#/);
      const code = cells.filter(({ cell_type: type }) => type === "code");
      for (const { source } of code) assert.doesNotMatch(source.join(""), /zeropoint/);
      const printed = code.filter(({ outputs }) => outputs.length > 0);
      const input = code.map(({ id, source, outputs }) => ({
        id,
        code: source.join(""),
        kind: skeletons.includes(id) ? "skeleton" : "cell",
        expected: outputs.length > 0 ? outputs[0].text.join("") : null,
      }));
      for (const args of hasTorch ? [[], ["--torch"]] : [[]]) {
        const { stdout } = spawnSync("python3", ["-B", runner, ...args], {
          input: JSON.stringify([input]),
          encoding: "utf8",
        });
        const { ran, compared, problems } = JSON.parse(stdout);
        assert.deepEqual(problems, []);
        assert.equal(ran, code.length);
        assert.ok(compared > 0 && compared <= printed.length, `${compared} compared`);
      }
    });
  }
});

describe("toPython", () => {
  it("gives parameters named as functions of Python that it calls an underscore", () => {
    const source = "function f(min) { return Math.min(min, 0); }";
    assert.equal(toPython(source), "def f(min_):\n    return min(min_, 0)");
    assert.equal(toPython("const least = Math.min(a, 0);"), "least = min(a, 0)");
  });

  it("writes filter and find as comprehensions", () => {
    assert.equal(
      toPython("x.filter((a, i) => a === i);"),
      "[a for i, a in enumerate(x) if a == i]",
    );
    assert.equal(toPython("x.find((a) => a > 1);"), "next((a for a in x if a > 1), None)");
  });

  it("writes orders of numbers as sorted, and no others", () => {
    assert.equal(toPython("x.sort((a, b) => b - a);"), "sorted(x, reverse=True)");
    assert.equal(toPython("x.sort((a, b) => a - b);"), "sorted(x)");
    assert.throws(() => toPython("x.sort((a, b) => y[b] - y[a]);"), NoPython);
    assert.throws(() => toPython("x.sort();"), NoPython);
  });

  it("writes the limits of a dtype by name, and other properties not", () => {
    assert.equal(
      toPython("const { min, max: q_max } = torch.iinfo(dtype); x.clamp(min, q_max);"),
      "info = torch.iinfo(dtype)\nmin_, q_max = info.min, info.max\nx.clamp(min_, q_max)",
    );
    assert.throws(() => toPython("const { scale } = q;"), NoPython);
    assert.throws(() => toPython("const { ...all } = torch.iinfo(dtype);"), NoPython);
    assert.throws(() => toPython("let info; const { min } = torch.iinfo(dtype);"), NoPython);
  });

  it("writes a variable that is a function with a body as a function", () => {
    assert.equal(
      toPython("const f = (a, b = 2) => {\n  const c = a + b;\n  return c;\n};"),
      "def f(a, b=2):\n    c = a + b\n    return c",
    );
  });

  it("leaves out the comment above an import", () => {
    const source = 'import { torch } from "zeropoint/notebook"; // here\n\n// A scale.\nlet s = 1;';
    assert.equal(
      toPython(`// A module of this page.\n${source}`),
      "import torch  # here\n\n# A scale.\ns = 1",
    );
  });

  it("writes the name of a value's class", () => {
    assert.equal(toPython("print(obs.constructor.name);"), "print(type(obs).__name__)");
  });

  it("has no counterpart of functions that only zeropoint has", () => {
    assert.throws(() => toPython("const dynamic = quantizeDynamic(model);"), NoPython);
    assert.equal(toPython("throw new RangeError(text);"), "raise ValueError(text)");
  });
});
