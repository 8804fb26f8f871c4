// The README's recipe of an index in a page: made on the first visit, loaded on the next ones.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { fileURLToPath } from "node:url";
import { readRecipe } from "../js/support/processes/recipes.mjs";
import { launchBrowser, serveFolder } from "./browser.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

it("an index stays in IndexedDB and its originals in the page's file system over reloads", async () => {
  const recipe = readRecipe("An index kept in a page");
  const folder = mkdtempSync(join(tmpdir(), "zeropoint-search-page-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(root, "dist"), join(folder, "dist"), "dir");
  const paths = { zeropoint: "index.js", "zeropoint/search": "search.js" };
  paths["zeropoint/models"] = "models/index.js";
  const imports = Object.entries(paths).map(([name, path]) => [name, `./dist/${path}`]);
  const map = JSON.stringify({ imports: Object.fromEntries(imports) });
  const html = `<!doctype html><title>search</title><link rel="icon" href="data:,">
<script type="importmap">${map}</script><script type="module">${recipe}</script>`;
  writeFileSync(join(folder, "index.html"), html);

  const server = await serveFolder(folder);
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    const problems = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    for (const [visit, expected] of [
      ["goto", "made a cat, a cart order"],
      ["reload", "loaded a cat, a cart order"],
      ["reload", "loaded a cat, a cart order"],
    ]) {
      const told = page.waitForEvent("console", { timeout: 30_000 });
      await (visit === "goto" ? page.goto(server.address) : page.reload());
      assert.equal((await told).text(), expected, problems.join());
    }
    assert.deepEqual(problems, []);
  } finally {
    await browser.close();
    await server.close();
  }
});
