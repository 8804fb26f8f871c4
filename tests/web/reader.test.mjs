// The network of notebook 6 reads drawn digits, on the overview and in the notebook, as the package reads them.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { init, tensor } from "zeropoint";
import { Linear, quantizeDynamic, ReLU, Sequential, WeightOnlyQConfig } from "zeropoint/torch";
import { loadModel } from "../../scripts/cost/model.mjs";
import { axeViolations, onceForAll } from "./axe.mjs";
import { openNotebook, openPage, waitFor } from "./page.mjs";
import { browser, site } from "./site-and-browser.mjs";

const READER = ".view[data-current] .reader:not([hidden])";

/** What each row says, once it has read a digit. */
async function readings(page) {
  await waitFor(
    page,
    (reader) =>
      [...document.querySelectorAll(`${reader} .reader-reads`)].every((cell) => cell.textContent),
    READER,
  );
  return page.$$eval(`${READER} tbody tr`, (rows) =>
    rows.map((row) => [
      row.querySelector(".reader-reads").textContent,
      row.querySelector(".reader-bars").getAttribute("aria-label"),
    ]),
  );
}

/** The probabilities of each digit by networks of fewer and fewer bits. */
async function expectedFor(label, options) {
  await init();
  const { layers, heldOut } = await loadModel();
  const [first, second] = layers.map(({ weight, bias }) => new Linear(weight, { bias }));
  const float = new Sequential({ first, relu: new ReLU(), second });
  const places = [...heldOut.labels.keys()].filter((i) => heldOut.labels[i] === label);
  const i = places[97 % places.length];
  const image = tensor(heldOut.images.data.slice(784 * i, 784 * (i + 1)), [1, 784]);
  return [32, 8, 4, 3, 2].map((bits) => {
    const config = new WeightOnlyQConfig({ dtype: `int${bits === 32 ? 8 : bits}`, ...options });
    const { data } = (bits === 32 ? float : quantizeDynamic(float, config)).forward(image);
    const powers = Array.from(data, (score) => Math.exp(score));
    const sum = powers.reduce((a, b) => a + b);
    const percents = powers.map((power) => Math.round((100 * power) / sum));
    const answer = data.indexOf(Math.max(...data));
    return [
      `${answer}, ${percents[answer]} %`,
      percents.map((percent, digit) => `${digit}: ${percent} %`).join(", "),
    ];
  });
}

describe("A drawn digit", () => {
  let visit;
  let page;
  before(async () => {
    visit = await openPage(browser, site.url);
    page = visit.page;
    await page.waitForSelector(READER);
  });
  after(() => visit?.close());

  it("is read on the overview by networks of 32 to 2 bits, as the package reads it", async () => {
    await page.click(`${READER} [data-label="4"]`);
    const shown = await readings(page);
    assert.deepEqual(shown, await expectedFor(4, { axis: 0 }));
    assert.match(shown[0][0], /^4, /);
  });

  it("is read again with other scales", async () => {
    const [, before] = (await readings(page))[4];
    await page.select(`${READER} select`, "0");
    await waitFor(
      page,
      (reader, old) =>
        document
          .querySelector(`${reader} tbody tr:last-child .reader-bars`)
          .getAttribute("aria-label") !== old,
      READER,
      before,
    );
    assert.deepEqual(await readings(page), await expectedFor(4, {}));
  });

  it("has no violation of axe", onceForAll, async () => {
    assert.deepEqual(await axeViolations(page), []);
  });

  it("goes with Clear", async () => {
    await page.click(`${READER} [data-action='clear']`);
    await waitFor(
      page,
      (reader) =>
        [...document.querySelectorAll(`${reader} .reader-reads`)].every(
          (cell) => cell.textContent === "",
        ),
      READER,
    );
  });

  it("is read at the end of notebook 6, as it is drawn", async () => {
    await openNotebook(page, "what-it-costs");
    const pad = await page.waitForSelector(`${READER} .pad`);
    await pad.scrollIntoView();
    const { x, y, width, height } = await pad.boundingBox();
    await page.mouse.move(x + width / 2, y + height / 5);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + (4 * height) / 5, { steps: 8 });
    await page.mouse.up();
    assert.match((await readings(page))[0][0], /^1, /);
    assert.deepEqual(await visit.problems(), []);
  });
});
