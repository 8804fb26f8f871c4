// Addresses, history and links.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  click,
  countVisible,
  inWholeSuite,
  openNotebook,
  openPage,
  serveSite,
  waitFor,
} from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";
import { NOTEBOOKS } from "./views.mjs";

describe("Finding one's way", inWholeSuite, () => {
  it("works by address: a notebook, a section or a cell", async () => {
    const visit = await openPage(browser, `${site.url}#finer-granularity-in-48`);
    const { page } = visit;
    assert.equal(await countVisible(page, "#finer-granularity"), 1);
    assert.equal(await countVisible(page, "#overview"), 0);
    const top = await page.$eval(
      '[id="finer-granularity-in-48"]',
      (element) => element.getBoundingClientRect().top,
    );
    assert.ok(top >= 50 && top < 900);
    assert.equal(await page.title(), "Finer granularity · zeropoint");
    await visit.close();
  });

  it("shows the overview if the address names nothing, or cannot be decoded", async () => {
    for (const hash of ["#nothing-of-that-name", "#%", "#%E0%A4%A"]) {
      const visit = await openPage(browser, site.url + hash);
      const { page } = visit;
      assert.equal(await countVisible(page, "#overview"), 1, hash);
      await openNotebook(page, NOTEBOOKS[0]);
      assert.deepEqual(await visit.problems(), [], hash);
      await visit.close();
    }
  });

  it("goes back with the browser's button, and moves the focus to the new heading", async () => {
    const visit = await openPage(browser, site.url);
    const { page } = visit;
    await click(page, '.contents a[href="#per-channel"]');
    await page.waitForSelector("#per-channel[data-current]");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Per channel");
    const current = await page.$$eval(".contents a[aria-current]", (links) =>
      links.map((link) => [link.getAttribute("href"), link.getAttribute("aria-current")]),
    );
    assert.deepEqual(current, [["#per-channel", "page"]]);
    await page.evaluate(() => history.back());
    await page.waitForSelector("#overview[data-current]");
    await visit.close();
  });

  /** Scrolls to a place, and waits until the history has it. Scroll anchoring may move the page by some pixels. */
  async function stayAt(page, place) {
    await page.evaluate((y) => scrollTo({ top: y, behavior: "instant" }), place);
    await waitFor(page, (y) => Math.abs(history.state?.top - y) < 10, place);
  }

  /** Waits until a view is shown at a scroll position. */
  const isShownAt = (page, view, place) =>
    waitFor(
      page,
      (id, y) =>
        document.getElementById(id).matches("[data-current]:not([data-part])") &&
        Math.abs(scrollY - y) < 10,
      view,
      place,
    );

  it("goes back and forward to the scroll positions, not only to the views", async () => {
    const visit = await openPage(browser, site.url);
    const { page } = visit;
    await openNotebook(page, "finer-granularity");
    await stayAt(page, 6000);
    await page.$eval(".contents a[href='#digit-planes']", (link) => link.click());
    await isShownAt(page, "digit-planes", 0);
    await stayAt(page, 900);
    await page.evaluate(() => history.back());
    await isShownAt(page, "finer-granularity", 6000);
    await page.evaluate(() => history.forward());
    await isShownAt(page, "digit-planes", 900);
    await page.reload();
    await isShownAt(page, "digit-planes", 900);
    await visit.close();
  });

  it("offers a link past the navigation that keeps the view", async () => {
    const visit = await openPage(browser, site.url);
    const { page } = visit;
    await openNotebook(page, "per-channel");
    await page.focus(".skip-link");
    assert.equal(
      await page.evaluate(() => document.activeElement.textContent),
      "Skip to the content",
    );
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    await page.reload();
    await page.waitForSelector("#per-channel[data-current]");
    await visit.close();
  });

  it("focuses the skip link first", async () => {
    const visit = await openPage(browser, site.url);
    await visit.page.keyboard.press("Tab");
    assert.ok(await visit.page.evaluate(() => document.activeElement.matches(".skip-link")));
    await visit.close();
  });

  it("shows a part of a view that was not fetched before, by link and by the browser's button", async () => {
    const visit = await openPage(browser, site.url);
    const { page } = visit;
    const cell = '[id="per-channel-cell-39"]';
    assert.equal(await page.$(cell), null);
    await page.evaluate(() => {
      location.hash = "per-channel-cell-39";
    });
    const isFocused = () =>
      waitFor(page, (part) => document.querySelector(part) === document.activeElement, cell);
    await isFocused();
    const isOnScreen = (part) =>
      waitFor(
        page,
        (each) => {
          const { top } = document.querySelector(each).getBoundingClientRect();
          return top >= 50 && top < 900;
        },
        part,
      );
    await isOnScreen(cell);
    await page.reload();
    await isOnScreen(cell);
    await page.evaluate(() => history.back());
    await page.waitForSelector("#overview[data-current]");
    await visit.close();
  });

  /** Waits until a cell has the focus, in the upper half of the screen. */
  const arrivesAt = (page, cell) =>
    waitFor(
      page,
      (part) => {
        const element = document.querySelector(part);
        if (!element || element !== document.activeElement) return false;
        const { top } = element.getBoundingClientRect();
        return top >= 50 && top < 450;
      },
      cell,
    );

  for (const [place, hashes] of [
    ["a place down the overview", ["finer-granularity-in-3"]],
    ["its own view", ["finer-granularity", "finer-granularity-in-3"]],
  ]) {
    it(`arrives at a cell whose link is followed from ${place}`, async () => {
      const cell = '[id="finer-granularity-in-3"]';
      const visit = await openPage(browser, site.url);
      const { page } = visit;
      await page.evaluate(() => scrollTo({ top: 1500, behavior: "instant" }));
      // One after the other, before the content of the view has come.
      await page.evaluate(async (steps) => {
        for (const hash of steps) {
          location.hash = hash;
          await new Promise((done) => addEventListener("hashchange", done, { once: true }));
        }
      }, hashes);
      await arrivesAt(page, cell);
      await page.waitForSelector("#finer-granularity .toolbar:not([hidden])");
      await arrivesAt(page, cell);
      await visit.close();
    });
  }

  it("links to a view's own page if the view cannot be fetched, and fetches it on the next visit", async () => {
    let isMissing = true;
    const own = await serveSite({
      missing: { test: (name) => isMissing && /\/per-channel-[^/]*\.html$/.test(name) },
    });
    const visit = await openPage(browser, own.url);
    const { page } = visit;
    const open = (view) =>
      page.evaluate((hash) => {
        location.hash = hash;
      }, view);
    await open("per-channel");
    await page.waitForSelector("#per-channel[data-failed]");
    assert.equal(await countVisible(page, "#per-channel .part-link a"), 1);
    isMissing = false;
    await open("overview");
    await page.waitForSelector("#overview[data-current]");
    await openNotebook(page, "per-channel");
    assert.equal(await countVisible(page, "#per-channel .part-link"), 0);
    await visit.close();
    await own.close();
  });
});

describe("The page", () => {
  it("has no broken links", async () => {
    const visit = await openPage(browser, site.url);
    const views = await visit.page.$$eval(".view", (all) => all.map(({ id }) => id));
    for (const view of views) {
      await visit.page.evaluate((hash) => {
        location.hash = hash;
      }, view);
      await visit.page.waitForSelector(`[id="${view}"][data-current]:not([data-part])`);
    }
    const broken = await visit.page.$$eval("a[href]", (links) =>
      links
        .map((link) => link.getAttribute("href"))
        .filter((href) => href.startsWith("#"))
        .filter((href) => !document.getElementById(href.slice(1).split("?")[0])),
    );
    assert.deepEqual(broken, []);
    const pages = await visit.page.$$eval("a[href]:not([href^='#'])", (links) =>
      links.map((link) => link.href),
    );
    for (const page of new Set(pages)) {
      assert.ok(page.startsWith(site.url) && (await fetch(page)).ok, `${page} is missing`);
    }
    await visit.close();
  });
});
