// Small, low and enlarged screens.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { click, openEditor, openNotebook, openPage, waitFor } from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";
import { fetchAll, NOTEBOOKS, show, VIEWS } from "./views.mjs";

/** Opens a view by its address. */
async function goTo(page, view) {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, view);
  await page.waitForSelector(`[id="${view}"][data-current]`);
}

describe("A low screen", () => {
  it("is left to the text: nothing stays fixed at its top", async () => {
    const visit = await openPage(browser, site.url, { viewport: { width: 320, height: 256 } });
    const { page } = visit;
    await openNotebook(page, "finer-granularity");
    await page.evaluate(() => scrollTo({ top: 1500, behavior: "instant" }));
    const tops = await page.$$eval(".page-header, .view[data-current] .toolbar", (bars) =>
      bars.map((bar) => bar.getBoundingClientRect().bottom),
    );
    assert.ok(tops.length === 2 && tops.every((bottom) => bottom < 0));
    await visit.close();
  });

  it("scrolls the list of keys if it does not fit, and covers no focused cell", async () => {
    const viewport = { width: 320, height: 500 };
    const visit = await openPage(browser, `${site.url}#finer-granularity-in-48`, { viewport });
    const { page } = visit;
    const bottom = () =>
      page.$eval(".view[data-current] .toolbar", (bar) => bar.getBoundingClientRect().bottom);
    const top = await page.$eval(
      '[id="finer-granularity-in-48"]',
      (cell) => cell.getBoundingClientRect().top,
    );
    assert.ok(top >= (await bottom()), "the cell is covered");
    await click(page, ".view[data-current] .keys summary");
    await page.waitForSelector(".view[data-current] .keys[open]");
    assert.ok((await bottom()) <= viewport.height);
    await visit.close();
  });
});

describe("The header", () => {
  it("has one line on a screen of 320 pixels, and covers no toolbar when it has two", async () => {
    const visit = await openPage(browser, site.url, { viewport: { width: 320, height: 640 } });
    const { page } = visit;
    await openNotebook(page, "finer-granularity");
    assert.equal(await page.$eval(".page-header", (header) => header.offsetHeight), 44);
    for (const size of ["100%", "200%"]) {
      await page.evaluate((fontSize) => {
        document.documentElement.style.fontSize = fontSize;
        scrollTo({ top: 3000, behavior: "instant" });
      }, size);
      await waitFor(page, () => {
        const boxOf = (selector) => document.querySelector(selector).getBoundingClientRect();
        const header = boxOf(".page-header");
        return Math.abs(header.bottom - boxOf(".view[data-current] .toolbar").top) < 1;
      });
    }
    await visit.close();
  });
});

describe("The buttons of a notebook on a telephone", () => {
  for (const width of [320, 390]) {
    it(`have words, and take at most 120 of 640 pixels with the header: ${width} pixels`, async () => {
      const visit = await openPage(browser, site.url, { viewport: { width, height: 640 } });
      const { page } = visit;
      await openNotebook(page, "finer-granularity");
      const { bottom, words } = await page.evaluate(() => {
        scrollTo({ top: 3000, behavior: "instant" });
        const bar = document.querySelector(".view[data-current] .toolbar");
        const shown = [...bar.querySelectorAll(":scope > .button > span")].filter(
          ({ offsetWidth }) => offsetWidth > 20,
        );
        return {
          bottom: bar.getBoundingClientRect().bottom,
          words: shown.map(({ innerText }) => innerText),
        };
      });
      assert.deepEqual(words, ["Run all", "Stop", "Restart", "Reset"]);
      assert.ok(bottom <= 120, `${bottom}`);
      await visit.close();
    });
  }
});

