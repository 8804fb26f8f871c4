// The API reference: TypeDoc's pages, under the same policy as the other pages.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { axeViolations, onceForAll } from "./axe.mjs";
import {
  chromiumOnly,
  click,
  emulate,
  launchBrowser,
  openPage,
  serveSite,
  textOf,
  waitFor,
} from "./page.mjs";

const folder = fileURLToPath(new URL("../../dist/web/api", import.meta.url));
const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'";

describe("The API reference", () => {
  let browser;
  let site;
  before(async () => {
    browser = await launchBrowser();
    site = await serveSite({ headers: { "content-security-policy": policy } });
  });
  after(async () => {
    await browser?.close();
    await site?.close();
  });

  function open(path) {
    return openPage(browser, site.url + path, { isLive: path === "" });
  }

  it("is linked from the page, and has a page for every function", async () => {
    const { page, close } = await open("");
    const arriveAt = (end) => waitFor(page, (path) => location.pathname.endsWith(path), end);
    await click(page, ".contents a[href='./api/index.html']");
    await arriveAt("/api/index.html");
    await click(page, "#tsd-search-trigger");
    await page.locator("#tsd-search-input").fill("quantizedlinear");
    await click(page, "#tsd-search-results li");
    await arriveAt("/classes/zeropoint.QuantizedLinear.html");
    assert.match(await textOf(page, "h1"), /QuantizedLinear/);
    await close();
  });

  for (const path of [
    "api/index.html",
    "api/functions/zeropoint.quantize.html",
    "api/classes/zeropoint_torch.HistogramObserver.html",
    "api/modules/zeropoint_notebook.html",
  ]) {
    it(`breaks no policy and has no errors: ${path}`, async () => {
      const { page, problems, close } = await open(path);
      await page.waitForSelector("#tsd-nav-container li");
      assert.ok((await textOf(page, "main")).length > 200);
      assert.deepEqual(await problems(), []);
      await close();
    });
  }

  it("has the pages of every entry of the package", () => {
    const { exports } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url)));
    const entries = Object.entries(exports).filter(
      ([entry, { types }]) => types !== undefined && !entry.endsWith(".wasm"),
    );
    const pages = readdirSync(join(folder, "modules"));
    assert.ok(entries.length >= 6);
    for (const [entry] of entries) {
      const name = `zeropoint${entry.slice(1)}`.replaceAll("/", "_");
      assert.ok(pages.includes(`${name}.html`), name);
    }
  });

  it("uses the reader's theme, and passes it on", chromiumOnly("choose a theme"), async () => {
    const background = (page) =>
      page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const [light, dark] = ["rgb(251, 250, 246)", "rgb(21, 24, 28)"];
    const { page, close } = await open("api/index.html");
    await emulate(page, { colorScheme: "light" });
    assert.equal(await background(page), light);
    await emulate(page, { colorScheme: "dark" });
    assert.equal(await background(page), dark);
    await page.evaluate(() => localStorage.setItem("zeropoint-theme", "light"));
    await page.reload();
    assert.equal(await background(page), light);
    await page.select("#tsd-theme", "dark");
    assert.equal(await background(page), dark);
    assert.equal(await page.evaluate(() => localStorage.getItem("zeropoint-theme")), "dark");
    await close();
  });

  it("shows code in the colours of the other pages", chromiumOnly("choose a theme"), async () => {
    // Both pages start with the same sample.
    const texts = ["await", '"zeropoint"', "191.6", "// 1.8084441423416138"];
    const colorsOf = (page, sample) =>
      page.$eval(
        sample,
        (pre, texts) =>
          texts.map((text) => {
            const spans = [...pre.querySelectorAll("span")];
            const span = spans.find(({ textContent }) => textContent.trim() === text);
            return `${text}: ${span && getComputedStyle(span).color}`;
          }),
        texts,
      );
    for (const colorScheme of ["light", "dark"]) {
      const { page, close } = await open("api/index.html");
      await emulate(page, { colorScheme });
      const reference = await colorsOf(page, "main pre");
      await page.goto(site.url);
      assert.deepEqual(reference, await colorsOf(page, "pre.sample"), colorScheme);
      await close();
    }
  });

  it("opens and closes the branches of its tree of pages, whose links work", async () => {
    const { page, close } = await open("api/index.html");
    const branch = "#tsd-nav-container .branch";
    await page.waitForSelector(branch);
    const isOpen = () => page.$eval(`${branch} > details`, (details) => details.open);
    const before = await isOpen();
    await click(page, `${branch} > details > summary`);
    assert.equal(await isOpen(), !before);
    // The first level lists the entries by their import names.
    const names = await page.$$eval("#tsd-nav-container > .branch", (entries) =>
      entries.map((entry) => [
        entry.querySelector("a").textContent,
        entry.querySelector("summary").ariaLabel,
      ]),
    );
    assert.deepEqual(names, [
      ["zeropoint", "zeropoint"],
      ["zeropoint/models", "zeropoint/models"],
      ["zeropoint/notebook", "zeropoint/notebook"],
      ["zeropoint/search", "zeropoint/search"],
      ["zeropoint/slim", "zeropoint/slim"],
      ["zeropoint/torch", "zeropoint/torch"],
      ["zeropoint/worker", "zeropoint/worker"],
    ]);
    await click(page, `${branch} > a`);
    await waitFor(page, () => location.pathname.endsWith("/modules/zeropoint.html"));
    await close();
  });

  it("names every entry of the package", async () => {
    const { page, close } = await open("api/index.html");
    const text = await textOf(page, "main");
    const manifest = JSON.parse(
      readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
    );
    const entries = Object.keys(manifest.exports).filter(
      (entry) => !/\.(wasm|json|js)$/.test(entry),
    );
    assert.equal(entries.length, 7);
    for (const entry of entries) assert.ok(text.includes(entry.replace(".", "zeropoint")), entry);
    await close();
  });

  it("has a title and heading that tell it from the notebooks' page", async () => {
    const { page, close } = await open("api/index.html");
    assert.equal(await page.title(), "API reference · zeropoint");
    await close();
  });

  it("has one main landmark, and links distinguishable without colour", async () => {
    const { page, close } = await open("api/index.html");
    assert.equal((await page.$$("main")).length, 1);
    const line = await page.$eval(
      "main a[href='modules/zeropoint.html']",
      (link) => getComputedStyle(link).textDecorationLine,
    );
    assert.equal(line, "underline");
    await close();
  });

  const pages = [
    "index.html",
    "hierarchy.html",
    "modules/zeropoint.html",
    "classes/zeropoint_torch.HistogramObserver.html",
    "functions/zeropoint.quantize.html",
    "interfaces/zeropoint.FloatLinearOptions.html",
    "types/zeropoint.QuantizedTensor.html",
    "types/zeropoint.ErrorCode.html",
    "variables/zeropoint_notebook.torch.html",
    "documents/Quantizing_tensors.html",
    "documents/Running.html",
  ];
  // Colours depend on the theme, and the menu on the screen's width: test one page of each layout.
  const some = [
    "index.html",
    "functions/zeropoint.quantize.html",
    "documents/Formats_and_layouts.html",
  ];
  for (const [width, theme, paths] of [
    [1280, "light", pages],
    [1280, "dark", some],
    [360, "light", some],
  ]) {
    const title = `has no violations found by axe at ${width} pixels in the ${theme} theme`;
    it(title, onceForAll, async () => {
      const { page, close } = await open("api/index.html");
      await page.setViewport({ width, height: 900 });
      await page.evaluate((chosen) => localStorage.setItem("zeropoint-theme", chosen), theme);
      for (const path of paths) {
        await page.goto(`${site.url}api/${path}`);
        await page.waitForSelector("#tsd-nav-container li summary");
        assert.deepEqual(await axeViolations(page), [], path);
      }
      await close();
    });
  }

  it("never scrolls sideways on a screen of 360 pixels", async () => {
    const { page, close } = await open("api/index.html");
    await page.setViewport({ width: 360, height: 740 });
    const wide = [];
    for (const path of [
      "index.html",
      "hierarchy.html",
      "modules/zeropoint_notebook.html",
      "classes/zeropoint_torch.HistogramObserver.html",
      "classes/zeropoint_torch.MovingAveragePerChannelMinMaxObserver.html",
      "functions/zeropoint_torch.getDefaultQATQConfig.html",
      "functions/zeropoint.quantize.html",
      ...readdirSync(join(folder, "documents")).map((name) => `documents/${name}`),
    ]) {
      await page.goto(`${site.url}api/${path}`);
      const room = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement;
        return scrollWidth - clientWidth;
      });
      if (room > 0) wide.push(`${path}: ${room} pixels`);
    }
    assert.deepEqual(wide, []);
    await close();
  });

  it("has no broken links", () => {
    const pages = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".html"));
    let links = 0;
    for (const page of pages) {
      const text = readFileSync(join(folder, page), "utf8");
      for (const [, href] of text.matchAll(/<a [^>]*href="([^"#][^"#]*)/g)) {
        // Links to TypeScript's types lead to external documentation.
        if (/^https:/.test(href)) continue;
        assert.ok(existsSync(join(folder, dirname(page), href)), `${page} links to ${href}`);
        links++;
      }
    }
    assert.ok(links > 1000, `${links} links`);
  });

  it("has the documents, with their links among themselves, to parts of a page and to the site", () => {
    const docs = new URL("../../docs/", import.meta.url);
    const titles = readdirSync(docs)
      .filter((name) => name !== "releasing.md")
      .map((name) => /^# (.+)/.exec(readFileSync(new URL(name, docs), "utf8"))[1]);
    const pages = readdirSync(join(folder, "documents"));
    assert.deepEqual(
      pages.sort(),
      titles.map((title) => `${title.replace(/\W/g, "_")}.html`).sort(),
    );
    const texts = new Map(
      pages.map((name) => [name, readFileSync(join(folder, "documents", name), "utf8")]),
    );
    let links = 0;
    for (const [name, text] of texts) {
      assert.doesNotMatch(text, /href="[^"]*\.md[#"]/, name);
      for (const [, to, part] of text.matchAll(/href="([A-Z]\w+\.html)?#([\w-]+)"/g)) {
        assert.match(texts.get(to ?? name), new RegExp(` id="${part}"`), `${name}: ${to}#${part}`);
        links++;
      }
    }
    assert.ok(links > 20, `${links} links`);
    assert.match(texts.get("Numerics_and_sources.html"), /href="..\/..\/index.html#digit-planes"/);
  });

  it("describes each option of quantize once in each of its signatures", () => {
    const text = readFileSync(join(folder, "functions", "zeropoint.quantize.html"), "utf8");
    // Two: the codes of float8 and float4 have another type.
    const [, ...signatures] = text.split('class="tsd-signature tsd-anchor-link"');
    assert.equal(signatures.length, 2);
    for (const signature of signatures) {
      const names = Array.from(
        signature.matchAll(/<h5[^>]*><span>([^<]+)<\/span><\/h5>/g),
        ([, name]) => name,
      );
      assert.ok(names.includes("groupSize"), String(names));
      assert.deepEqual(names, [...new Set(names)]);
    }
  });

  it("stays small", () => {
    const files = readdirSync(folder, { recursive: true }).map((name) => join(folder, name));
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
    assert.ok(files.length > 100 && bytes < 8.5e6, `${files.length} files, ${bytes} bytes`);
  });
});
