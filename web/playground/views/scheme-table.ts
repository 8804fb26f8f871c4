// A table of schemes with their size and error on the same data, to sort and to choose from.

import { closest } from "../../shell/dom.js";
import { formatNumber } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { makeScrollable } from "../../shell/scrollable.js";
import { type Settings, writeSettings } from "../state.js";
import type { SchemeRow } from "../worker/sweeps.js";
import { decibels } from "./curves.js";

type Column = {
  name: string;
  title: string;
  value: (row: SchemeRow) => number | string;
  text: (row: SchemeRow) => string;
  isGreatFirst?: boolean;
};

const COLUMNS: Column[] = [
  { name: "name", title: "Scheme", value: ({ name }) => name, text: ({ name }) => name },
  {
    name: "bits",
    title: "Bits a value",
    value: ({ bitsPerValue }) => bitsPerValue,
    text: ({ bitsPerValue }) => bitsPerValue.toFixed(2),
  },
  {
    name: "bytes",
    title: "Bytes",
    value: ({ bytes }) => bytes,
    text: ({ bytes }) => bytes.toLocaleString("en"),
  },
  {
    name: "sqnr",
    title: "SQNR, dB",
    value: ({ metrics }) => metrics.sqnr,
    text: ({ metrics }) => decibels(metrics.sqnr),
    isGreatFirst: true,
  },
  {
    name: "mse",
    title: "Mean squared error",
    value: ({ metrics }) => metrics.mse,
    text: ({ metrics }) => formatNumber(metrics.mse),
  },
  {
    name: "max",
    title: "Largest error",
    value: ({ metrics }) => metrics.max,
    text: ({ metrics }) => formatNumber(metrics.max),
  },
];

export class SchemeTable {
  place: HTMLElement;
  #rows: SchemeRow[] = [];
  #by = "sqnr";
  #isReversed = false;
  #current = "";

  constructor(place: HTMLElement, onChoose: (settings: Settings) => void) {
    this.place = place;
    place.addEventListener("click", (event) => {
      const button = closest(event, "button");
      if (!button) return;
      const { sort, row } = button.dataset;
      if (sort !== undefined) {
        this.#isReversed = sort === this.#by && !this.#isReversed;
        this.#by = sort;
        this.#draw();
        place.querySelector<HTMLElement>(`[data-sort="${sort}"]`)?.focus();
      } else if (row !== undefined) {
        const found = this.#rows.find(({ name }) => name === row);
        if (found) onChoose(found.settings);
      }
    });
  }

  show(rows: SchemeRow[]) {
    this.#rows = rows;
    this.#draw();
  }

  markCurrent(settings: Settings) {
    this.#current = writeSettings(settings);
    for (const row of this.place.querySelectorAll<HTMLElement>("tbody tr")) {
      const isCurrent = row.dataset.settings === this.#current;
      row.toggleAttribute("data-chosen", isCurrent);
      const button = row.querySelector("button");
      if (isCurrent) button?.setAttribute("aria-current", "true");
      else button?.removeAttribute("aria-current");
    }
  }

  #draw() {
    const column = COLUMNS.find(({ name }) => name === this.#by) as Column;
    const sign = (column.isGreatFirst ? -1 : 1) * (this.#isReversed ? -1 : 1);
    const rows = [...this.#rows].sort((a, b) => {
      const [x, y] = [column.value(a), column.value(b)];
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    });
    const isAscending = sign > 0;
    const hadFocus = this.place.contains(document.activeElement);
    const focused = document.activeElement?.getAttribute("data-row");
    const best = Math.max(...rows.map(({ metrics }) => metrics.sqnr).filter(Number.isFinite), 1);
    this.place.replaceChildren(
      toDom(
        h(
          "div",
          { class: "scroll-x" },
          h(
            "table",
            { class: "play-schemes" },
            h(
              "caption",
              {},
              "Codes packed at their bits, 4 bytes a scale, 1 byte a zero point, in the course’s arithmetic",
            ),
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                COLUMNS.map(({ name, title }) =>
                  h(
                    "th",
                    {
                      scope: "col",
                      "aria-sort":
                        name === this.#by ? (isAscending ? "ascending" : "descending") : null,
                    },
                    h(
                      "button",
                      { type: "button", "data-sort": name },
                      title,
                      h(
                        "span",
                        { class: "sort-mark", "aria-hidden": "true" },
                        name === this.#by ? (isAscending ? "↑" : "↓") : "",
                      ),
                    ),
                  ),
                ),
              ),
            ),
            h(
              "tbody",
              {},
              rows.map((row) => rowTree(row, best)),
            ),
          ),
        ),
      ),
    );
    makeScrollable(this.place);
    const current = this.#current;
    if (current)
      this.markCurrent(
        rows.find((row) => writeSettings(row.settings) === current)?.settings ??
          ({ scheme: "" } as any),
      );
    this.#current = current;
    if (hadFocus && focused) {
      this.place.querySelector<HTMLElement>(`[data-row="${focused}"]`)?.focus({
        preventScroll: true,
      });
    }
  }
}

function rowTree(row: SchemeRow, best: number) {
  const share = Math.max(0, Math.min(1, row.metrics.sqnr / best)) * 100;
  return h(
    "tr",
    { "data-settings": writeSettings(row.settings) },
    COLUMNS.map(({ name, text }) =>
      name === "name"
        ? h("th", { scope: "row" }, h("button", { type: "button", "data-row": row.name }, row.name))
        : h(
            "td",
            { "data-column": name },
            name === "sqnr" &&
              h(
                "svg",
                {
                  class: "sqnr-bar",
                  viewBox: "0 0 100 4",
                  preserveAspectRatio: "none",
                  "aria-hidden": "true",
                  focusable: "false",
                },
                h("rect", { width: Math.round(share), height: 4 }),
              ),
            text(row),
          ),
    ),
  );
}
