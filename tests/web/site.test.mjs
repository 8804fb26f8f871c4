// The page as a whole: its policy, offline use, small screens, themes, and readers of every kind.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, it } from "node:test";
import {
  launchBrowser,
  openNotebook,
  openPage,
  readCells,
  runAll,
  SUB_PATH,
  serveSite,
} from "./page.mjs";

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve("axe-core/axe.min.js"),
  "utf8",
);
const NOTEBOOKS = [
  "quantize-and-dequantize",
  "finer-granularity",
  "per-channel",
  "schemes-observers-qconfig",
  "quantizer-from-scratch",
  "what-it-costs",
];
const VIEWS = ["overview", ...NOTEBOOKS];

let browser;
let site;
before(async () => {
  site = await serveSite();
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  await site?.close();
});

async function show(page, view) {
  if (view !== "overview") {
    await openNotebook(page, view);
    await runAll(page);
  }
  await page.waitForFunction(() =>
    [...document.querySelectorAll(".view[data-current] [data-figure] form")].every(
      (form) => !form.hidden,
    ),
  );
}

describe("The policy", () => {
  it("is on the page, word for word", async () => {
    const visit = await openPage(browser, site.url);
    const policy = await visit.page.getAttribute(
      'meta[http-equiv="Content-Security-Policy"]',
      "content",
    );
    assert.equal(policy, "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'");
    await visit.close();
  });

  it("keeps the page itself from evaluating text", async () => {
    const visit = await openPage(browser, site.url);
    const message = await visit.page.evaluate(async () => {
      const script = document.createElement("script");
      script.textContent = "window.evaluated = true";
      document.head.append(script);
      return String(window.evaluated);
    });
    assert.equal(message, "undefined");
    await visit.close();
  });

  it("may also require trusted types", async () => {
    const strict = await serveSite({
      headers: {
        "content-security-policy": "require-trusted-types-for 'script'; trusted-types zeropoint",
      },
    });
    const visit = await openPage(browser, strict.url);
    await openNotebook(visit.page, NOTEBOOKS[0]);
    await runAll(visit.page);
    const cells = await readCells(visit.page);
    assert.equal(cells.filter(({ verdict }) => verdict === "matches").length, 7);
    assert.deepEqual(await visit.problems(), []);
    await visit.close();
    await strict.close();
  });
});

describe("Offline", () => {
  it("the page opens below its sub-path and runs all cells", async () => {
    const own = await serveSite();
    const visit = await openPage(browser, own.url);
    const { page, context } = visit;
    assert.ok(new URL(page.url()).pathname.startsWith(SUB_PATH));
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    // Not only offline: the server is gone.
    await own.close();
    await context.setOffline(true);
    await page.reload();
    await page.waitForSelector(".is-live");
    for (const notebook of NOTEBOOKS) {
      await openNotebook(page, notebook);
      await runAll(page);
      const cells = await readCells(page);
      const differing = cells.filter(
        ({ state, verdict }) => state !== "done" || verdict === "differs" || verdict === "violated",
      );
      assert.deepEqual(differing, [], notebook);
    }
    assert.deepEqual(await visit.problems(), []);
    await visit.close();
  });
});

describe("A screen of 360 pixels", () => {
  it("never scrolls sideways, before and after running", async () => {
    const visit = await openPage(browser, site.url, { viewport: { width: 360, height: 740 } });
    for (const view of VIEWS) {
      await show(visit.page, view);
      await visit.page.evaluate(() => {
        for (const details of document.querySelectorAll(".view[data-current] details")) {
          details.open = true;
        }
      });
      const { scrolled, wide } = await visit.page.evaluate(() => {
        scrollTo(500, scrollY);
        return { scrolled: scrollX, wide: document.documentElement.scrollWidth };
      });
      assert.deepEqual({ scrolled, wide }, { scrolled: 0, wide: 360 }, view);
    }
    await visit.close();
  });

  it("lets boxes that scroll inside be reached by keyboard", async () => {
    const visit = await openPage(browser, site.url, { viewport: { width: 360, height: 740 } });
    await show(visit.page, "finer-granularity");
    const unreachable = await visit.page.$$eval(
      ".view[data-current] :is(pre, .scroll-x)",
      (boxes) =>
        boxes
          .filter((box) => box.checkVisibility() && box.scrollWidth > box.clientWidth + 1)
          .filter((box) => box.tabIndex < 0)
          .map((box) => box.textContent.slice(0, 40)),
    );
    assert.deepEqual(unreachable, []);
    await visit.close();
  });
});

describe("axe", () => {
  for (const colorScheme of ["light", "dark"]) {
    it(`finds nothing in the ${colorScheme} theme, in any view, before and after running`, async () => {
      const visit = await openPage(browser, site.url, { colorScheme, bypassCSP: true });
      const { page } = visit;
      await page.evaluate(axeSource);
      for (const view of VIEWS) {
        if (view !== "overview") await openNotebook(page, view);
        await page.waitForTimeout(100);
        for (const moment of ["before", "after"]) {
          if (moment === "after") await show(page, view);
          const violations = await page.evaluate(async () => {
            const results = await window.axe.run(document, { resultTypes: ["violations"] });
            return results.violations.map(
              ({ id, nodes }) =>
                `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`,
            );
          });
          assert.deepEqual(violations, [], `${view} ${moment} running`);
        }
      }
      await visit.close();
    });
  }

  it("finds nothing on errors and differences either, in both themes", async () => {
    for (const colorScheme of ["light", "dark"]) {
      const visit = await openPage(browser, site.url, { colorScheme, bypassCSP: true });
      const { page } = visit;
      await openNotebook(page, NOTEBOOKS[0]);
      await page.evaluate(axeSource);
      // Without the cells before it this one fails; without its minus sign the scale differs.
      await page.click('[id="quantize-and-dequantize-cell-6"] button.run');
      await page.waitForSelector('[id="quantize-and-dequantize-cell-6"] .cell-error');
      const cell = '[id="quantize-and-dequantize-cell-4"]';
      await page.locator(`${cell} .cm-content`).click();
      await page.keyboard.press("ControlOrMeta+a");
      await page.keyboard.insertText("let scale = 3.6; let zero_point = -70;");
      await runAll(page);
      await page.waitForSelector('[data-verdict="differs"] .difference');
      const violations = await page.evaluate(async () => {
        const results = await window.axe.run(document, { resultTypes: ["violations"] });
        return results.violations.map(({ id, nodes }) => `${id}: ${nodes.map((n) => n.target)}`);
      });
      assert.deepEqual(violations, [], colorScheme);
      await visit.close();
    }
  });
});

