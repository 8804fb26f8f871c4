// The Model Lab in a browser, as its tests open and read it.

import { openPage, waitFor } from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";

export const LAB = ".view[data-current] .lab:not([hidden])";

/** Opens the lab without the browser's picker, which no test can operate. */
export async function openLab(hash = "#lab", options = {}) {
  const prepare = () => {
    Reflect.deleteProperty(window, "showSaveFilePicker");
  };
  const visit = await openPage(browser, site.url + hash, { ...options, prepare });
  await visit.page.waitForSelector(LAB);
  return visit;
}

/** Waits until the file is analyzed, and planned from exact figures. */
export const waitForPlan = (page) =>
  waitFor(
    page,
    (lab) => {
      const text = document.querySelector(`${lab}.is-analyzed.is-planned .budget-text`);
      return (
        text !== null &&
        / dB in | no error in /.test(text.textContent) &&
        !/from samples/.test(text.textContent)
      );
    },
    LAB,
  );

/** Opens files by the input of the lab. */
export async function openFile(page, ...paths) {
  await (await page.$(".lab-drop input")).uploadFile(...paths);
}

/** Focuses the table's current cell, in one step: another plan may replace the cell between two. */
export const focusTable = (page) =>
  page.$eval(".layer-body", (body) => body.querySelector('[tabindex="0"]').focus());

/** Adds files of inputs. */
export async function addInputs(page, ...paths) {
  await (await page.$(".lab-inputs input")).uploadFile(...paths);
}

/** The visible cells of schemes: pairs of "layer scheme" and text without the mark of the plan. */
export const shownCells = (page) =>
  page.evaluate(() => {
    const text = (element) => element.textContent.replace("● ", "");
    const schemes = Array.from(document.querySelectorAll(".layer-head .is-scheme button"), text);
    return Array.from(document.querySelectorAll(".layer-body .layer-row"), (row) =>
      Array.from(row.querySelectorAll(".is-scheme"), (cell, i) => [
        `${row.querySelector(".is-name").textContent} ${schemes[i]}`,
        text(cell),
      ]),
    ).flat();
  });
