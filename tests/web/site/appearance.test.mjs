// Themes, motion and printing.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { heatMapCells } from "../heat-maps.mjs";
import {
  attributeOf,
  chromiumOnly,
  click,
  clickInto,
  countVisible,
  emulate,
  enter,
  openNotebook,
  openPage,
  press,
} from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";
import { NOTEBOOKS, show } from "./views.mjs";

describe("The theme", () => {
  const paper = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

  it(
    "follows the system, and the button's choice survives a reload",
    chromiumOnly("choose a theme"),
    async () => {
      const visit = await openPage(browser, site.url, { colorScheme: "light" });
      const { page } = visit;
      const light = await paper(page);
      await emulate(page, { colorScheme: "dark" });
      const dark = await paper(page);
      assert.notEqual(light, dark);
      await emulate(page, { colorScheme: "light" });
      await click(page, "#theme");
      assert.equal(await paper(page), dark);
      assert.equal(await attributeOf(page, "#theme", "aria-pressed"), "true");
      await page.reload();
      await page.waitForSelector(".is-live");
      assert.equal(await paper(page), dark);
      await click(page, "#theme");
      assert.equal(await paper(page), light);
      await visit.close();
    },
  );
});

describe("Heat maps", () => {
  it("follow the theme: 0 is close to the paper, and numbers stay readable", async () => {
    const visit = await openPage(browser, site.url, { viewport: { width: 1280, height: 900 } });
    const { page } = visit;
    await show(page, NOTEBOOKS[0]);
    const read = async () => {
      const cells = await heatMapCells(page, ".view[data-current] svg.heat-map");
      return {
        zero: cells.find(({ text }) => text === "0").background,
        contrast: Math.min(...cells.map(({ contrast }) => contrast)),
      };
    };
    const light = await read();
    await click(page, "#theme");
    const dark = await read();
    assert.ok(light.zero > 0.8 && dark.zero < 0.03, JSON.stringify([light, dark]));
    assert.ok(light.contrast >= 4.5 && dark.contrast >= 4.5, JSON.stringify([light, dark]));
    await visit.close();
  });

  it("of the playground follow it, too", async () => {
    const hash = "#play?v=1&x=relu.4.4.7&s=symmetric&b=4";
    const visit = await openPage(browser, `${site.url}${hash}`);
    const { page } = visit;
    await page.waitForSelector("#play .play[data-complete]");
    const brightness = () =>
      page.$eval(".play-canvas canvas", (canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return data.reduce((sum, value) => sum + value, 0) / data.length;
      });
    const light = await brightness();
    await click(page, "#theme");
    const dark = await brightness();
    assert.ok(dark < light - 40, `${light} to ${dark}`);
    await visit.close();
  });
});

describe("The colour of the browser's own bars", () => {
  it("is the chosen theme's", chromiumOnly("choose a theme"), async () => {
    const colour = (page) =>
      page.$$eval("meta[name='theme-color']", (metas) =>
        metas.filter(({ media }) => matchMedia(media).matches).map(({ content }) => content),
      );
    const visit = await openPage(browser, site.url, { colorScheme: "light" });
    const { page } = visit;
    assert.deepEqual(await colour(page), ["#fbfaf6"]);
    await click(page, "#theme");
    assert.deepEqual(await colour(page), ["#15181c"]);
    await page.reload();
    await page.waitForSelector(".is-live");
    assert.deepEqual(await colour(page), ["#15181c"]);
    await click(page, "#theme");
    assert.deepEqual(await colour(page), ["#fbfaf6"]);
    await visit.close();
  });
});