describe("A screen of 360 pixels", () => {
  // One page, on which all notebooks have run.
  let visit;
  let page;
  before(async () => {
    visit = await openPage(browser, site.url, { viewport: { width: 360, height: 740 } });
    ({ page } = visit);
    for (const view of VIEWS) await show(page, view);
  });
  after(() => visit?.close());

  it("never scrolls sideways after a run of all notebooks", async () => {
    for (const view of VIEWS) {
      await goTo(page, view);
      await page.evaluate(() => {
        for (const details of document.querySelectorAll(".view[data-current] details")) {
          details.open = true;
        }
      });
      const { scrolled, wide, room } = await page.evaluate(() => {
        scrollTo(500, scrollY);
        const { scrollWidth, clientWidth } = document.documentElement;
        return { scrolled: scrollX, wide: scrollWidth, room: clientWidth };
      });
      // Some browsers subtract the width of a scroll bar.
      assert.ok(room > 340 && room <= 360);
      assert.deepEqual({ scrolled, wide }, { scrolled: 0, wide: room }, view);
    }
  });

  it("shades the edges of everything that scrolls sideways, editors included", async () => {
    await goTo(page, "finer-granularity");
    await openEditor(page, '[id="finer-granularity-in-3"]');
    const boxes = await page.evaluate(() => {
      const all = [
        ...document.querySelectorAll(".view pre, .view .scroll-x"),
        ...Array.from(document.querySelectorAll(".editor"), ({ shadowRoot }) =>
          shadowRoot.querySelector(".cm-scroller"),
        ),
      ];
      return all.map((box) => {
        const { backgroundImage, backgroundAttachment } = getComputedStyle(box);
        const gradients = backgroundImage.match(/linear-gradient/g)?.length;
        return [box.className, gradients, backgroundAttachment.slice(0, 28)].join(" ");
      });
    });
    const bare = boxes.filter((box) => !/4 local, local, scroll, scroll$/.test(box));
    assert.ok(boxes.some((box) => box.startsWith("cm-scroller")));
    assert.deepEqual(bare, []);
  });

  it("keeps numbers and their units on one line, and products of two letters", async () => {
    await fetchAll(page);
    const prose = await page.$$eval(".view :is(p, li)", (parts) =>
      parts.map(({ textContent }) => textContent),
    );
    assert.ok(prose.some((text) => text.includes("91\u00a0%")));
    assert.ok(prose.some((text) => text.includes("d\u00a0·\u00a0q")));
    assert.deepEqual(
      prose.filter((text) => /\d (%|dB|kB|bits?|bytes?)(?!\w)/.test(text)),
      [],
    );
  });

  it("keeps the parts of a number together, and labels close to their lines", async () => {
    await goTo(page, "schemes-observers-qconfig");
    const wrapped = await page.$$eval(".view[data-current] .facts td", (cells) =>
      cells
        .filter((cell) => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          return new Set(Array.from(range.getClientRects(), ({ top }) => Math.round(top))).size > 1;
        })
        .map((cell) => cell.textContent),
    );
    assert.deepEqual(wrapped, []);
    const { fontSize, lineHeight } = await page.$eval(
      ".view[data-current] .cell-output pre",
      (output) => {
        const { fontSize, lineHeight } = getComputedStyle(output);
        return { fontSize: Number.parseFloat(fontSize), lineHeight: Number.parseFloat(lineHeight) };
      },
    );
    assert.ok(lineHeight < 1.7 * fontSize, `${lineHeight} for ${fontSize}`);
  });

  it("fits every plot, in letters of full size", async () => {
    for (const [view, count] of [
      ["quantize-and-dequantize", 4],
      ["what-it-costs", 2],
    ]) {
      await goTo(page, view);
      const drawings = await page.$$eval(
        ".view[data-current] .plot :is(.heat-map, [role='img'].drawing)",
        (all) =>
          all.map((drawing) => {
            const box = drawing.closest(".plot").getBoundingClientRect();
            const { left, right, width } = drawing.getBoundingClientRect();
            const isInside = left >= box.left - 1 && right <= box.right + 1;
            return { isInside, magnified: width / drawing.viewBox.baseVal.width };
          }),
      );
      assert.equal(drawings.length, count, view);
      for (const { isInside, magnified } of drawings) {
        assert.ok(isInside, view);
        if (view === "what-it-costs") assert.equal(magnified, 1);
      }
    }
  });

  it("makes scrollable boxes reachable by keyboard", async () => {
    await goTo(page, "finer-granularity");
    const unreachable = await page.$$eval(".view[data-current] :is(pre, .scroll-x)", (boxes) =>
      boxes
        .filter((box) => box.checkVisibility() && box.scrollWidth > box.clientWidth + 1)
        .filter((box) => box.tabIndex < 0)
        .map((box) => box.textContent.slice(0, 40)),
    );
    assert.deepEqual(unreachable, []);
  });
});

