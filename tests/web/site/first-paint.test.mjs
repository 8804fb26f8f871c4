// The page before its scripts have run, and without scripts.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import {
  attributeOf,
  countVisible,
  openNotebook,
  openPage,
  openPart,
  serveSite,
  WITHOUT_SCRIPTS,
  waitFor,
} from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";
import { NOTEBOOKS, VIEWS } from "./views.mjs";

describe("The policy", () => {
  it("is on the page, word for word", async () => {
    const visit = await openPage(browser, site.url);
    const policy = await attributeOf(
      visit.page,
      'meta[http-equiv="Content-Security-Policy"]',
      "content",
    );
    assert.equal(policy, "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'");
    await visit.close();
  });
});

describe("Before its scripts have loaded", () => {
  const SCRIPT = /\/assets\/index-[^/]*\.js$/;

  for (const [view, width] of [
    ["per-channel", 360],
    ["per-channel", 1280],
    ["measure", 360],
    ["measure", 1280],
    ["schemes-observers-qconfig", 320],
    ["schemes-observers-qconfig", 1280],
  ]) {
    it(`the page shows the beginning of ${view} in the same place as later, at ${width} pixels`, async () => {
      const context = await browser.createBrowserContext();
      const page = await context.newPage();
      await page.setViewport({ width, height: 900 });
      await page.setRequestInterception(true);
      const held = [];
      let isTime = false;
      page.on("request", (request) => {
        if (!isTime && SCRIPT.test(request.url())) held.push(request);
        else request.continue();
      });
      const shown = async () => ({
        views: await page.$$eval(".view", (views) =>
          views.filter((view) => view.checkVisibility()).map(({ id }) => id),
        ),
        tops: await page.$$eval(`[id="${view}"] :is(h1, .lead), .contents a`, (elements) =>
          elements
            .filter((element) => element.checkVisibility())
            .map((element) => Math.round(element.getBoundingClientRect().top + scrollY)),
        ),
      });
      const arriving = page.goto(`${site.url}#${view}`);
      while (held.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
      await page.waitForSelector("footer");
      await waitFor(page, () => document.styleSheets.length > 0);
      const before = await shown();
      assert.deepEqual(before.views, [view]);
      isTime = true;
      for (const request of held) request.continue();
      await arriving;
      await page.waitForSelector(
        ".is-live .view[data-current]:not([data-part]) :is(.toolbar, .measure):not([hidden])",
      );
      assert.deepEqual(await shown(), before);
      await context.close();
    });
  }

  it("shows no other view while the requested one is loading", async () => {
    let goOn;
    const isTime = new Promise((resolve) => {
      goOn = resolve;
    });
    async function* inTwoParts(text) {
      const middle = text.indexOf('<article class="view notebook prose" id="per-channel"');
      yield text.slice(0, middle);
      await isTime;
      yield text.slice(middle);
    }
    const own = await serveSite({
      edit: (name, body) => (name.endsWith("index.html") ? inTwoParts(String(body)) : body),
    });
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    const shown = () =>
      page.$$eval(".view", (views) =>
        views.filter((view) => view.checkVisibility()).map(({ id }) => id),
      );
    const arriving = page.goto(`${own.url}#per-channel`);
    await page.waitForSelector("#finer-granularity");
    await waitFor(page, () => document.styleSheets.length > 0);
    assert.deepEqual(await shown(), []);
    // The table of contents precedes it, and already lists its sections.
    const sections = "[data-sections-of]:not([hidden])";
    assert.equal(await attributeOf(page, sections, "data-sections-of"), "per-channel");
    goOn();
    await arriving;
    await page.waitForSelector(".is-live");
    assert.deepEqual(await shown(), ["per-channel"]);
    await context.close();
    await own.close();
  });

  it("shows everything if they do not load", async () => {
    const own = await serveSite({ missing: SCRIPT });
    const visit = await openPage(browser, `${own.url}#per-channel`, { isLive: false });
    await waitFor(visit.page, () =>
      [...document.querySelectorAll(".view")].every((view) => view.checkVisibility()),
    );
    assert.equal(await countVisible(visit.page, "button"), 0);
    await visit.close();
    await own.close();
  });
});

/** Of the overview and notebooks 1, 4, 5 and 6. */
const DRAWINGS = 1 + 2 + (4 + 1 + 1 + 2 + 1) + 1 + 1;

describe("Without scripts", () => {
  it("all content is readable: all notebooks, all code, all known outputs, all drawings", async () => {
    const own = await serveSite({ headers: WITHOUT_SCRIPTS });
    const visit = await openPage(browser, own.url, { isLive: false });
    const { page } = visit;
    for (const view of VIEWS) assert.equal(await countVisible(page, `[id="${view}"] h1`), 1, view);
    const counts = { cells: 0, outputs: 0, drawings: 0 };
    const count = async () => {
      counts.cells += await countVisible(page, ".cell");
      counts.outputs += await countVisible(page, ".cell-expected pre");
      counts.drawings += await countVisible(page, "[data-figure] svg.drawing");
      assert.equal(await countVisible(page, "button"), 0);
    };
    await count();
    for (const notebook of NOTEBOOKS) {
      await page.goto(own.url);
      await openPart(page, notebook);
      await count();
    }
    const folder = new URL("../../../web/notebooks/", import.meta.url);
    const cells = readdirSync(folder).map(
      (name) => readFileSync(new URL(name, folder), "utf8").match(/^```js /gm).length,
    );
    assert.deepEqual(cells.slice(0, 5), [18, 52, 39, 11, 66]);
    const written = cells.reduce((sum, count) => sum + count);
    assert.equal(counts.cells, written);
    assert.ok(counts.outputs > 80);
    assert.equal(counts.drawings, DRAWINGS);
    await visit.close();
    await own.close();
  });

  it("no drawing is wider than a screen of 320 pixels", async () => {
    const own = await serveSite({ headers: WITHOUT_SCRIPTS });
    const viewport = { width: 320, height: 740 };
    const visit = await openPage(browser, own.url, { isLive: false, viewport });
    const { page } = visit;
    let drawings = 0;
    for (const view of VIEWS) {
      await page.goto(own.url);
      if (view !== "overview") await openPart(page, view);
      drawings += await countVisible(page, "[data-figure] svg.drawing");
      const wide = await page.$$eval(".figure-drawing", (boxes) =>
        boxes
          .filter((box) => box.scrollWidth > box.clientWidth)
          .map((box) => `${box.parentElement.dataset.figure}: ${box.scrollWidth}`),
      );
      assert.deepEqual(wide, []);
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > 320);
      assert.ok(!isWide, view);
    }
    assert.equal(drawings, DRAWINGS);
    await visit.close();
    await own.close();
  });
});

describe("The head", () => {
  it("describes itself in its metadata, also for shared links", async () => {
    const visit = await openPage(browser, site.url);
    const { page } = visit;
    const title = "zeropoint: linear quantization, live and exact";
    assert.equal(await page.title(), title);
    const property = (name) => attributeOf(page, `meta[property="og:${name}"]`, "content");
    assert.equal(await property("title"), title);
    assert.equal(await property("type"), "website");
    assert.equal(
      await property("description"),
      await attributeOf(page, 'meta[name="description"]', "content"),
    );
    await openNotebook(page, "per-channel");
    await page.evaluate(() => {
      location.hash = "overview";
    });
    await page.waitForSelector("#overview[data-current]");
    assert.equal(await page.title(), title);
    await visit.close();
  });
});
