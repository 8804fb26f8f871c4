// The recipes of docs/search.md for pages, on the package in the browser under test.

import assert from "node:assert/strict";
import { it } from "node:test";
import { promisedBy, readRecipe } from "../../js/support/processes/recipes.mjs";
import { launchBrowser, PATIENCE } from "../browser.mjs";
import { servePackage } from "../serve.mjs";

/** Runs a recipe in a page, and again after reloads: what each visit prints first. */
async function visit(recipe, visits) {
  const server = await servePackage({ files: { "/recipe.js": recipe } });
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    const lines = [];
    for (let i = 0; i < visits; i++) {
      const told = new Promise((resolve, reject) => {
        page.once("console", (message) => resolve(message.text()));
        page.once("pageerror", reject);
        setTimeout(() => reject(new Error(`visit ${i} printed nothing`)), PATIENCE).unref();
      });
      if (i === 0) await page.goto(`${server.origin}/page?script=/recipe.js`);
      else await page.reload();
      lines.push(await told);
      page.removeAllListeners("pageerror");
    }
    return lines;
  } finally {
    await browser.close();
    await server.close();
  }
}

it("an index stays in IndexedDB and its originals in the page's file system over reloads", async () => {
  const lines = await visit(readRecipe("An index kept in a page"), 3);
  const loaded = "loaded a cat, a cart order";
  assert.deepEqual(lines, ["made a cat, a cart order", loaded, loaded]);
});

it("an index in a worker finds the rows of nearest signs that a filter of the page allows", async () => {
  const recipe = readRecipe("An index in a worker");
  assert.deepEqual(await visit(recipe, 1), promisedBy(recipe));
});
