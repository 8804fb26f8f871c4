// The exercises on the page: solved, failed, helped and kept.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { fromPage } from "./from-page.mjs";
import { WRONG } from "./in-node/exercises/wrong.mjs";
import { click, enter, openPage, press, textOf, waitFor } from "./page.mjs";
import { browser, site } from "./site-and-browser.mjs";

const { taskOf } = await fromPage("notebook/exercises/tasks.js");

const folder = new URL("../../web/notebooks/", import.meta.url);
const NOTEBOOKS = readdirSync(folder)
  .filter((name) => /^\d.*\.md$/.test(name))
  .sort()
  .map((name) => ({
    id: name.replace(/^\d+-|\.md$/g, ""),
    exercises: exercisesIn(readFileSync(new URL(name, folder), "utf8")),
  }));

/** @param {string} text */
function exercisesIn(text) {
  const found = /```js exercise-(\S+)\n(.*?)\n```.*?```solution\n(.*?)\n```/gs;
  return [...text.matchAll(found)].map(([, id, starter, solution]) => ({ id, starter, solution }));
}

/** @type {Awaited<ReturnType<typeof openPage>>} */
let opened;
/** @type {import("puppeteer-core").Page} */
let page;

/** Goes to a notebook, whose exercises have the given code, or their own. */
async function openNotebook(id, sources = []) {
  await page.evaluate(
    (notebook, kept) => {
      localStorage.clear();
      const prefix = `zeropoint-code ${new URL(".", document.baseURI).pathname} `;
      for (const { id, starter, source } of kept) {
        const text = JSON.stringify({ original: starter, source });
        localStorage.setItem(`${prefix}${notebook}-exercise-${id}`, text);
      }
      // Without a hashchange event: a reload would end the loading of the view, which Firefox reports.
      history.replaceState(null, "", `#${notebook}`);
    },
    id,
    sources,
  );
  await page.reload();
  await page.waitForSelector(`#${id} .exercise-progress`);
}

const exercise = (notebook, id) => `#${notebook}-exercise-${id}`;

/** Checks an exercise; gives the text of the verdict. */
async function check(selector) {
  await page.$eval(selector, (each) => {
    delete each.dataset.verdict;
  });
  await page.$eval(`${selector} [data-action="check"]`, (button) => button.click());
  await page.waitForSelector(`${selector}[data-verdict]`);
  return textOf(page, `${selector} .exercise-verdict p`);
}

