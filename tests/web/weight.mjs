// The download size of a view, and its longest task while loading.
//
//   node tests/web/weight.mjs     prints a table for the built page, with a processor 4 times as slow

import { pathToFileURL } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { PATIENCE } from "./browser.mjs";

/** Limit of the bytes that a view may load until it is used, with brotli. */
export const LIMITS = {
  overview: 90_000,
  "quantize-and-dequantize": 130_000,
  "quantizer-from-scratch": 130_000,
  "what-it-costs": 130_000,
  "formats-of-files": 130_000,
  search: 90_000,
};

/**
 * Loads a view and sums the brotli sizes of the files it requests.
 * @param {import("puppeteer-core").Browser} browser
 * @param {string} url  of the page
 * @param {string} view
 * @param {{ slowness?: number }} [options]  factor by which the processor is slowed down
 * @returns {Promise<{ bytes: number, files: [string, number][], longest: number }>}
 *   longest: of the tasks of more than 50 ms, in milliseconds
 */
export async function weigh(browser, url, view, { slowness = 1 } = {}) {
  // A context in which no service worker keeps the page's files.
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  if (slowness > 1) await page.emulateCPUThrottling(slowness);
  /** @type {Map<string, Promise<number>>} */
  const weights = new Map();
  page.on("response", (response) => {
    const path = new URL(response.url()).pathname.split("/").slice(-2).join("/");
    if (!response.ok() || response.fromServiceWorker() || weights.has(path)) return;
    weights.set(
      path,
      response.buffer().then(
        (body) => brotliCompressSync(body).length,
        () => 0,
      ),
    );
  });
  await page.evaluateOnNewDocument(() => {
    window.longTasks = [];
    if (!PerformanceObserver.supportedEntryTypes.includes("longtask")) return;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longTasks.push(duration);
    }).observe({ type: "longtask", buffered: true });
  });
  await page.goto(`${url}#${view}`);
  await page.waitForSelector(".is-live");
  await page.waitForNetworkIdle({ idleTime: 1000 });
  const longest = Math.max(0, ...(await page.evaluate(() => window.longTasks)));
  const files = await Promise.all(
    [...weights].map(
      async ([path, weight]) => /** @type {[string, number]} */ ([path, await weight]),
    ),
  );
  await context.close();
  return { bytes: files.reduce((sum, [, weight]) => sum + weight, 0), files, longest };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { launchBrowser } = await import("./browser.mjs");
  const { serveSite } = await import("./serve.mjs");
  const site = await serveSite();
  const browser = await launchBrowser();
  for (const [view, limit] of Object.entries(LIMITS)) {
    const { bytes, longest } = await weigh(browser, site.url, view, { slowness: 4 });
    const kilobytes = (bytes / 1000).toFixed(1);
    console.log(
      `${view}: ${kilobytes} kB of ${limit / 1000}, longest task ${longest.toFixed(0)} ms`,
    );
  }
  await browser.close();
  await site.close();
}
