// A million lines pasted into what is made for a word or a cell.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openEditor, openPage, waitFor } from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";

/** Pastes a million lines into an element, as a browser does before it inserts them; whether it would insert them. */
const pasteMillion = (page, selector) =>
  page.evaluate((wanted) => {
    const host = document.querySelector(wanted);
    const field = host.shadowRoot?.querySelector(".cm-content") ?? host;
    field.focus();
    const data = Array.from({ length: 1_000_000 }, (_, i) => i / 8).join("\n");
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", data);
    // Firefox takes no clipboardData from a script, but data with its type.
    const forFirefox = { dataType: "text/plain", data };
    const options = { clipboardData, ...forFirefox, bubbles: true, cancelable: true };
    return field.dispatchEvent(new ClipboardEvent("paste", { ...options, composed: true }));
  }, selector);

describe("A million pasted lines", () => {
  for (const [field, hash] of [
    [".lab-address input", "#lab"],
    ["#play input[type='number']", "#play"],
    [".view[data-current] .figure input[type='text']", "#formats-of-files"],
  ]) {
    it(`are refused by a field of one line, which says so: ${field}`, async () => {
      const { page, problems, close } = await openPage(browser, site.url + hash);
      await waitFor(page, (wanted) => document.querySelector(wanted).checkVisibility(), field);
      if (hash === "#play") await page.waitForSelector("#play .play[data-complete]");
      const before = await page.$eval(field, ({ value }) => value);
      assert.equal(await pasteMillion(page, field), false);
      const { value, message } = await page.$eval(field, (input) => ({
        value: input.value,
        message: input.validationMessage,
      }));
      assert.equal(value, before);
      assert.match(message, /^The text has 9,\d{3},\d{3} characters; .* at most 10,000\.$/);
      assert.deepEqual(await problems(), []);
      await close();
    });
  }

  for (const [what, cell] of [
    ["a cell", '[id="quantize-and-dequantize-cell-1"]'],
    ["an exercise", ".view[data-current] .exercise"],
  ]) {
    it(`are refused by the editor of ${what}, which says so until its code changes`, async () => {
      const { page, problems, close } = await openPage(
        browser,
        `${site.url}#quantize-and-dequantize`,
      );
      await page.waitForSelector(".view[data-current] .toolbar:not([hidden])");
      const code = what === "a cell" ? ".cell-code" : ".exercise-code";
      if (what === "a cell") await openEditor(page, cell);
      else {
        await page.focus(`${cell} ${code} pre`);
        await page.waitForSelector(`${cell} .editor`);
      }
      const lines = () =>
        page.$eval(`${cell} .editor`, ({ shadowRoot }) => shadowRoot.textContent.length);
      const before = await lines();
      assert.equal(await pasteMillion(page, `${cell} .editor`), false);
      assert.equal(await lines(), before);
      const said = await page.$eval(`${cell} .code-too-long`, ({ textContent }) => textContent);
      assert.match(said, /^Not pasted: the code would have 9,\d{3},\d{3} characters/);
      await page.keyboard.type(" ");
      await waitFor(page, (wanted) => !document.querySelector(wanted), `${cell} .code-too-long`);
      assert.deepEqual(await problems(), []);
      await close();
    });
  }
});
