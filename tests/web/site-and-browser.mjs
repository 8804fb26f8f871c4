// The site and the browser that all tests of a file share: whoever imports them has them from the first
// test to the last.

import { after, before } from "node:test";
import { launchBrowser } from "./browser.mjs";
import { serveSite } from "./serve.mjs";

/** @type {Awaited<ReturnType<typeof serveSite>>} */
export let site;
/** @type {import("puppeteer-core").Browser} */
export let browser;

before(async () => {
  site = await serveSite();
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  await site?.close();
});
