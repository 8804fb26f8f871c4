// Violations found by axe in a page.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { browserName } from "./browser.mjs";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Options for a test with axe: one browser is enough, because axe examines only the document. */
export const onceForAll = { skip: browserName !== "chromium" && "Chromium has axe judge the page" };

/** Each violated rule, with the elements that violate it and the reasons. */
export async function axeViolations(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(source);
  return await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`,
    );
  });
}
