// Illustrations that react: by slider, by numbers in a sentence, by keyboard, and after a prediction.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import * as zeropoint from "zeropoint";
import { axeViolations } from "./axe.mjs";
import { browserName } from "./browser.mjs";
import {
  attributeOf,
  bringIntoView,
  countVisible,
  openNotebook,
  openPage,
  press,
  textOf,
  waitFor,
} from "./page.mjs";
import { browser, site } from "./site-and-browser.mjs";

before(() => zeropoint.init());

const COURSE = [
  [191.6, -13.5, 728.6],
  [92.14, 295.5, -184],
  [0, 684.6, 245.5],
];

/** The rows of a figure's table, without their headings. */
const rowsOf = (page, figure) =>
  page.$$eval(`${figure} .facts tbody tr`, (rows) =>
    rows.map((row) => Array.from(row.querySelectorAll("td"), ({ textContent }) => textContent)),
  );

const numbers = (texts) => texts.map((text) => Number(text.replace("−", "-")));

/** The middle of an element, once the page's smooth scrolling has left it in one place for ten frames. */
const restOf = (page, selector) =>
  page.$eval(selector, async (element) => {
    let place = "";
    for (let frames = 0; frames < 10; frames++) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      const { left, top } = element.getBoundingClientRect();
      if (place !== `${left} ${top}`) frames = 0;
      place = `${left} ${top}`;
    }
    const { left, top, width, height } = element.getBoundingClientRect();
    return { x: left + width / 2, y: top + height / 2 };
  });

async function open(notebook, figure) {
  const visit = await openPage(browser, site.url);
  await openNotebook(visit.page, notebook);
  await visit.page.waitForSelector(`${figure}[data-live]`);
  return visit;
}

describe("Scale and zero point by hand", () => {
  const figure = '[data-figure="by-hand"]';

  const scrub = `${figure} [data-scrub="zero"]`;

  /** Waits until the zero point in the sentence has a value. */
  const isMovedTo = (page, value) =>
    waitFor(
      page,
      (selector, wanted) => document.querySelector(selector)?.ariaValueNow === wanted,
      scrub,
      value,
    );

  it("are moved in the sentence by keys, and give the package's codes", async () => {
    const { page, problems, close } = await open("quantize-and-dequantize", figure);
    assert.equal(await countVisible(page, scrub), 1);
    await page.focus(scrub);
    await press(page, "Shift+ArrowLeft");
    await isMovedTo(page, "-80");
    // The number was drawn anew, and still has the focus.
    assert.ok(await page.$eval(scrub, (each) => each === document.activeElement));
    const q = zeropoint.quantize(zeropoint.tensor(COURSE), { scale: 3.5, zeroPoint: -80 });
    const codes = (await rowsOf(page, figure)).map(([, code]) => code);
    assert.deepEqual(numbers(codes), Array.from(q.data));
    assert.deepEqual(await problems(), []);
    await close();
  });

  it("are moved in the sentence by pointer", async () => {
    const { page, problems, close } = await open("quantize-and-dequantize", figure);
    await bringIntoView(page, scrub);
    const { x, y } = await restOf(page, scrub);
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 60, y, { steps: 4 });
    await page.mouse.up();
    // From -70: 60 of 300 pixels are a fifth of the slider.
    await isMovedTo(page, "-19");
    assert.deepEqual(await problems(), []);
    await close();
  });
});

describe("The table behind a drawing", () => {
  it("stays open while the drawing changes", async () => {
    const figure = '[data-figure="by-hand"]';
    const { page, close } = await open("quantize-and-dequantize", figure);
    assert.equal(await countVisible(page, `${figure} .facts`), 0);
    await page.focus(`${figure} details summary`);
    await press(page, "Enter");
    await page.waitForSelector(`${figure} details[open]`);
    await page.focus(`${figure} input[name="zero"]`);
    await press(page, "ArrowRight");
    await waitFor(
      page,
      (selector) => document.querySelector(selector)?.ariaValueNow === "-69",
      `${figure} [data-scrub="zero"]`,
    );
    assert.equal(await countVisible(page, `${figure} .facts`), 1);
    await close();
  });
});

