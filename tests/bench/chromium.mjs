// page.mjs in Chromium: other browsers differ in clocks and limits.

import { Failure } from "../../scripts/process/run.mjs";
import { findBrowser } from "../../scripts/toolchain/browser.mjs";

/**
 * Opens the benchmark's page, and closes the browser after some work.
 * @template T
 * @param {string[]} flags  of V8
 * @param {(page: {
 *   name: string,
 *   call: (name: string, plan: object) => Promise<any>,
 *   browser: import("puppeteer-core").Browser,
 *   server: Awaited<ReturnType<typeof import("./serve.mjs")["serve"]>>,
 * }) => Promise<T>} work  gets the browser's name, and `call`, which runs a function of page.mjs and closes the page
 * @returns {Promise<T>}
 */
export async function inPage(flags, work) {
  process.env.ZEROPOINT_BROWSER = "chromium";
  if (!findBrowser("chromium")) throw new Failure("please install Chromium or Chrome");
  const { launchBrowser } = await import("../web/browser.mjs");
  const { serve } = await import("./serve.mjs");
  const server = await serve();
  const browser = await launchBrowser({ args: flags.map((flag) => `--js-flags=${flag}`) });
  try {
    const name = (await browser.version()).replace(/^(Headless)?Chrom(e|ium)\//, "Chromium ");
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    page.on("console", (message) => console.log(message.text()));
    // The page reports its end, without a time limit: polling would disturb the measurement.
    const told = new Promise((resolve, reject) => {
      page.exposeFunction("tellResult", (json) => resolve(JSON.parse(json))).catch(reject);
      page.on("pageerror", reject);
      page.on("close", () => reject(new Error("the page is gone")));
    });
    await page.goto(`${server.url}tests/bench/page.html`);
    await page.waitForFunction(() => globalThis.runSearch && globalThis.tellResult);
    const call = async (method, plan) => {
      await page.evaluate(
        (method, plan) => void globalThis[method](plan).then(globalThis.tellResult),
        method,
        plan,
      );
      const result = await told;
      await context.close();
      return result;
    };
    return await work({ name, call, browser, server });
  } finally {
    await browser.close();
    await server.close();
  }
}
