// The notebook by keyboard alone.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  attributeOf,
  click,
  clickInto,
  codeOf,
  enter,
  openEditor,
  press,
  readCells,
  runAll,
  typeInto,
  waitFor,
  waitForFocusIn,
} from "../page.mjs";
import { cell, openForEach, page } from "./first-notebook.mjs";

const NOTEBOOK = "quantize-and-dequantize";

describe("The keyboard alone", () => {
  openForEach();

  const focusedText = () =>
    page.evaluate(() => document.activeElement?.textContent.trim().replace(/\s+/g, " "));

  /** Whether the focus is in code. The plain code gets it first; its editor then loads and takes it. */
  async function isInCode() {
    const inCode = await page.evaluate(() => !!document.activeElement?.closest(".cell-code"));
    if (inCode) await waitForFocusIn(page, ".editor");
    return inCode;
  }

  it("opens a notebook by its link, and its first editor, with Tab and Enter", async () => {
    await page.evaluate(() => {
      location.hash = "overview";
      document.activeElement?.blur();
    });
    await page.waitForSelector("#overview[data-current]");
    // To the first notebook's link, and through it. Not past the end of the page: a headless Firefox comes back from
    // its own toolbar without the window's focus.
    let text = "";
    for (let i = 0; i < 40 && !/^Quantize and dequantize/.test(text); i++) {
      await page.keyboard.press("Tab");
      text = await focusedText();
    }
    assert.match(text, /^Quantize and dequantize/);
    await page.keyboard.press("Enter");
    await page.waitForSelector(`#${NOTEBOOK}[data-current]`);
    // Into the first editor, which is part of the Tab order.
    for (let i = 0; i < 40 && !(await isInCode()); i++) await page.keyboard.press("Tab");
    assert.ok(await isInCode());
  });

  it("runs every cell with Shift+Enter, which moves to the next one", async () => {
    await openEditor(page, cell(1));
    await waitForFocusIn(page, `${cell(1)} .editor`);
    for (let number = 1; number <= 18; number++) {
      // The next editor gets the focus as soon as it exists, which may be after the run.
      await waitFor(
        page,
        (id) => document.activeElement.closest(".cell")?.dataset.cell === id,
        `cell-${number}`,
      );
      await press(page, "Shift+Enter");
      await page.waitForSelector(`${cell(number)}[data-state="done"]`);
    }
    assert.equal((await readCells(page)).filter(({ verdict }) => verdict === "matches").length, 7);
  });

  it("leaves an editor in which Tab indents with Escape and Tab, even after a pause", async () => {
    await clickInto(page, cell(18));
    const before = await codeOf(page, cell(18));
    await page.keyboard.press("Tab");
    assert.notEqual(await codeOf(page, cell(18)), before);
    await page.keyboard.press("Escape");
    // By default CodeMirror ends the effect of Escape after two seconds.
    await page.evaluate(() => {
      const { now } = Date;
      Date.now = () => now() + 2500;
    });
    await page.keyboard.press("Tab");
    assert.ok(!(await isInCode()));
  });

  const source = () => codeOf(page, cell(1));
  const inEditor = () =>
    page.evaluate((own) => !!document.querySelector(`${own} .editor:focus-within`), cell(1));

  /** Comes into the first editor with Tab. */
  async function comeByTab() {
    await page.focus(`${cell(1)} button.run`);
    await page.keyboard.press("Tab");
    await waitForFocusIn(page, `${cell(1)} .editor`);
  }

  it("passes an editor with Tab and Shift+Tab, and changes nothing", async () => {
    const before = await source();
    await comeByTab();
    await page.keyboard.press("Tab");
    assert.ok(!(await inEditor()));
    await press(page, "Shift+Tab");
    assert.ok(await inEditor());
    await press(page, "Shift+Tab");
    assert.ok(!(await inEditor()));
    assert.equal(await source(), before);
  });

  it("indents with Tab after a change, until Escape is pressed", async () => {
    const before = await source();
    await comeByTab();
    await enter(page, "1");
    await page.keyboard.press("Tab");
    assert.ok(await inEditor());
    assert.equal(await source(), `  1${before}`);

    await page.keyboard.press("Escape");
    await enter(page, "2");
    await page.keyboard.press("Tab");
    assert.ok(!(await inEditor()));
  });

  it("indents with Tab after a click", async () => {
    await comeByTab();
    await clickInto(page, cell(1));
    const clicked = await source();
    await page.keyboard.press("Tab");
    assert.ok(await inEditor());
    assert.notEqual(await source(), clicked);
  });

  it("closes the list of keys and the PyTorch code with Escape, and keeps the focus there", async () => {
    for (const details of [".view[data-current] .keys", `${cell(2)} .cell-torch`]) {
      await page.focus(`${details} summary`);
      await press(page, "Enter");
      await page.waitForSelector(`${details}[open]`);
      // From a part of it, too.
      await press(page, "Tab");
      await press(page, "Escape");
      await page.waitForSelector(`${details}:not([open])`);
      assert.ok(await page.$eval(`${details} summary`, (each) => each === document.activeElement));
    }
  });

  it("keeps the next cell visible after Shift+Enter, whatever the size of the output", async () => {
    await page.setViewport({ width: 1280, height: 800 });
    // Scroll down first: no browser anchors the scroll position at the top, and some nowhere.
    await page.evaluate(() => {
      document.documentElement.style.overflowAnchor = "none";
    });
    await typeInto(
      page,
      cell(1),
      "await new Promise((done) => setTimeout(done, 1500));\nfor (let i = 0; i < 60; i++) print(i);",
    );
    await press(page, "Shift+Enter");
    await waitForFocusIn(page, `${cell(2)} .editor`);
    await page.waitForSelector(`${cell(1)}[data-state="done"]`);
    // After scrolling, smooth or not, the head of the cell is on the screen.
    await waitFor(
      page,
      (selector) => {
        const { top } = document.querySelector(selector).getBoundingClientRect();
        return top > 0 && top < innerHeight;
      },
      `${cell(2)} .cell-head`,
    );
  });

  it("announces results politely", async () => {
    await clickInto(page, cell(1));
    await press(page, "Shift+Enter");
    await waitFor(
      page,
      () => document.getElementById("announcements").textContent === "Cell 1 ran.",
    );
    await runAll(page);
    await waitFor(page, () =>
      document
        .getElementById("announcements")
        .textContent.includes("18 cells ran. 7 of 7 outputs match"),
    );
    assert.equal(await attributeOf(page, "#announcements", "aria-live"), "polite");
  });

  it("announces the end when all cells run while one is running", async () => {
    await typeInto(page, cell(1), "await new Promise((done) => setTimeout(done, 1000));");
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${cell(1)}[data-state="running"]`);
    await click(page, ".view[data-current] [data-action='run-all']");
    await waitFor(page, () =>
      document.getElementById("announcements").textContent.startsWith("18 cells ran."),
    );
  });
});

describe("The Tab key", () => {
  // At the end of the page it leaves the tab, into which no test can bring the focus back.
  openForEach({ isFirst: true });

  /** The control that has the focus: a text that identifies it, its name, and whether the focus is visible. */
  const focusedControl = () =>
    page.evaluate(() => {
      const element = document.activeElement;
      if (!element || element === document.body) return null;
      const inner = element.shadowRoot?.activeElement ?? element;
      const box = element.closest(".cell-code, .exercise-code") ?? inner;
      const shown = [inner, box].some((each) => {
        const { outlineStyle, outlineWidth } = getComputedStyle(each);
        return outlineStyle !== "none" && Number.parseFloat(outlineWidth) > 0;
      });
      const text = element.textContent.trim().slice(0, 20);
      const label = inner.getAttribute("aria-label") ?? inner.labels?.[0]?.textContent;
      return {
        key: `${element.closest("[id]")?.id} ${element.className} ${text}`,
        name: (label ?? inner.textContent).trim(),
        shown,
      };
    });

  it("reaches every control, each with a name and a visible focus", async () => {
    await runAll(page);
    const seen = new Set();
    await page.focus(".skip-link");
    await page.keyboard.press("Tab");
    for (let i = 0; i < 400; i++) {
      const focused = await focusedControl();
      if (!focused) break;
      assert.ok(focused.name.length > 0, `${focused.key} has no name`);
      assert.ok(focused.shown, `${focused.key} has no visible focus`);
      seen.add(focused.key);
      await page.keyboard.press("Tab");
    }
    assert.equal(await page.$(".cell[data-edited]"), null, "Tab has edited a cell");
    const keys = [...seen].join("\n");
    for (const name of [
      "button run ",
      "button run-to-here",
      "Dark theme",
      "More",
      "Run all",
      "Table",
    ]) {
      assert.ok(keys.includes(name), `${name} was not reached`);
    }
  });
});
