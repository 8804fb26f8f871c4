// Links to a reader's own code of a cell.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { click, codeOf, countVisible, typeInto } from "../page.mjs";
import { cell, openForEach, page } from "./first-notebook.mjs";

describe("A link to the code of a cell", () => {
  openForEach();

  /** The address that "Copy link" writes. */
  async function linkTo(number) {
    await page.evaluate(() => {
      navigator.clipboard.writeText = async (text) => {
        window.copied = text;
      };
    });
    await click(page, `${cell(number)} button.copy-link`);
    await page.waitForFunction(() => window.copied);
    return page.evaluate(() => window.copied);
  }

  const follow = (address) =>
    page.evaluate((hash) => {
      location.hash = hash;
    }, new URL(address).hash);

  /** Waits until a cell offers other code, and returns what it shows. */
  async function offered(number) {
    await page.waitForSelector(`${cell(number)} .cell-conflict`);
    return page.$eval(`${cell(number)} .cell-conflict`, (note) => note.innerText);
  }

  it("is there for changed code, shows it before it runs, and takes it when the reader asks", async () => {
    assert.equal(await countVisible(page, `${cell(4)} button.copy-link`), 0);
    const source = "// \u00e9 \ud83d\ude00\nlet scale = 7, zero_point = 1;";
    await typeInto(page, cell(4), source);
    const address = await linkTo(4);
    await click(page, `${cell(4)} button.reset-cell`);
    const original = await codeOf(page, cell(4));
    await follow(address);
    assert.match(await offered(4), /A link has other code[\s\S]*let scale = 7/);
    assert.equal(await codeOf(page, cell(4)), original);
    await click(page, `${cell(4)} button.take-other`);
    assert.equal(await codeOf(page, cell(4)), source);
    assert.equal(await page.$eval(cell(4), ({ dataset }) => dataset.state ?? "idle"), "idle");
    assert.doesNotMatch(page.url(), /code=/);
  });

  it("changes nothing where the reader keeps the code", async () => {
    await typeInto(page, cell(4), "let scale = 7;");
    const address = await linkTo(4);
    await click(page, `${cell(4)} button.reset-cell`);
    const original = await codeOf(page, cell(4));
    await follow(address);
    await offered(4);
    await click(page, `${cell(4)} button.keep-own`);
    assert.equal(await codeOf(page, cell(4)), original);
    assert.doesNotMatch(page.url(), /code=/);
  });

  it("says so where its code is damaged or too long", async () => {
    const id = await page.$eval(cell(4), (element) => element.id);
    const long = await page.evaluate(async () => {
      const stream = new Blob(["x".repeat(1_000_000)]).stream();
      const packed = stream.pipeThrough(new CompressionStream("deflate-raw"));
      const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
      return btoa(String.fromCharCode(...bytes))
        .replaceAll("+", "-")
        .replaceAll("/", "_");
    });
    for (const code of ["AAAA", "%2", "\u2603", long]) {
      await page.evaluate(() => document.querySelector(".cell-conflict")?.remove());
      await page.evaluate((hash) => {
        location.hash = hash;
      }, `${id}?code=${code}`);
      assert.match(await offered(4), /cannot be read/);
      assert.match(page.url(), /code=/);
    }
  });
});