describe("A prediction", () => {
  it("comes before the dial, which then wraps as int8 does", async () => {
    const figure = '[data-figure="odometer"]';
    const { page, close } = await open("quantize-and-dequantize", figure);
    assert.equal(await countVisible(page, `${figure} svg.drawing`), 0);
    await page.focus(`${figure} [data-choice="197"]`);
    await press(page, "Enter");
    assert.equal(await textOf(page, `${figure} .predict-verdict`), "Not 197, but −59.");
    assert.equal(await countVisible(page, `${figure} svg.drawing`), 1);
    // Without a locator, which waits for frames that a busy machine may not draw.
    await page.$eval(`${figure} input[name="zero"]`, (input) => {
      input.value = "-100";
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await waitFor(
      page,
      (selector) => document.querySelector(`${selector} caption`)?.textContent === "127 − (−100)",
      figure,
    );
    const results = (await rowsOf(page, figure)).map(([result]) => result);
    assert.deepEqual(numbers(results), [227, 227 - 256, 127]);
    if (browserName === "chromium") assert.deepEqual(await axeViolations(page), []);
    await close();
  });
});

describe("Linked elements", () => {
  it("show code, error and scale of the element that has the focus", async () => {
    const figure = '[data-figure="linked"]';
    const { page, close } = await open("per-channel", figure);
    const shown = () =>
      page.$$eval(`${figure} [data-shown]`, (cells) => cells.map(({ textContent }) => textContent));
    const q = zeropoint.quantize(zeropoint.tensor(COURSE), { axis: 0 });
    await page.focus(`${figure} [data-first][tabindex="0"]`);
    for (const key of ["ArrowDown", "ArrowLeft"]) await press(page, key);
    const [value, code, , scale] = numbers(await shown());
    assert.deepEqual([value, code], [295.5, q.data[4]]);
    assert.equal(scale, Number(q.scale.data[1].toPrecision(4)));
    assert.equal(await countVisible(page, `${figure} [data-equation]`), 1);
    assert.equal(
      await attributeOf(page, `${figure} [data-first][tabindex="0"]`, "data-element"),
      "4",
    );
    if (browserName === "chromium") assert.deepEqual(await axeViolations(page), []);
    await close();
  });
});

describe("The bits of a number", () => {
  const figure = '[data-figure="bits"]';
  const key = (name) => `${figure} [data-key="${name}"]`;
  const numberIs = (page, value) =>
    waitFor(
      page,
      (selector, text) =>
        document.querySelector(`${selector} input`).value === text &&
        document.querySelector(`${selector} .bits-value`).textContent.includes(`: ${text}`),
      figure,
      value,
    );

  it("are flipped by keys, which keep their place", async () => {
    const { page, problems, close } = await open("formats-of-files", figure);
    // 0.09375 is 1.5 / 16.
    await page.focus(key("float8 E5M2 7"));
    for (const each of ["End", "ArrowLeft", "ArrowRight"]) await press(page, each);
    await press(page, "Enter");
    await numberIs(page, "0.109375");
    assert.equal(await page.$eval(key("float8 E5M2 0"), (each) => each.textContent), "1");
    assert.ok(await page.$eval(key("float8 E5M2 0"), (each) => each === document.activeElement));
    await press(page, " ");
    await numberIs(page, "0.09375");
    if (browserName === "chromium") assert.deepEqual(await axeViolations(page), []);
    assert.deepEqual(await problems(), []);
    await close();
  });

  it("are flipped by pointer, and follow a number that is written", async () => {
    const { page, problems, close } = await open("formats-of-files", figure);
    await page.$eval(`${figure} input`, (input) => {
      input.value = "−300";
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await waitFor(
      page,
      (selector) => document.querySelector(selector)?.textContent === "1",
      key("float16 15"),
    );
    await page.$eval(key("float16 15"), (bit) => bit.click());
    await numberIs(page, "300");
    assert.deepEqual(await problems(), []);
    await close();
  });
});

describe("A block of weights", () => {
  const figure = '[data-figure="block"]';
  const detail = `${figure} [data-detail]`;

  /** Waits until the detail begins with a text. */
  const says = (page, start) =>
    waitFor(
      page,
      (selector, text) => document.querySelector(selector)?.textContent.startsWith(text),
      detail,
      start,
    );

  const marked = (page, kind, attribute) =>
    page.$$eval(`${figure} [data-kind="${kind}"] [${attribute}]`, (cells) =>
      cells.map(({ dataset }) => Number(dataset.index)),
    );

  it("shows by keyboard the bytes of a value, and the values of a byte", async () => {
    const { page, problems, close } = await open("formats-of-files", figure);
    await page.focus(`${figure} [data-kind="value"] [tabindex="0"]`);
    await says(page, "Value 9 = d · (q − 8) =");
    await press(page, "ArrowDown");
    await says(page, "Value 25 =");
    assert.deepEqual(await marked(page, "byte", "data-sharing"), [0, 1, 11]);
    assert.deepEqual(await marked(page, "value", "data-shown"), [25]);
    await page.focus(`${figure} [data-kind="byte"] [tabindex="0"]`);
    await says(page, "Byte 0 is 36");
    assert.equal((await marked(page, "value", "data-sharing")).length, 32);
    await press(page, "End");
    await says(page, "Byte 15 is");
    assert.deepEqual(await marked(page, "value", "data-sharing"), [13, 29]);
    assert.equal(
      await page.evaluate(() => document.activeElement.getAttribute("aria-describedby")),
      await attributeOf(page, detail, "id"),
    );
    if (browserName === "chromium") assert.deepEqual(await axeViolations(page), []);
    assert.deepEqual(await problems(), []);
    await close();
  });

  it("has its six formats in rows of equal length at every width", async () => {
    const { page, problems, close } = await open("formats-of-files", figure);
    for (const width of [320, 390, 480, 900]) {
      await page.setViewport({ width, height: 844 });
      const rows = await page.$$eval(`${figure} .segmented label`, (labels) => {
        const tops = labels.map((label) => Math.round(label.getBoundingClientRect().top));
        return [...new Set(tops)].map((top) => tops.filter((each) => each === top).length);
      });
      assert.ok(String(rows) === "6" || String(rows) === "3,3", `${width}: ${rows}`);
    }
    await page.setViewport({ width: 1280, height: 900 });
    assert.deepEqual(await problems(), []);
    await close();
  });

  it("shows another format, whose cells answer to the pointer", async () => {
    const { page, problems, close } = await open("formats-of-files", figure);
    await page.$eval(`${figure} input[value="q4_k"]`, (input) => input.click());
    await page.waitForSelector(`${figure} [data-kind="value"] [data-index="255"]`);
    await page.$eval(`${figure} [data-kind="byte"] [data-index="15"]`, (cell) => cell.click());
    await says(page, "Byte 15 is");
    assert.match(await textOf(page, detail), /sc = 23 of values 224 to 255, with byte 7/);
    assert.match(await textOf(page, detail), /m = 6 of values 224 to 255, with byte 11/);
    if (browserName === "chromium") assert.deepEqual(await axeViolations(page), []);
    assert.deepEqual(await problems(), []);
    await close();
  });
});

describe("The scale", () => {
  it("leaves the sum step by step, and the output is the layer's", async () => {
    const figure = '[data-figure="scale-leaves-the-sum"]';
    const { page, close } = await open("quantizer-from-scratch", figure);
    await page.focus(`${figure} [data-action="step"]`);
    await press(page, "Enter");
    await page.waitForSelector(`${figure} .to-come`);
    assert.equal((await page.$$(`${figure} .to-come`)).length, 3);
    for (let i = 0; i < 3; i++) await press(page, "Enter");
    await waitFor(page, (selector) => !document.querySelector(`${selector} .to-come`), figure);
    assert.match(await textOf(page, `${figure} li:last-child`), /= \(−2\.9965\)$/);
    await page.focus(`${figure} input[name="row"][value="2"]`);
    await press(page, " ");
    await waitFor(
      page,
      (selector) =>
        /= 9\.3957$/.test(document.querySelector(`${selector} li:last-child`).textContent),
      figure,
    );
    await close();
  });
});
