// Accessibility of every view after a run, checked by axe: by all rules in the light theme, by those of colour in the dark
// one. Before a run, a notebook differs only by what it lacks, so that one view of each kind is enough.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { axeViolations, onceForAll, RULES_OF_COLOUR } from "../axe.mjs";
import { click, clickInto, enter, openNotebook, openPage, press, runAll } from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";
import { fetchAll, NOTEBOOKS, show, VIEWS } from "./views.mjs";

/** The rules for each theme; undefined: all. */
const THEMES = { light: undefined, dark: RULES_OF_COLOUR };

describe("axe", () => {
  for (const [colorScheme, rules] of Object.entries(THEMES)) {
    it(`finds nothing in the ${colorScheme} theme before a run`, onceForAll, async () => {
      const visit = await openPage(browser, site.url, { colorScheme });
      assert.deepEqual(await axeViolations(visit.page, rules), [], "overview");
      await openNotebook(visit.page, NOTEBOOKS[0]);
      assert.deepEqual(await axeViolations(visit.page, rules), [], NOTEBOOKS[0]);
      await visit.close();
    });

    it(
      `finds nothing in the ${colorScheme} theme after a run of any view`,
      onceForAll,
      async () => {
        const visit = await openPage(browser, site.url, { colorScheme });
        for (const view of VIEWS) {
          await show(visit.page, view);
          assert.deepEqual(await axeViolations(visit.page, rules), [], view);
        }
        await visit.close();
      },
    );

    it(
      `finds nothing in the ${colorScheme} theme on errors and differences`,
      onceForAll,
      async () => {
        const visit = await openPage(browser, site.url, { colorScheme });
        const { page } = visit;
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
        assert.deepEqual(await axeViolations(page, rules), []);
        await visit.close();
      },
    );
  }
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
