// How long the tasks of the page's thread are while a view opens, in processor time by a fixed loop: other programs and
// slow machines do not matter. The goal is 50 ms where the processor is 4 times as slow as the reference machine's.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { root } from "../../../scripts/process/run.mjs";
import { chromiumOnly, openPage } from "../page.mjs";
import { LOOP, NOISE, traceTasks } from "../processor-time.mjs";
import { EMPTY_PATH } from "../serve.mjs";
import { browser, site } from "../site-and-browser.mjs";
import { NOTEBOOKS } from "./views.mjs";

const RUNS = 3;

/**
 * Elements of the page's largest notebook, and times that it is laid out while it opens: one for each of its pieces and
 * of its cells.
 */
const OF_NOTEBOOKS = [6000, 190];

/** The only task that is longer than the goal: the first frame of a new process loads fonts. */
const FIRST_FRAME = 24;

/**
 * Views in the order in which they are opened: what works in them, elements of the view, times that the page is laid out,
 * and the overview's bound in the place of the goal.
 */
const VIEWS = {
  overview: [
    ".is-live #overview[data-current] [data-figure] form:not([hidden])",
    ...[1000, 20, FIRST_FRAME],
  ],
  ...Object.fromEntries(
    NOTEBOOKS.map((id) => [id, [`#${id}[data-current] .toolbar:not([hidden])`, ...OF_NOTEBOOKS]]),
  ),
  play: ["#play .play[data-complete]", 1500, 30],
  lab: [".view[data-current] .lab:not([hidden])", 400, 20],
  search: ["#search[data-current] canvas", 400, 20],
  measure: ["#measure[data-current] .measure:not([hidden])", 3000, 50],
  api: ["main", 5000, 50],
};

const HAS_API = existsSync(join(root, "dist", "web", "api"));

describe("While a view opens", chromiumOnly("trace its tasks"), () => {
  /** What each run found, by view. */
  const found = Object.fromEntries(Object.keys(VIEWS).map((id) => [id, []]));

  /** A first visit of the page: nothing is stored, no script compiled. Opens one view after the other. */
  async function visitAll() {
    const { origin } = new URL(site.url);
    const visit = await openPage(browser, origin + EMPTY_PATH, { isFirst: true, isLive: false });
    const { page } = visit;
    for (const [id, [ready]] of Object.entries(VIEWS)) {
      if (id === "api" && !HAS_API) continue;
      const traced = await traceTasks(page, async () => {
        if (id === "overview") await page.goto(site.url);
        else if (id === "api") await page.goto(`${site.url}api/index.html`);
        else {
          await page.evaluate((hash) => {
            location.hash = hash;
          }, id);
        }
        await page.waitForSelector(ready);
        await page.waitForNetworkIdle({ idleTime: 300 });
      });
      const elements = await page.evaluate(
        () =>
          (document.querySelector(".view[data-current]") ?? document).querySelectorAll("*").length,
      );
      found[id].push({ longest: traced.tasks[0].time, elements, ...traced });
    }
    await visit.close();
  }

  before(async () => {
    for (let run = 0; run < RUNS; run++) await visitAll();
  });

  for (const [id, [, mostElements, mostLayouts, most = LOOP]] of Object.entries(VIEWS)) {
    it(`${id} has no task above its bound, and makes and lays out no more than before`, (test) => {
      const runs = found[id];
      if (runs.length === 0) return test.skip("the API reference is not built");
      const times = runs.map(({ longest }) => longest);
      const shown = times.map((time) => time.toFixed(1)).join(", ");
      // Neighbours only add to it.
      assert.ok(Math.min(...times) <= NOISE * most, `${shown} ms`);
      const { elements, layouts } = runs[0];
      assert.ok(elements <= mostElements, `${elements} elements`);
      assert.ok(layouts <= mostLayouts, `laid out ${layouts} times`);
    });
  }
});
