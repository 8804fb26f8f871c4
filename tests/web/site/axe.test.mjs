// Accessibility of every view, checked by axe: by all rules in the light theme, by those of colour in the dark one.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { axeViolations, onceForAll, RULES_OF_COLOUR } from "../axe.mjs";
import { click, clickInto, enter, openNotebook, openPage, press, runAll } from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";
import { fetchAll, NOTEBOOKS, show, VIEWS } from "./views.mjs";

describe("axe", () => {
  for (const colorScheme of ["light", "dark"]) {
    const title = `finds nothing in the ${colorScheme} theme, in any view, before and after a run`;
    it(title, onceForAll, async () => {
      const visit = await openPage(browser, site.url, { colorScheme });
      const { page } = visit;
      for (const view of VIEWS) {
        if (view !== "overview") await openNotebook(page, view);
        for (const moment of ["before", "after"]) {
          if (moment === "after") await show(page, view);
          const rules = colorScheme === "dark" ? RULES_OF_COLOUR : undefined;
          assert.deepEqual(await axeViolations(page, rules), [], `${view} ${moment} running`);
        }
      }
      await visit.close();
    });
  }

  const title = "finds nothing on errors and differences either, in both themes";
  it(title, onceForAll, async () => {
    for (const colorScheme of ["light", "dark"]) {
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
      assert.deepEqual(await axeViolations(page), [], colorScheme);
      await visit.close();
    }
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
