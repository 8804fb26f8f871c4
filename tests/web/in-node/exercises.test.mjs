import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { display, init, round, torch } from "zeropoint/notebook";
import { fromPage } from "../from-page.mjs";
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
      for (const expression of RIGHT[id]) {
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
    assert.match(text, /^It throws TypeError: .*dividedBy/);
  });

  it("says that a function is missing", () => {
    assert.match(grade(taskOf("steps"), undefined, torch, display).text, /scale_and_shift/);
  });

  it("says that an argument was changed", () => {
    const code = asCode("steps", "(x, s, z) => x.div_(s).add_(z)");
    assert.deepEqual(gradeOf("steps", code).mistakes, ["changes its argument"]);
  });

  it("says that a shape or a dtype is another one", () => {
    const shape = asCode("steps", "(x, s, z) => x.div(s).add(z).flatten()");
    assert.match(gradeOf("steps", shape).text, /another shape/);
    const dtype = asCode("steps", "(x, s, z) => x.div(s).add(z).double()");
    assert.match(gradeOf("steps", dtype).text, /another dtype/);
    const kind = asCode("steps", "(x, s, z) => x.div(s).add(z).tolist()");
    assert.match(gradeOf("steps", kind).text, /another kind/);
  });
});
