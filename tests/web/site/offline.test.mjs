// The page without a network, and with a network that does not respond.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { axeViolations, onceForAll } from "../axe.mjs";
import {
  click,
  openNotebook,
  openPage,
  readCells,
  runAll,
  SUB_PATH,
  serveSite,
  waitFor,
} from "../page.mjs";
import { browser } from "../site-and-browser.mjs";
import { NOTEBOOKS } from "./views.mjs";

describe("Offline", () => {
  let visit;
  let page;
  before(async () => {
    const own = await serveSite();
    visit = await openPage(browser, own.url, { isFirst: true });
    ({ page } = visit);
    await page.evaluate(() => navigator.serviceWorker.ready);
    await waitFor(page, () => navigator.serviceWorker.controller !== null);
    // Files are cached on use: open a notebook, plots and the digits.
    for (const notebook of ["finer-granularity", "what-it-costs"]) {
      await openNotebook(page, notebook);
      await runAll(page);
    }
    await waitUntilKept(page, await usedFiles(page));
    // The other notebooks need files of their own, which the page fetches once it is idle.
    await waitUntilKept(page, (await listedFiles(own)).REST);
    // More than offline: the server is closed.
    await own.close();
  });
  after(() => visit?.close());

  it("the page opens below its sub-path", async () => {
    await page.reload();
    await page.waitForSelector(".is-live");
    assert.ok(new URL(page.url()).pathname.startsWith(SUB_PATH));
  });

  for (const notebook of NOTEBOOKS) {
    it(`the cells of ${notebook} run, and no output differs`, async () => {
      await openNotebook(page, notebook);
      await runAll(page);
      const differing = (await readCells(page)).filter(
        ({ state, verdict }) => state !== "done" || verdict === "differs" || verdict === "violated",
      );
      assert.deepEqual(differing, []);
    });
  }

  it("no error is reported", async () => {
    assert.deepEqual(await visit.problems(), []);
  });
});

describe("After a first visit of the overview alone", () => {
  const kept = (page) =>
    page.evaluate(async () => {
      const [name] = (await caches.keys()).filter((each) => !each.endsWith("opened"));
      return (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname);
    });
  let visit;
  let page;
  before(async () => {
    const own = await serveSite();
    visit = await openPage(browser, own.url, { isFirst: true });
    ({ page } = visit);
    await waitFor(page, () => navigator.serviceWorker.controller !== null);
    const first = await kept(page);
    assert.ok(first.some((path) => /\/index-[^/]*\.js$/.test(path)));
    assert.deepEqual(
      first.filter((path) => /(baseline|relaxed|editor|worker)-/.test(path)),
      [],
    );
    await waitUntilKept(page, (await listedFiles(own)).REST);
    await own.close();
    await page.reload();
    await page.waitForSelector(".is-live");
  });
  after(() => visit?.close());

  it("a notebook's cells run without the server", async () => {
    await openNotebook(page, "finer-granularity");
    await runAll(page);
    const cells = await readCells(page);
    assert.ok(cells.length > 0);
    const failed = cells.filter(({ state }) => state !== "done");
    assert.deepEqual(failed, []);
  });

  it("the playground and the lab work, too", async () => {
    await page.evaluate(() => {
      location.hash = "play";
    });
    await page.waitForSelector("#play .play[data-complete]");
    await page.evaluate(() => {
      location.hash = "lab";
    });
    await page.waitForSelector("#lab input[type=file]");
    assert.equal(await page.$(".part-missing"), null);
  });
});

/** The lists of files in the service worker. */
async function listedFiles(own) {
  const text = await (await fetch(`${own.url}service-worker.js`)).text();
  const list = (name) =>
    JSON.parse(new RegExp(`const ${name} = .*?(\\["[^\\]]*\\])`).exec(text)[1]);
  return { FILES: list("FILES"), REST: list("REST"), ON_USE: list("ON_USE") };
}

/**
 * Waits until the service worker keeps all of the given files.
 * @param {import("puppeteer-core").Page} page
 * @param {string[]} files
 */
function waitUntilKept(page, files) {
  const areKept = async (all) => {
    const kept = await Promise.all(all.map((file) => caches.match(file)));
    return kept.every((each) => each !== undefined);
  };
  return waitFor(page, areKept, files);
}

/** The files that the page has loaded since it was opened. */
function usedFiles(page) {
  return page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .map(({ name }) => name)
      .filter((url) => url.includes("/assets/")),
  );
}

describe("For readers who save data", () => {
  it("keeps the files that were used, also those requested before the service worker was there", async () => {
    let install = () => {};
    const isInstalled = new Promise((resolve) => {
      install = resolve;
    });
    // The service worker is installed once it has the text of this view, which the page does not open.
    const own = await serveSite({
      pause: (path) => (/\/measure-[^/]*\.html$/.test(path) ? isInstalled : undefined),
    });
    const visit = await openPage(browser, own.url, {
      isFirst: true,
      // Without this wish the page fetches all of its files once it is idle.
      prepare: () => Object.defineProperty(navigator, "connection", { value: { saveData: true } }),
    });
    const { page } = visit;
    await openNotebook(page, "finer-granularity");
    await runAll(page);
    assert.equal(await page.evaluate(() => navigator.serviceWorker.controller), null);
    install();
    await waitFor(page, () => navigator.serviceWorker.controller !== null);
    await waitUntilKept(page, await usedFiles(page));
    await own.close();
    await page.reload();
    await openNotebook(page, "finer-granularity");
    await runAll(page);
    const failed = (await readCells(page)).filter(({ state }) => state !== "done");
    assert.deepEqual(failed, []);
    await visit.close();
  });
});

