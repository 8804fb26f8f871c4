// The site and the browser shared by all tests of a file: importing this module starts them before the first test
// and closes them after the last.

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
