// The README's recipe of a network in 4 bits, run as it is on a page under the strict policy.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { digitsFile, promisedBy, readRecipe } from "../js/support/processes/recipes.mjs";
import { launchBrowser, PATIENCE } from "./browser.mjs";
import { waitFor } from "./page.mjs";
import { STRICT_POLICY, servePackage } from "./serve.mjs";

const recipe = readRecipe("A network in 4 bits");

describe("The recipe of a network in 4 bits on a page", () => {
  let browser;
  let site;
  before(async () => {
    const files = { "/walk.mjs": recipe, "/digits.safetensors": await digitsFile() };
    site = await servePackage({ policy: STRICT_POLICY, files });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await site?.close();
  });

  it("prints what its comments say", async () => {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE);
    const failed = new Promise((_, reject) => page.on("pageerror", reject));
    await page.evaluateOnNewDocument(() => {
      window.printed = [];
      console.log = (...values) => window.printed.push(values.join(" "));
    });
    await page.goto(`${site.origin}/page?script=/walk.mjs`);
    const promised = promisedBy(recipe);
    const done = waitFor(page, (count) => window.printed.length >= count, promised.length);
    await Promise.race([done, failed]);
    assert.deepEqual(await page.evaluate(() => window.printed), promised);
  });
});