describe("A part of the page that is missing", () => {
  it("is said to be, in its view", async () => {
    let isGone = false;
    const own = await serveSite({
      pause: () => (isGone ? Promise.reject(new Error("gone")) : undefined),
      edit: (name, body) => (name.endsWith("service-worker.js") ? "" : body),
    });
    const visit = await openPage(browser, own.url, { isFirst: true });
    const { page } = visit;
    isGone = true;
    await own.close();
    for (const view of ["finer-granularity", "play", "lab"]) {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, view);
      await page.waitForSelector(`#${view} .part-missing`);
      const text = await page.$eval(`#${view} .part-missing`, (note) => note.textContent);
      assert.match(text, /(could not be loaded|is not on this device)/);
    }
    if (!onceForAll.skip) assert.deepEqual(await axeViolations(page), []);
    await visit.close();
  });
});

describe("The files that the service worker keeps", () => {
  it("are those of the build, whatever it is told to keep", async () => {
    const own = await serveSite();
    const visit = await openPage(browser, own.url, { isFirst: true });
    const { page } = visit;
    await waitFor(page, () => navigator.serviceWorker.controller !== null);
    const { ON_USE } = await listedFiles(own);
    const [large] = ON_USE.filter((name) => /baseline-threads-/.test(name));
    await page.evaluate((file) => {
      const url = new URL(file, document.baseURI).href;
      const urls = [`${url}?1`, 5, new URL("assets/", document.baseURI).href, `${url}?2`, url];
      navigator.serviceWorker.controller.postMessage({ type: "keep", urls });
      navigator.serviceWorker.controller.postMessage({ type: "keep", urls: "none" });
      return fetch(`${url}?3`).then((response) => response.text());
    }, large);
    await waitFor(page, async (file) => (await caches.match(file)) !== undefined, large);
    const searched = await page.evaluate(async () => {
      const [name] = (await caches.keys()).filter((each) => !each.endsWith("opened"));
      return (await (await caches.open(name)).keys()).filter(({ url }) => url.includes("?")).length;
    });
    assert.equal(searched, 0);
    await visit.close();
    await own.close();
  });
});

describe("Offline, the API reference", () => {
  it("keeps the opened pages, and says so on the others", async () => {
    const own = await serveSite();
    const visit = await openPage(browser, own.url, { isFirst: true });
    const { page } = visit;
    await page.evaluate(() => navigator.serviceWorker.ready);
    await waitFor(page, () => navigator.serviceWorker.controller !== null);
    const opened = `${own.url}api/functions/zeropoint.quantize.html`;
    await page.goto(opened);
    const background = () => page.$eval("body", (body) => getComputedStyle(body).backgroundColor);
    const styled = await background();
    await own.close();
    await page.goto(opened);
    assert.equal(await page.$eval("h1", (title) => title.textContent), "Function quantize");
    assert.equal(await background(), styled);
    await page.goto(`${own.url}api/functions/zeropoint.tensor.html`);
    assert.match(await page.$eval("main", (main) => main.textContent), /has not been opened/);
    await click(page, "main a");
    await page.waitForSelector("#overview[data-current]");
    await visit.close();
  });
});

describe("A network that does not respond", () => {
  /** Opens the page and waits until it is cached. */
  async function visitOnce(own) {
    const visit = await openPage(browser, own.url, { isFirst: true });
    await waitFor(visit.page, () => navigator.serviceWorker.controller !== null);
    return visit;
  }
  /** Simulates another deployment. */
  const edit = (name, body) => {
    if (name.endsWith("index.html")) return String(body).replace("<html ", "$&data-new ");
    if (name.endsWith("service-worker.js")) {
      return String(body).replace(/VERSION = [^"]*"/, "$&new-");
    }
    return body;
  };
  const isShown = async (page) => (await page.$("html[data-new]")) !== null;
  const SOON = 15_000; // milliseconds: each request has a limit of 1.5 seconds, and machines are busy

  it("does not block the page, nor opened pages of the API reference", async () => {
    let hangs = false;
    const own = await serveSite({ pause: () => (hangs ? new Promise(() => {}) : undefined) });
    const visit = await visitOnce(own);
    const { page } = visit;
    const opened = `${own.url}api/functions/zeropoint.quantize.html`;
    await page.goto(opened);
    hangs = true;
    const start = performance.now();
    await page.goto(own.url, { waitUntil: "domcontentloaded" });
    await page.waitForSelector(".is-live");
    await page.goto(opened, { waitUntil: "domcontentloaded" });
    assert.equal(await page.$eval("h1", (heading) => heading.textContent), "Function quantize");
    assert.ok(performance.now() - start < SOON);
    await visit.close();
    await own.close();
  });

  it("does not block a new deployment once it responds", async () => {
    let isNew = false;
    const own = await serveSite({ edit: (name, body) => (isNew ? edit(name, body) : body) });
    const visit = await visitOnce(own);
    isNew = true;
    await visit.page.reload();
    assert.ok(await isShown(visit.page));
    await visit.close();
    await own.close();
  });

  it("shows the previous deployment while a new one is slow, and the new one next", async () => {
    let isNew = false;
    const slow = (path) => isNew && path === SUB_PATH;
    const own = await serveSite({
      edit: (name, body) => (isNew ? edit(name, body) : body),
      pause: (path) => (slow(path) ? new Promise(() => {}) : undefined),
    });
    const visit = await visitOnce(own);
    const { page } = visit;
    isNew = true;
    await page.reload();
    await page.waitForSelector(".is-live");
    assert.ok(!(await isShown(page)));
    await waitFor(page, async () => {
      const names = await caches.keys();
      return names.some((name) => / new-/.test(name)) && names.length === 1;
    });
    await page.reload();
    assert.ok(await isShown(page));
    await visit.close();
    await own.close();
  });
});
