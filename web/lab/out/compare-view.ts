// The opened model beside another one: a table, worst tensors first, and reports.

import type { CompareRow } from "zeropoint/models";
import { find } from "../../shell/dom.js";
import { factsTable } from "../../shell/drawing/table.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { connectDrop } from "../../shell/drop.js";
import { makeScrollable } from "../../shell/scrollable.js";
import { metricText, plainNumber, shapeText } from "../format.js";
import type { Header } from "../model/commands.js";
import { compareWith } from "../model/compare.js";
import type { Given } from "../model/files.js";
import { stemOf } from "../names.js";
import { createProgress, REPLACED } from "../show/progress.js";
import { comparedText, worstFirst } from "../texts.js";
import { COMPARED, save, toCsv, toHtmlPage, toJson } from "./report.js";

/** Rows that are shown; a report has all. */
const MOST_ROWS = 500;

const line = ({ name, shape, from, to, equal, max, sqnr, cosine, reason }: CompareRow) =>
  h(
    "tr",
    {},
    h("th", { scope: "row" }, h("bdi", {}, name)),
    reason !== undefined && !equal
      ? h("td", { class: "is-text", colspan: 3 }, reason)
      : [
          h("td", {}, equal ? "equal" : metricText("sqnr", sqnr)),
          h("td", {}, plainNumber(max)),
          h("td", {}, metricText("cosine", cosine)),
        ],
    h("td", { class: "is-text" }, from === to ? from : `${from ?? "–"} → ${to ?? "–"}`),
    h("td", {}, shapeText(shape)),
  );

/**
 * @param context  current: the header of the opened model; onChoice: called
 *   with the address of the other model, or undefined for a file
 */
export function connectCompare(
  parent: HTMLElement,
  {
    current,
    announce,
    onChoice,
  }: {
    current: () => Header | undefined;
    announce: (message: string) => void;
    onChoice: (address: string | undefined) => void;
  },
) {
  const progress = createProgress(find(parent, ".lab-progress"), { announce });
  const result = find(parent, ".compare-result");
  let compared: { name: string; rows: CompareRow[] } | undefined;

  /** @param address  that a link can have */
  const compare = async (given: Given, address?: string) => {
    const header = current();
    if (!header) return;
    onChoice(address);
    compared = undefined;
    result.replaceChildren();
    const run = progress.start();
    try {
      const found = await compareWith(given, run);
      if (header !== current()) return;
      compared = { ...found, rows: worstFirst(found.rows) };
      show(header.name, compared);
    } catch (error) {
      const { name, message } = error as Error;
      if (run.signal.aborted && header !== current()) return;
      const text = name === "AbortError" ? message : `The files cannot be compared: ${message}`;
      result.replaceChildren(toDom(h("p", { class: "cell-error" }, text)));
      announce(text);
    } finally {
      if (!run.signal.aborted || header === current()) progress.end();
    }
  };

  const show = (name: string, { name: otherName, rows }: { name: string; rows: CompareRow[] }) => {
    const text = comparedText(rows);
    const heads = ["Tensor", "SQNR in dB", "Largest difference", "Cosine", "Type", "Shape"];
    const isCut = rows.length > MOST_ROWS;
    const parts = [
      h(
        "p",
        {},
        h("strong", {}, h("bdi", {}, otherName)),
        " beside ",
        h("strong", {}, h("bdi", {}, name)),
        `: ${text}${isCut ? ` The ${MOST_ROWS} worst are shown.` : ""}`,
      ),
      factsTable(heads, rows.slice(0, MOST_ROWS).map(line), { texts: ["Type"] }),
      h(
        "p",
        { class: "lab-controls" },
        ["json", "csv", "html"].map((kind) =>
          h(
            "button",
            { type: "button", class: "button", "data-compared": kind },
            `Comparison as ${kind.toUpperCase()}`,
          ),
        ),
      ),
    ];
    result.replaceChildren(...parts.map((part) => toDom(part)));
    makeScrollable(result);
    announce(text);
  };

  result.addEventListener("click", ({ target }) => {
    const kind = (target as Element).closest("[data-compared]")?.getAttribute("data-compared");
    const header = current();
    if (!kind || !compared || !header) return;
    const base = `${stemOf(header.name)}-${stemOf(compared.name)}-comparison`;
    const title = `${compared.name} beside ${header.name}`;
    const { rows } = compared;
    if (kind === "json") save(`${base}.json`, "application/json", toJson(rows));
    else if (kind === "csv") save(`${base}.csv`, "text/csv", toCsv(rows, COMPARED));
    else save(`${base}.html`, "text/html", toHtmlPage(title, rows, comparedText(rows), COMPARED));
  });
  const input = find(parent, "input", HTMLInputElement);
  connectDrop(parent, input, (files) => compare(files));

  return {
    compare,
    /** For another model. */
    reset() {
      progress.stop(REPLACED);
      progress.end();
      compared = undefined;
      result.replaceChildren();
    },
  };
}
