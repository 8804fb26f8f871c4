// Violations found by axe in a page.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { browserName } from "./browser.mjs";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Options for a test with axe: one browser is enough, because axe examines only the document. */
export const onceForAll = { skip: browserName !== "chromium" && "Chromium has axe judge the page" };

/** The rules whose results depend on the theme. */
export const RULES_OF_COLOUR = ["color-contrast", "link-in-text-block"];

/** Examinations of a page that is still changing, and milliseconds between them. */
const [ATTEMPTS, PAUSE] = [4, 400];

/**
 * Each violated rule, with the elements that violate it and the reasons. Leaves out the views that are hidden. A
 * violation that is gone when the page is examined again was one of a page that was not complete yet.
 * @param {import("puppeteer-core").Page} page
 * @param {string[]} [rules]  default: all
 */
export async function axeViolations(page, rules) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(source);
  let violations = await examine(page, rules);
  for (let i = 1; i < ATTEMPTS && violations.length > 0; i++) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    violations = await examine(page, rules);
  }
  return violations;
}

const examine = (page, rules) =>
  page.evaluate(async (runOnly) => {
    const context = { exclude: [[".view:not([data-current])"]] };
    const { violations } = await window.axe.run(context, { resultTypes: ["violations"], runOnly });
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`,
    );
  }, rules);