describe("The theme", () => {
  const paper = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

  it("follows the system, and the button's choice survives a reload", async () => {
    const visit = await openPage(browser, site.url, { colorScheme: "light" });
    const { page } = visit;
    const light = await paper(page);
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await paper(page);
    assert.notEqual(light, dark);
    await page.emulateMedia({ colorScheme: "light" });
    await page.click("#theme");
    assert.equal(await paper(page), dark);
    assert.equal(await page.getAttribute("#theme", "aria-pressed"), "true");
    await page.reload();
    await page.waitForSelector(".is-live");
    assert.equal(await paper(page), dark);
    await page.click("#theme");
    assert.equal(await paper(page), light);
    await visit.close();
  });
});

describe("Reduced motion", () => {
  it("leaves no animation, transition or smooth scrolling", async () => {
    const moving = async (reducedMotion) => {
      const visit = await openPage(browser, site.url, { reducedMotion });
      await openNotebook(visit.page, NOTEBOOKS[0]);
      const found = await visit.page.evaluate(() => {
        document.querySelector(".view[data-current] .cell").dataset.state = "running";
        const elements = [document.documentElement, ...document.querySelectorAll("*")];
        return elements.filter((element) => {
          const style = getComputedStyle(element);
          return (
            style.scrollBehavior === "smooth" ||
            style.animationName !== "none" ||
            style.transitionDuration.split(", ").some((time) => Number.parseFloat(time) > 0)
          );
        }).length;
      });
      await visit.close();
      return found;
    };
    assert.ok((await moving("no-preference")) > 0);
    assert.equal(await moving("reduce"), 0);
  });
});

describe("Without scripts", () => {
  it("everything can be read: all notebooks, all code, all known outputs, all drawings", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(site.url);
    for (const view of VIEWS) assert.ok(await page.isVisible(`[id="${view}"] h1`), view);
    const folder = new URL("../../web/notebooks/", import.meta.url);
    const cells = readdirSync(folder).map(
      (name) => readFileSync(new URL(name, folder), "utf8").match(/^```js /gm).length,
    );
    assert.deepEqual(cells.slice(0, 5), [18, 52, 39, 11, 65]);
    const written = cells.reduce((sum, count) => sum + count);
    assert.equal(await page.locator(".cell:visible").count(), written);
    assert.ok((await page.locator(".cell-expected pre:visible").count()) > 80);
    assert.equal(
      await page.locator("[data-figure] svg.drawing:visible").count(),
      1 + 4 + 1 + 1 + 2,
    );
    assert.equal(await page.locator("button:visible").count(), 0);
    await context.close();
  });
});

describe("Finding one's way", () => {
  it("works by address: a notebook, a section or a cell", async () => {
    const visit = await openPage(browser, `${site.url}#finer-granularity-in-48`);
    const { page } = visit;
    assert.ok(await page.isVisible("#finer-granularity"));
    assert.ok(await page.isHidden("#overview"));
    const top = await page.$eval('[id="finer-granularity-in-48"]', (element) =>
      element.getBoundingClientRect(),
    );
    assert.ok(top.top >= 50 && top.top < 900);
    assert.equal(await page.title(), "Finer granularity · zeropoint");
    await visit.close();
  });

  it("goes back with the browser's button, and moves the focus to the new heading", async () => {
    const visit = await openPage(browser, site.url);
    const { page } = visit;
    await page.click('.contents a[href="#per-channel"]');
    await page.waitForSelector("#per-channel[data-current]");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Per channel");
    assert.equal(
      await page.getAttribute('.contents a[href="#per-channel"]', "aria-current"),
      "page",
    );
    await page.goBack();
    await page.waitForSelector("#overview[data-current]");
    await visit.close();
  });

  it("offers a way past the navigation that leaves the view as it is", async () => {
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

  it("comes to the skip link first", async () => {
    const visit = await openPage(browser, site.url);
    await visit.page.keyboard.press("Tab");
    assert.ok(await visit.page.evaluate(() => document.activeElement.matches(".skip-link")));
    await visit.close();
  });

  it("has no link that leads nowhere", async () => {
    const visit = await openPage(browser, site.url);
    const broken = await visit.page.$$eval("a[href]", (links) =>
      links
        .map((link) => link.getAttribute("href"))
        .filter((href) => href.startsWith("#") && !document.getElementById(href.slice(1))),
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

describe("Paper", () => {
  it("shows code and outputs, without controls", async () => {
    const visit = await openPage(browser, site.url);
    const { page } = visit;
    await show(page, NOTEBOOKS[0]);
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator("button:visible").count(), 0);
    assert.ok(await page.isVisible('[id="quantize-and-dequantize-cell-6"] .cell-output'));
    await visit.close();
  });
});