describe("Drawings", () => {
  let visit;
  before(async () => {
    visit = await openPage(browser, site.url);
  });
  after(() => visit?.close());

  for (const width of [320, 390, 900, 1440]) {
    it(`fill their card on a screen of ${width} pixels`, async () => {
      const { page } = visit;
      await page.setViewport({ width, height: 900 });
      for (const view of ["overview", "quantize-and-dequantize", "schemes-observers-qconfig"]) {
        if (view === "overview") await goTo(page, view);
        else await openNotebook(page, view);
        // A drawing for another width is made when zeropoint has started.
        await waitFor(page, () => {
          const boxes = document.querySelectorAll(".view[data-current] .figure-drawing");
          const shares = [...boxes].flatMap((box) =>
            [...box.querySelectorAll("div:not(.beside) > svg.drawing")]
              .filter((each) => each.checkVisibility() && !each.closest("td"))
              .map((each) => each.getBoundingClientRect().width / box.clientWidth),
          );
          const isFilled = (share) => share > 0.97 && share <= 1;
          if (shares.length === 0 || !shares.every(isFilled)) throw new Error(`${shares}`);
          return true;
        });
      }
    });
  }
});

describe("A screen of 320 pixels", () => {
  it("has no letters below 13 pixels in any drawing", async () => {
    const visit = await openPage(browser, site.url, { viewport: { width: 320, height: 800 } });
    const { page } = visit;
    for (const view of VIEWS) {
      if (view !== "overview") await openNotebook(page, view);
      await waitFor(page, () =>
        [...document.querySelectorAll(".view[data-current] [data-figure]")].every(
          (figure) => figure.dataset.live !== undefined,
        ),
      );
      const small = await page.$$eval(".view[data-current] svg.drawing", (drawings) =>
        drawings
          .filter((drawing) => drawing.checkVisibility())
          .flatMap((drawing) => {
            const magnified = drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
            return Array.from(drawing.querySelectorAll("text"), (text) => ({
              size: magnified * Number.parseFloat(getComputedStyle(text).fontSize),
              text: text.textContent,
            }));
          })
          .filter(({ size }) => size < 12.99),
      );
      assert.deepEqual(small, [], view);
    }
    await visit.close();
  });
});

describe("The word PyTorch", () => {
  for (const width of [1280, 390]) {
    it(`covers no code on a screen of ${width} pixels`, async () => {
      const visit = await openPage(browser, site.url, { viewport: { width, height: 900 } });
      const { page } = visit;
      for (const view of ["quantize-and-dequantize", "what-it-costs"]) {
        await openNotebook(page, view);
        const covered = await page.$$eval(".view[data-current] .cell", (cells) =>
          cells
            .filter((cell) => {
              const word = cell.querySelector(".cell-torch summary")?.getBoundingClientRect();
              if (!word) return false;
              const range = document.createRange();
              range.selectNodeContents(cell.querySelector(".cell-code code"));
              const box = cell.getBoundingClientRect();
              return Array.from(range.getClientRects()).some(
                ({ left, right, top, bottom }) =>
                  Math.min(right, box.right) > word.left + 1 &&
                  left < word.right &&
                  bottom > word.top + 4 &&
                  top < word.bottom,
              );
            })
            .map((cell) => cell.id),
        );
        assert.deepEqual(covered, [], view);
      }
      await visit.close();
    });
  }
});

describe("A screen enlarged to 200 %", () => {
  it("shows outputs in the code's font size", async () => {
    const visit = await openPage(browser, site.url, { viewport: { width: 640, height: 450 } });
    const { page } = visit;
    await show(page, NOTEBOOKS[0]);
    const size = (selector) =>
      page.$eval(`.view[data-current] ${selector}`, (text) => getComputedStyle(text).fontSize);
    assert.equal(await size(".cell-output pre"), await size(".cell-code"));
    await visit.close();
  });
});

describe("Font size doubled", () => {
  it("leaves nothing wider than a screen of 360 pixels, and the skip link off screen", async () => {
    const visit = await openPage(browser, site.url, { viewport: { width: 360, height: 740 } });
    const { page } = visit;
    await page.evaluate(() => {
      document.documentElement.style.fontSize = "200%";
    });
    const bottom = () =>
      page.$eval(".skip-link", (link) => Math.round(link.getBoundingClientRect().bottom));
    assert.ok((await bottom()) <= 0, `${await bottom()} pixels of the skip link`);
    for (const view of [...VIEWS, "play", "lab", "search", "measure", "digit-planes"]) {
      await goTo(page, view);
      if (view === "lab") await page.waitForSelector("#lab .lab:not([hidden])");
      const [wide, room] = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement;
        return [scrollWidth, clientWidth];
      });
      assert.equal(wide, room, view);
    }
    await page.focus(".skip-link");
    await waitFor(
      page,
      () => document.querySelector(".skip-link").getBoundingClientRect().top === 0,
    );
    await visit.close();
  });
});

