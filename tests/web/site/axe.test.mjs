// Accessibility of every view after a run, checked by axe: by all rules in the light theme, by those of colour in the dark
// one. Before a run, a notebook differs only by what it lacks, so that one view of each kind is enough.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { axeViolations, onceForAll, RULES_OF_COLOUR } from "../axe.mjs";
import {
  click,
  clickInto,
  emulate,
  enter,
  openNotebook,
  openPage,
  press,
  runAll,
} from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";
import { fetchAll, NOTEBOOKS, show, VIEWS } from "./views.mjs";

/** Whether axe finds nothing in the page as it is: by all rules in the light theme, by those of colour in the dark one. */
async function findsNothing(page, what) {
  // Without motion, colours do not pass from one theme to the other.
  await emulate(page, { colorScheme: "light", reducedMotion: "reduce" });
  assert.deepEqual(await axeViolations(page), [], `${what}, light`);
  await emulate(page, { colorScheme: "dark", reducedMotion: "reduce" });
  assert.deepEqual(await axeViolations(page, RULES_OF_COLOUR), [], `${what}, dark`);
}

describe("axe finds nothing in either theme", () => {
  it("before a run", onceForAll, async () => {
    const { page, close } = await openPage(browser, site.url);
    await findsNothing(page, "overview");
    await openNotebook(page, NOTEBOOKS[0]);
    await findsNothing(page, NOTEBOOKS[0]);
    await close();
  });

  it("after a run of any view", onceForAll, async () => {
    for (const view of VIEWS) {
      // A page of one view each: axe also goes through the elements of hidden ones.
      const { page, close } = await openPage(browser, site.url);
      await show(page, view);
      await findsNothing(page, view);
      await close();
    }
  });

  it("on errors and differences", onceForAll, async () => {
    const { page, close } = await openPage(browser, site.url);
    await openNotebook(page, NOTEBOOKS[0]);
    // Without the cells before it, this cell fails; without its minus sign, the scale differs.
    await click(page, '[id="quantize-and-dequantize-cell-6"] button.run');
    await page.waitForSelector('[id="quantize-and-dequantize-cell-6"] .cell-error');
    const cell = '[id="quantize-and-dequantize-cell-4"]';
    await clickInto(page, cell);
    await press(page, "Mod+a");
    await enter(page, "let scale = 3.6; let zero_point = -70;");
    await runAll(page);
    await page.waitForSelector('[data-verdict="differs"] .difference');
    await findsNothing(page, "errors");
    await close();
  });
});

describe("Text alternatives of drawings", () => {
  it("write minus as the drawings do", async () => {
    const visit = await openPage(browser, site.url);
    await fetchAll(visit.page);
    const hyphens = await visit.page.$$eval("[role='img'][aria-label]", (drawings) =>
      drawings
        .map((each) => each.getAttribute("aria-label"))
        .filter((text) => /(^|\s)-\d/.test(text)),
    );
    assert.deepEqual(hyphens, []);
    await visit.close();
  });
});
