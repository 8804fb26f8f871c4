// The three doors of the overview.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { axeViolations, onceForAll } from "../axe.mjs";
import { openPage, waitFor } from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";

/** A file of one weight of 64 by 32, as safetensors. */
const header = JSON.stringify({
  weight: { dtype: "F32", shape: [64, 32], data_offsets: [0, 8192] },
});

/** Gives the door a file, by its input or by a drop beside it, in the page. */
function give(text, how) {
  const length = new Uint8Array(8);
  length[0] = text.length;
  const values = Float32Array.from({ length: 2048 }, (_, i) => Math.sin(i));
  const transfer = new DataTransfer();
  transfer.items.add(new File([length, text, values], "small.safetensors"));
  if (how === "drop") {
    const event = new DragEvent("drop", {
      dataTransfer: transfer,
      bubbles: true,
      cancelable: true,
    });
    document.querySelector("#overview h1").dispatchEvent(event);
    return event.defaultPrevented;
  }
  const input = document.querySelector(".door-drop input");
  input.files = transfer.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  return true;
}

const isOpen = (page) =>
  waitFor(
    page,
    () =>
      location.hash.startsWith("#lab") &&
      document.querySelector("#lab")?.innerText.includes("small.safetensors"),
  );

describe("The overview's doors", () => {
  it("lead to the first notebook, the playground and the lab", async () => {
    const { page, problems, close } = await openPage(browser, site.url);
    assert.deepEqual(await page.$$eval(".doors h2 a", (links) => links.map((link) => link.hash)), [
      "#quantize-and-dequantize",
      "#play",
      "#lab",
    ]);
    assert.deepEqual(await problems(), []);
    await close();
  });

  for (const how of ["drop", "choice"]) {
    it(`open a model file in the lab, by ${how}, also a second time`, async () => {
      const { page, problems, close } = await openPage(browser, site.url);
      await page.waitForSelector(".door-drop:not([hidden])");
      for (let i = 0; i < 2; i++) {
        assert.equal(await page.evaluate(give, header, how), true);
        await isOpen(page);
        await page.evaluate(() => {
          location.hash = "#overview";
        });
        await page.waitForSelector("#overview[data-current]");
      }
      assert.deepEqual(await problems(), []);
      await close();
    });
  }

  it("are opened by keys: links with Enter, the choice of a file with the space bar", async () => {
    const { page, problems, close } = await openPage(browser, site.url);
    await page.waitForSelector(".door-drop:not([hidden])");
    await page.$eval(".door-drop input[type=file]", (input) => {
      input.addEventListener("click", (event) => {
        event.preventDefault();
        document.body.dataset.chosen = String(input.multiple);
      });
      input.focus();
    });
    await page.keyboard.press("Space");
    await page.waitForSelector("body[data-chosen='true']");
    for (const view of ["quantize-and-dequantize", "play", "lab"]) {
      await page.focus(`.doors a[href='#${view}']`);
      await page.keyboard.press("Enter");
      await page.waitForSelector(`[id="${view}"][data-current]:not([data-part])`);
      await page.goBack();
      await page.waitForSelector("#overview[data-current]");
    }
    assert.deepEqual(await problems(), []);
    await close();
  });

  it("are accessible", onceForAll, async () => {
    const { page, close } = await openPage(browser, site.url);
    await page.waitForSelector(".door-drop:not([hidden])");
    assert.deepEqual(await axeViolations(page), []);
    await close();
  });
});