describe("Exercises", () => {
  before(async () => {
    opened = await openPage(browser, site.url);
    page = opened.page;
  });
  after(() => opened?.close());

  for (const { id, exercises } of NOTEBOOKS) {
    it(`of ${id} ask for the reader's code, name a mistake, and pass with the notebook's solutions`, async () => {
      await openNotebook(id);
      for (const { id: task } of exercises) {
        assert.equal(await check(exercise(id, task)), "Replace ___ by your own code first.");
      }
      assert.match(
        await textOf(page, `#${id} .exercise-progress`),
        new RegExp(`^0 of ${exercises.length} solved`),
      );
      const mistakes = exercises.map((each) => {
        const [mistake, expression] = Object.entries(WRONG[each.id])[0];
        const { name, mistakes } = taskOf(each.id);
        return { ...each, source: `const ${name} = ${expression};`, text: mistakes[mistake] };
      });
      await openNotebook(id, mistakes);
      for (const { id: task, text } of mistakes) {
        const verdict = await check(exercise(id, task));
        assert.ok(verdict.startsWith(text), `${task}: ${verdict}`);
      }
      const sources = exercises.map((each) => ({ ...each, source: each.solution }));
      await openNotebook(id, sources);
      for (const { id: task } of exercises) {
        assert.match(await check(exercise(id, task)), /^Right: all \d+ tests give the same\.$/);
      }
      assert.match(
        await textOf(page, `#${id} .exercise-progress`),
        new RegExp(`^${exercises.length} of ${exercises.length} .* of 34`),
      );
      assert.deepEqual(await opened.problems(), []);
    });
  }

  it("name the mistake and show the first test that differs", async () => {
    const { id, exercises } = NOTEBOOKS[0];
    const source = "function scale_and_shift(x, s, z) {\n  return x.div(s).sub(z);\n}";
    await openNotebook(id, [{ ...exercises[0], source }]);
    const selector = exercise(id, "steps");
    assert.match(await check(selector), /^It subtracts the zero point\./);
    assert.match(await textOf(page, `${selector} .exercise-verdict pre`), /^Test 1 of 3/);
  });

  it("end a loop without an end", async () => {
    const { id, exercises } = NOTEBOOKS[0];
    const source = "function scale_and_shift() {\n  for (;;) {}\n}";
    await openNotebook(id, [{ ...exercises[0], source }]);
    assert.match(await check(exercise(id, "steps")), /^It did not end within 10 seconds/);
  });

  it("give the second hint after the first, and the solution after a try", async () => {
    const { id } = NOTEBOOKS[0];
    await openNotebook(id);
    const selector = exercise(id, "steps");
    const shown = () =>
      page.$$eval(`${selector} .exercise-help > details`, (all) =>
        all.map((each) => each.checkVisibility()),
      );
    assert.deepEqual(await shown(), [true, false, false]);
    await click(page, `${selector} .exercise-hint summary`);
    await waitFor(
      page,
      (at) => document.querySelectorAll(`${at} .exercise-hint:not([hidden])`).length === 2,
      selector,
    );
    assert.deepEqual(await shown(), [true, true, false]);
    await check(selector);
    assert.deepEqual(await shown(), [true, true, true]);
  });

  it("are edited in place, and start again", async () => {
    const { id } = NOTEBOOKS[0];
    await openNotebook(id);
    const selector = exercise(id, "steps");
    await page.focus(`${selector} .exercise-code pre`);
    await page.waitForSelector(`${selector} .editor`);
    await waitFor(
      page,
      (at) => document.querySelector(`${at} .editor`) === document.activeElement,
      selector,
    );
    await press(page, "Mod+a");
    await enter(page, "const scale_and_shift = (x, s, z) => x.div(s).add(z);");
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${selector}[data-verdict="right"]`);
    await page.reload();
    await page.waitForSelector(`${selector}[data-solved]`);
    await click(page, `${selector} [data-action="reset-exercise"]`);
    assert.equal(await check(selector), "Replace ___ by your own code first.");
  });

  it("keep the progress in a file, which adds to that of another browser", async () => {
    const { id } = NOTEBOOKS[0];
    await openNotebook(id);
    const solved = (...ids) =>
      JSON.stringify({ solved: Object.fromEntries(ids.map((each) => [each, "2026-01-31"])) });
    const keep = async (text) => {
      await page.evaluate((value) => {
        const key = `zeropoint-exercises ${new URL(".", document.baseURI).pathname}`;
        localStorage.setItem(key, value);
      }, text);
      await page.reload();
      await page.waitForSelector(`#${id} .exercise-progress`);
    };
    await keep(solved("steps", "codes"));
    const begins = (text) =>
      waitFor(
        page,
        (at, start) => document.querySelector(at).textContent.startsWith(start),
        `#${id} .exercise-progress`,
        text,
      );
    await begins("2 of 5 solved in this notebook, 2 of 34 in the course.");
    await page.evaluate(() => {
      URL.createObjectURL = (blob) => {
        blob.text().then((text) => (window.exported = text));
        return "about:blank#exported";
      };
      HTMLAnchorElement.prototype.click = () => {};
    });
    await page.focus(`#${id} [data-action="export-progress"]`);
    await press(page, "Enter");
    await waitFor(page, () => window.exported !== undefined);
    const text = await page.evaluate(() => window.exported);
    assert.deepEqual(JSON.parse(text), {
      format: "zeropoint-exercises",
      version: 1,
      ...JSON.parse(solved("steps", "codes")),
    });

    await keep(solved("values"));
    const choose = (content) =>
      page.$eval(
        `#${id} .exercise-progress input[type="file"]`,
        (input, written) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([written], "zeropoint-exercises.json"));
          input.files = transfer.files;
          input.dispatchEvent(new Event("change"));
        },
        content,
      );
    await choose(text);
    await begins("3 of 5 solved in this notebook, 3 of 34 in the course.");
    await choose('{"solved":{"range":"2026-01-31"}}');
    await choose("no JSON");
    await begins("3 of 5 solved in this notebook, 3 of 34 in the course.");
    await page.evaluate(() => localStorage.clear());
  });
});
