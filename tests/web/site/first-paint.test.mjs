// The page before its scripts have run, and without scripts.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
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
    assert.equal(
      policy,
      "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; base-uri 'none'; form-action 'none'",
    );
    await visit.close();
  });

  it("lets no markup move the page's addresses or send a form", async () => {
    const visit = await openPage(browser, site.url);
    const { page } = visit;
    const moved = await page.evaluate(() => {
      const before = document.baseURI;
      const base = document.createElement("base");
      base.href = "https://elsewhere.invalid/";
      document.head.prepend(base);
      const form = document.createElement("form");
      document.body.append(form);
      form.action = "./?sent";
      try {
        form.submit();
      } catch {
        // In Firefox, a form that may not be sent throws; everywhere it is a violation, which is counted below.
      }
      return document.baseURI !== before;
    });
    assert.equal(moved, false);
    await waitFor(page, () => window.cspViolations.length >= 2);
    const problems = (await visit.problems()).join("\n");
    assert.match(problems, /base-uri/);
    assert.match(problems, /form-action/);
    assert.equal(new URL(page.url()).search, "");
    await visit.close();
  });
});

describe("Before its scripts have loaded", () => {
  const SCRIPT = /\/assets\/index-[^/]*\.js$/;

  const shownViews = (page) =>
    page.$$eval(".view", (views) =>
      views.filter((view) => view.checkVisibility()).map(({ id }) => id),
    );

  /** The vertical places of the beginning of a view, and of the visible links to views. */
  const topsIn = (page, view) =>
    page.$$eval(`[id="${view}"] :is(h1, .lead), .contents a`, (elements) =>
      elements
        .filter((element) => element.checkVisibility())
        .map((element) => Math.round(element.getBoundingClientRect().top + scrollY)),
    );

  /** Holds back the script that a page requests, until `release` is called. */
  async function holdScript(page) {
    const held = [];
    let isHolding = true;
    await page.setRequestInterception(true);
    page.on("request", (request) => {
      if (isHolding && SCRIPT.test(request.url())) held.push(request);
      else request.continue();
    });
    return {
      async isRequested() {
        while (held.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
      },
      release() {
        isHolding = false;
        for (const request of held) request.continue();
      },
    };
  }

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
      const script = await holdScript(page);
      const arriving = page.goto(`${site.url}#${view}`);
      await script.isRequested();
      await page.waitForSelector("footer");
      await waitFor(page, () => document.styleSheets.length > 0);
      assert.deepEqual(await shownViews(page), [view]);
      const tops = await topsIn(page, view);
      script.release();
      await arriving;
      await page.waitForSelector(
        ".is-live .view[data-current]:not([data-part]) :is(.toolbar, .measure):not([hidden])",
      );
      assert.deepEqual(await shownViews(page), [view]);
      assert.deepEqual(await topsIn(page, view), tops);
      await context.close();
    });
  }

  /** The site, whose HTML comes up to the third notebook until `goOn` is called. */
  async function serveInTwoParts() {
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
    return { own, goOn };
  }

  it("shows no other view while the requested one is loading", async () => {
    const { own, goOn } = await serveInTwoParts();
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    const arriving = page.goto(`${own.url}#per-channel`);
    await page.waitForSelector("#finer-granularity");
    await waitFor(page, () => document.styleSheets.length > 0);
    assert.deepEqual(await shownViews(page), []);
    // The table of contents precedes it, and already lists its sections.
    const sections = "[data-sections-of]:not([hidden])";
    assert.equal(await attributeOf(page, sections, "data-sections-of"), "per-channel");
    goOn();
    await arriving;
    await page.waitForSelector(".is-live");
    assert.deepEqual(await shownViews(page), ["per-channel"]);
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

/** Of the overview and notebooks 1, 4, 5, 6 and 8. */
const DRAWINGS = 1 + 2 + (4 + 1 + 1 + 2 + 1) + 1 + 1 + 1;

/** The number of cells in each file of the notebooks, without its exercises. */
function countWrittenCells() {
  const folder = new URL("../../../web/notebooks/", import.meta.url);
  const textOf = (name) => readFileSync(new URL(name, folder), "utf8");
  return readdirSync(folder).map((name) => textOf(name).match(/^```js (?!exercise-)/gm).length);
}

describe("Without scripts", () => {
  let own;
  before(async () => {
    own = await serveSite({ headers: WITHOUT_SCRIPTS });
  });
  after(() => own?.close());

  it("the first page has the heading of every view", async () => {
    const visit = await openPage(browser, own.url, { isLive: false });
    for (const view of VIEWS) {
      assert.equal(await countVisible(visit.page, `[id="${view}"] h1`), 1, view);
    }
    await visit.close();
  });

  it("all content is readable: all code, all known outputs, all drawings, but no buttons", async () => {
    const visit = await openPage(browser, own.url, { isLive: false });
    const { page } = visit;
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
    const written = countWrittenCells();
    assert.deepEqual(written.slice(0, 5), [18, 52, 39, 12, 66]);
    assert.equal(
      counts.cells,
      written.reduce((sum, count) => sum + count),
    );
    assert.ok(counts.outputs > 80);
    assert.equal(counts.drawings, DRAWINGS);
    await visit.close();
  });

  it("no drawing is wider than a screen of 320 pixels", async () => {
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