describe("The QConfigs of notebook 4", () => {
  it("wrap, and are readable as a whole on a wide screen", async () => {
    const visit = await openPage(browser, site.url, { viewport: { width: 1280, height: 900 } });
    const { page } = visit;
    await show(page, "schemes-observers-qconfig");
    for (const number of [8, 9, 10]) {
      const own = `[id="schemes-observers-qconfig-cell-${number}"]`;
      const cut = await page.$$eval(`${own} .cell-result pre`, (boxes) => {
        for (const box of boxes) box.closest("details")?.setAttribute("open", "");
        return boxes.map((box) => box.scrollWidth - box.clientWidth);
      });
      assert.deepEqual(cut, [0, 0], own);
    }
    await visit.close();
  });
});

describe("The four panels of a plot", () => {
  it("are arranged in rows of equal length", async () => {
    const visit = await openPage(browser, site.url);
    const { page } = visit;
    await show(page, NOTEBOOKS[0]);
    for (const [width, columns] of [
      [1280, 4],
      [768, 2],
      [640, 2],
      [360, 2],
    ]) {
      await page.setViewport({ width, height: 900 });
      const tops = await page.$$eval(".view[data-current] .panel", (panels) =>
        panels.map((panel) => panel.getBoundingClientRect().top),
      );
      assert.equal(tops.length, 4);
      assert.equal(tops.filter((top) => top === tops[0]).length, columns, `${width} pixels`);
    }
    await visit.close();
  });
});

describe("Text with the spacing of WCAG 1.4.12", () => {
  it("is cut off nowhere, and makes no view wider than its screen", async () => {
    const visit = await openPage(browser, site.url, { viewport: { width: 360, height: 740 } });
    const { page } = visit;
    await page.evaluate(() => {
      const sheet = new CSSStyleSheet();
      const important = (text) => text.replaceAll(";", " !important;");
      sheet.replaceSync(
        `* { ${important("line-height: 1.5; letter-spacing: 0.12em; word-spacing: 0.16em;")} }
         p { ${important("margin-bottom: 2em;")} }`,
      );
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    });
    for (const view of [...VIEWS, "play", "lab", "search", "measure"]) {
      await goTo(page, view);
      if (view === "play") await page.waitForSelector("#play .play[data-complete]");
      const found = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement;
        const texts = ":is(button, label, summary, legend, th, td, p, h1, h2, h3)";
        const isCut = (box) => {
          const { overflowX, overflowY } = getComputedStyle(box);
          const hides = (overflow) => ["hidden", "clip"].includes(overflow);
          return (
            (hides(overflowX) && box.scrollWidth > box.clientWidth + 1) ||
            (hides(overflowY) && box.scrollHeight > box.clientHeight + 1)
          );
        };
        const cut = [...document.querySelectorAll(`.view[data-current] ${texts}`)]
          .filter((box) => box.checkVisibility() && !box.closest(".visually-hidden"))
          .filter(isCut);
        return {
          wider: scrollWidth - clientWidth,
          cut: cut.map(({ tagName, textContent }) => `${tagName} ${textContent.slice(0, 30)}`),
        };
      });
      assert.deepEqual(found, { wider: 0, cut: [] }, view);
    }
    await visit.close();
  });
});

describe("The slider of the lab's plan", () => {
  it("stands on the axis of the chart, on any screen", async () => {
    const visit = await openPage(browser, `${site.url}#lab?sample=digits.safetensors`);
    const { page } = visit;
    await page.waitForSelector(".lab.is-planned .frontier-box svg");
    for (const width of [320, 390, 900, 1440]) {
      await page.setViewport({ width, height: 900 });
      await waitFor(page, () => {
        const boxOf = (selector) => document.querySelector(selector).getBoundingClientRect();
        const chart = boxOf(".frontier-box svg");
        const slider = boxOf(".budget input");
        // The thumb's middle goes from the axis's start, 56 pixels from the chart's, to its end, 16 before the chart's.
        const off = [slider.left - (chart.left + 48), chart.right - 8 - slider.right];
        if (off.some((distance) => Math.abs(distance) > 2)) throw new Error(`${off}`);
        return true;
      });
    }
    await visit.close();
  });
});
