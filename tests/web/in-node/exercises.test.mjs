import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { display, init, round, torch } from "zeropoint/notebook";
import { fromPage } from "../from-page.mjs";
import { COMBINED } from "./exercises/combined.mjs";
import { OTHERWISE } from "./exercises/otherwise.mjs";
import { RIGHT } from "./exercises/right.mjs";
import { WRONG } from "./exercises/wrong.mjs";

const { grade } = await fromPage("notebook/exercises/grade.js");
const { TASKS, taskOf } = await fromPage("notebook/exercises/tasks.js");

await init();

const folder = new URL("../../../web/notebooks/", import.meta.url);

/** The exercises of the notebooks: starting code and solution, by id. */
function exercisesOfNotebooks() {
  const texts = readdirSync(folder)
    .filter((name) => /^\d.*\.md$/.test(name))
    .sort()
    .map((name) => readFileSync(new URL(name, folder), "utf8"));
  const found = /```js exercise-(\S+)\n(.*?)\n```.*?```solution\n(.*?)\n```/gs;
  return texts.flatMap((text) =>
    [...text.matchAll(found)].map(([, id, starter, solution]) => ({ id, starter, solution })),
  );
}

const exercises = exercisesOfNotebooks();

/** Runs code that declares the function of a task, as the page's worker does. */
function functionOf(task, code) {
  const run = new Function("torch", "round", `"use strict"; ${code}\nreturn ${task.name};`);
  return run(torch, round);
}

const gradeOf = (id, code) => {
  const task = taskOf(id);
  return grade(task, functionOf(task, code), torch, display);
};

/** An answer that is an expression for the function. */
const asCode = (id, expression) => `const ${taskOf(id).name} = ${expression};`;

describe("exercises", () => {
  it("are five in each of the first six notebooks, one in notebook 7 and three in notebook 8, in the order of their tasks", () => {
    assert.equal(exercises.length, 34);
    assert.deepEqual(
      exercises.map(({ id }) => id),
      TASKS.map(({ id }) => id),
    );
  });

  for (const { id, starter, solution } of exercises) {
    it(`${id}: the solution of the notebook passes`, () => {
      const { passed, text, detail } = gradeOf(id, solution);
      assert.ok(passed, `${text}\n${detail}`);
    });

    it(`${id}: the starting code asks for the reader's own`, () => {
      assert.deepEqual(gradeOf(id, starter).mistakes, ["placeholder"]);
    });

    it(`${id}: other right answers pass`, () => {
      assert.ok(RIGHT[id].length >= 2);
      for (const expression of [...RIGHT[id], ...(OTHERWISE[id] ?? [])]) {
        const { passed, text, detail } = gradeOf(id, asCode(id, expression));
        assert.ok(passed, `${expression}: ${text}\n${detail}`);
      }
    });
  }

  it("have more than a hundred planted wrong answers", () => {
    assert.ok(Object.values(WRONG).flatMap(Object.keys).length >= 100);
  });

  for (const [id, answers] of Object.entries(WRONG)) {
    for (const [mistake, expression] of Object.entries(answers)) {
      it(`${id}: names the mistake ${mistake}`, () => {
        const { passed, text, mistakes, detail } = gradeOf(id, asCode(id, expression));
        assert.equal(passed, false);
        assert.deepEqual(mistakes, [mistake], `${text}\n${detail}`);
        assert.ok(text.startsWith(taskOf(id).mistakes[mistake]));
      });
    }
  }
});

describe("wrong answers written in other ways", () => {
  for (const [id, expected, expression] of COMBINED) {
    it(`${id}: names ${expected.join(" and ")}: ${expression.slice(0, 60)}`, () => {
      const { passed, mistakes, text, detail } = gradeOf(id, asCode(id, expression));
      assert.equal(passed, false);
      assert.deepEqual(mistakes, expected, `${text}\n${detail}`);
    });
  }
});