describe("Reduced motion", () => {
  const title = "leaves no animation, transition or smooth scrolling";
  it(title, chromiumOnly("prefer no motion"), async () => {
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

describe("Paper", () => {
  /** The beginnings of outputs and codes that are larger than their boxes. */
  const cutOffTexts = (page) =>
    page.evaluate(() => {
      const view = document.querySelector(".view[data-current]");
      const editors = Array.from(view.querySelectorAll(".editor"), ({ shadowRoot }) =>
        shadowRoot.querySelector(".cm-scroller"),
      );
      return [...view.querySelectorAll("pre"), ...editors]
        .filter((box) => box.checkVisibility())
        .filter(
          (box) => box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1,
        )
        .map((box) => box.textContent.slice(0, 40));
    });

  it("shows code and outputs, without controls", chromiumOnly("print"), async () => {
    const visit = await openPage(browser, site.url);
    const { page } = visit;
    await show(page, NOTEBOOKS[0]);
    await page.emulateMediaType("print");
    assert.equal(await countVisible(page, "button"), 0);
    assert.equal(await countVisible(page, '[id="quantize-and-dequantize-cell-6"] .cell-output'), 1);
    await visit.close();
  });

  it(
    "shows the playground and the lab without what only a pointer uses",
    chromiumOnly("print"),
    async () => {
      const visit = await openPage(browser, `${site.url}#play`);
      const { page } = visit;
      for (const [view, ready] of [
        ["play", "#play .play[data-complete]"],
        ["lab", "#lab .lab:not([hidden])"],
      ]) {
        await page.evaluate((hash) => {
          location.hash = hash;
        }, view);
        await page.waitForSelector(ready);
        await page.emulateMediaType("print");
        assert.equal(await countVisible(page, ".view[data-current] :is(.button, .lab-drop)"), 0);
        assert.equal(await countVisible(page, ".view[data-current] h1"), 1);
        await page.emulateMediaType("screen");
      }
      await visit.close();
    },
  );

  it("is black on white, in any theme", chromiumOnly("print"), async () => {
    const visit = await openPage(browser, site.url, { colorScheme: "light" });
    const { page } = visit;
    await click(page, "#theme");
    await page.emulateMediaType("print");
    const colours = await page.$eval("body", (body) => {
      const { color, backgroundColor } = getComputedStyle(body);
      return { color, backgroundColor };
    });
    assert.deepEqual(colours, { color: "rgb(28, 33, 39)", backgroundColor: "rgb(251, 250, 246)" });
    await visit.close();
  });

  it("has complete lines and complete outputs", chromiumOnly("print"), async () => {
    const visit = await openPage(browser, site.url, { viewport: { width: 500, height: 700 } });
    const { page } = visit;
    await openNotebook(page, NOTEBOOKS[0]);
    const cell = '[id="quantize-and-dequantize-cell-1"]';
    await clickInto(page, cell);
    await press(page, "Mod+a");
    await enter(
      page,
      'for (let i = 0; i < 100; i++) print(i, "a line that is longer than paper is wide");',
    );
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${cell}[data-state="done"]`);
    await page.emulateMediaType("print");
    assert.deepEqual(await cutOffTexts(page), []);
    await visit.close();
  });
});

describe("Forced colours", () => {
  const title = "show which choice is made, how long bars are and which digits are outlined";
  it(title, chromiumOnly("force colours"), async () => {
    const visit = await openPage(browser, site.url);
    const { page } = visit;
    const session = await page.createCDPSession();
    await session.send("Emulation.setEmulatedMedia", {
      features: [{ name: "forced-colors", value: "active" }],
    });
    const colours = (selectors, property) =>
      page.evaluate(
        (all, name) => all.map((each) => getComputedStyle(document.querySelector(each))[name]),
        selectors,
        property,
      );
    const current = ".view[data-current]";
    await page.waitForSelector("#overview .reader-bars:not(.is-labels)");
    const [chosen, other, bar, paper] = await colours(
      [
        `${current} .segmented label:has(:checked)`,
        `${current} .segmented label:not(:has(:checked))`,
        `${current} .reader-bars:not(.is-labels) > span`,
        `${current} .pad-paper`,
      ],
      "backgroundColor",
    );
    const [ground] = await colours(["body"], "backgroundColor");
    assert.notEqual(chosen, other);
    assert.notEqual(bar, ground);
    // The ink is black in any theme.
    assert.equal(paper, "rgb(255, 255, 255)");
    await page.evaluate(() => {
      location.hash = "search";
    });
    await page.waitForSelector("#search[data-current] .search-hits");
    await page.$eval(".search-hits", (hits) => {
      const [plain, outlined] = [document.createElement("li"), document.createElement("li")];
      outlined.className = "is-other";
      hits.append(plain, outlined);
    });
    const [plain, outlined] = await colours(
      [".search-hits li:not(.is-other)", ".search-hits .is-other"],
      "borderTopColor",
    );
    assert.equal(plain, ground);
    assert.notEqual(outlined, ground);
    await session.detach();
    await visit.close();
  });
});
