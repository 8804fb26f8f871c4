// The memory of the Model Lab with a large file, in Chromium.
//
//   node scripts/test/large-model.mjs large.safetensors --size 2GB
//   node tests/web/lab/memory.mjs large.safetensors [--estimates]
//
// Opens, analyzes, plans, writes, reads again, and prints for each step its time and the largest memory of the
// page's process, which holds the worker as well: its own bytes (anonymous and shared, without its program), and how
// many more they are than those of the lab before it opened a file. --estimates writes by the plan of the estimates.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { launchBrowser } from "../browser.mjs";
import { openPage, waitFor } from "../page.mjs";
import { serveSite } from "../serve.mjs";

const megabytes = (bytes) => (bytes / 1e6).toFixed(0);
const LAB = ".view[data-current] .lab:not([hidden])";

/** Resident bytes of each renderer, without its program. */
async function residentBytes() {
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const renderers = processInfo.filter(({ type }) => type === "renderer");
  return new Map(
    renderers.map(({ id }) => {
      const status = readFileSync(`/proc/${id}/status`, "utf8");
      const kilobytes = (field) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
      return [id, 1024 * (kilobytes("RssAnon") + kilobytes("RssShmem"))];
    }),
  );
}

/** The page's process is the one that grows the most: its bytes, and how much it has grown. */
async function memory() {
  const now = await residentBytes();
  const all = Array.from(now, ([id, bytes]) => ({ bytes, growth: bytes - (own.get(id) ?? bytes) }));
  return all.reduce((most, each) => (each.growth > most.growth ? each : most));
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { estimates: { type: "boolean" } },
});
const [path] = positionals;
const site = await serveSite();
const browser = await launchBrowser();
const session = await browser.target().createCDPSession();
const prepare = () => Reflect.deleteProperty(window, "showSaveFilePicker");
// Files of private windows are in memory.
const visit = await openPage(browser, `${site.url}#lab`, { prepare, isPrivate: false });
const { page } = visit;
await page.waitForSelector(LAB);
await page.waitForNetworkIdle();
// Without what loading has left behind.
await (await page.createCDPSession()).send("HeapProfiler.collectGarbage");
const own = await residentBytes();
console.log(`renderers at the start: ${[...own.values()].map(megabytes).join(", ")} MB`);

/** Heaps of the page and its workers, in MB: of JavaScript, of the document, of arrays outside. */
async function heaps() {
  const clients = [await page.createCDPSession(), ...page.workers().map(({ client }) => client)];
  const parts = clients.map(async (client) => {
    const { usedSize, totalSize, embedderHeapUsedSize, backingStorageSize } =
      await client.send("Runtime.getHeapUsage");
    return [usedSize, totalSize, embedderHeapUsedSize, backingStorageSize].map(megabytes).join(" ");
  });
  const { growth } = await memory();
  return `${megabytes(growth)} MB more; heaps ${(await Promise.all(parts)).join("; ")}`;
}

/** Runs a step and prints its time and the most memory in it. */
async function step(name, work) {
  const start = performance.now();
  let most = { bytes: 0, growth: 0 };
  const look = async () => {
    const now = await memory();
    if (now.growth > most.growth) most = now;
  };
  let last = start;
  const timer = setInterval(async () => {
    await look();
    if (performance.now() - last < 30_000) return;
    last = performance.now();
    const shown = ".lab-progress:not([hidden]) .lab-progress-text";
    console.log(
      `  ${await page.$$eval(shown, (texts) => texts.map((each) => each.textContent).join())}`,
    );
    console.log(`  ${await heaps()}`);
  }, 200);
  await work();
  await look();
  clearInterval(timer);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(
    `${name}: ${seconds} s, at most ${megabytes(most.growth)} MB more (${megabytes(most.bytes)} MB in all)`,
  );
}

/** Waits for minutes, which no call of the browser may last. */
async function wait(selector) {
  while (!(await page.$(selector))) await new Promise((done) => setTimeout(done, 500));
}
await step("header and first estimates", async () => {
  await (await page.$(".lab-drop input")).uploadFile(path);
  await wait(".is-estimate");
});
await step("all estimates", () =>
  waitFor(page, () => !/sample/.test(document.querySelector(".lab-progress-text").textContent)),
);
if (values.estimates) await wait(`${LAB}.is-planned`);
else {
  await step("exact analysis", () => wait(`${LAB}.is-analyzed.is-planned`));
  await step("details of a cell", async () => {
    await page.click(".layer-body .is-scheme");
    await wait(".detail-facts");
    await page.keyboard.press("Escape");
  });
}
await step("writing", async () => {
  await page.click("[data-action='write']");
  await page.waitForFunction(
    () =>
      /^Reading the file again/.test(
        document.querySelector(".lab-ship .lab-progress-text").textContent,
      ),
    { timeout: 0 },
  );
});
await step("reading again", () => wait(".lab-written a[download]"));
console.log(await page.$eval(".lab-written p", ({ textContent }) => textContent));
console.log((await visit.problems()).join("\n") || "no problem in the console");
await visit.close();
await browser.close();
await site.close();