describe("grade", () => {
  for (const task of TASKS) {
    it(`${task.id}: tells all of its mistakes from each other`, () => {
      assert.ok(
        grade(
          task,
          task.make(torch, () => false),
          torch,
          display,
        ).passed,
      );
      for (const mistake of Object.keys(task.mistakes)) {
        const wrong = task.make(torch, (name) => name === mistake);
        assert.deepEqual(grade(task, wrong, torch, display).mistakes, [mistake]);
      }
    });
  }

  it("names two mistakes that come together", () => {
    const wrong = asCode(
      "codes",
      "(x, s, z, d = torch.int8) => torch.trunc(x.div(s).sub(z)).clamp(torch.iinfo(d).min, torch.iinfo(d).max).to(d)",
    );
    assert.deepEqual(gradeOf("codes", wrong).mistakes, ["truncate", "sign"]);
  });

  it("shows the first test that differs where it knows no mistake", () => {
    const { passed, mistakes, text, detail } = gradeOf("range", asCode("range", "() => [1, 2]"));
    assert.equal(passed, false);
    assert.deepEqual(mistakes, []);
    assert.match(text, /^Not right yet/);
    assert.match(detail, /^Test 1 of 4: scale 3\.5, zero point -70\.\nexpected: \[-203/);
    assert.match(detail, /yours: {4}\[1, 2\]$/);
  });

  it("says that a function returns nothing", () => {
    assert.match(gradeOf("steps", asCode("steps", "() => {}")).text, /is there a return\?/);
  });

  it("says what a function throws", () => {
    const { text } = gradeOf("steps", asCode("steps", "(x) => x.dividedBy(2)"));
    assert.match(text, /^It throws AttributeError: .*dividedBy/);
  });

  it("says that a function is missing", () => {
    assert.match(grade(taskOf("steps"), undefined, torch, display).text, /scale_and_shift/);
  });

  it("says that an argument was changed", () => {
    const code = asCode("steps", "(x, s, z) => x.div_(s).add_(z)");
    assert.deepEqual(gradeOf("steps", code).mistakes, ["changes its argument"]);
  });

  for (const [what, id, answer, text] of [
    [
      "a shape",
      "steps",
      "(x, s, z) => x.div(s).add(z).flatten()",
      /^It has the shape \[9\], and must have \[3, 3\]/,
    ],
    [
      "a dtype",
      "steps",
      "(x, s, z) => x.div(s).add(z).double()",
      /^It has the dtype torch.float64, and must have torch.float32/,
    ],
    [
      "a list",
      "steps",
      "(x, s, z) => x.div(s).add(z).tolist()",
      /^It returns a list; the result must be a float tensor: torch.tensor\(list\)/,
    ],
    ["a text", "steps", "(x, s, z) => String(x.div(s).add(z))", /^It returns a text/],
    [
      "a Promise",
      "steps",
      "async (x, s, z) => x.div(s).add(z)",
      /^It is a Promise: leave out async/,
    ],
    [
      "a tensor for a number",
      "symmetric-scale",
      "(x, d = torch.int8) => x.abs().max().div(torch.iinfo(d).max)",
      /^It returns a tensor; the result must be a number: \.item\(\)/,
    ],
    ["an object", "range", "() => ({ lowest: 1, highest: 2 })", /^It returns an object/],
    [
      "one number",
      "range",
      "() => 1",
      /^It returns a number; the result must be \[lowest, highest\]/,
    ],
    ["three things", "range", "() => [1, 2, 3]", /^It returns 3 things/],
    [
      "a tensor in a list",
      "symmetric",
      `(x, d = torch.int8) => {
        const s = x.abs().max().div(torch.iinfo(d).max);
        return [x.div(s).round().to(d), s];
      }`,
      /^Item 1 of its result is a tensor, and must be a number/,
    ],
    ["NaN", "range", "(s, z, d) => [s * torch.iinfo(d).mn, 1]", /^Item 0 of its result has NaN/],
  ]) {
    it(`says how a result is of another kind: ${what}`, () => {
      const grade = gradeOf(id, asCode(id, answer));
      assert.equal(grade.passed, false);
      assert.match(grade.text, text);
    });
  }

  it("does not count the order of rounding where steps cancel", () => {
    const code = asCode(
      "steps",
      "(x, s, z) => torch.tensor(x.flatten().tolist().map((v) => v / s + z)).reshape([...x.shape])",
    );
    assert.ok(gradeOf("steps", code).passed);
  });
});

describe("progress", () => {
  it("lasts until the page is closed where nothing can be stored", async () => {
    const refuse = () => {
      throw new Error("storage is forbidden");
    };
    const globals = {
      document: { baseURI: "https://example.org/" },
      localStorage: { getItem: refuse, setItem: refuse },
    };
    for (const [name, value] of Object.entries(globals)) {
      Object.defineProperty(globalThis, name, { value, configurable: true });
    }
    const { keepSolved, solvedExercises } = await fromPage("notebook/exercises/progress.js");
    keepSolved("steps");
    keepSolved("codes");
    assert.deepEqual([...solvedExercises().keys()], ["steps", "codes"]);
    for (const name of Object.keys(globals)) Reflect.deleteProperty(globalThis, name);
  });
});
