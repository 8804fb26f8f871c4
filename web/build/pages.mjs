// Renders the pages other than notebooks: published measurements, local measurements, digit planes.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import MarkdownIt from "markdown-it";
import {
  elementwiseTables,
  linearTables,
  measurementTable,
  smallTables,
  startTables,
} from "../measure/tables.js";
import { escapeHtml, h, toHtml } from "../shell/drawing/tree.js";
import { afterFirstParagraph, PIECE } from "./parts.mjs";
import { keepUnits } from "./units.mjs";

/** @typedef {{ id: string, title: string, html: string }} PageText */

/**
 * @param {{ folder: string, benchmark: string }} options  the pages, and what `npm run bench` wrote
 * @returns {PageText[]}
 */
export function readPages({ folder, benchmark }) {
  const measured = JSON.parse(readFileSync(benchmark, "utf8"));
  return ["lab", "search", "measure", "digit-planes", "many-machines"].map((id) => {
    const text = readFileSync(join(folder, `${id}.md`), "utf8");
    return readPage(text, id, measured);
  });
}

/**
 * @param {string} text
 * @param {string} id
 * @param {any} measured
 * @returns {PageText}
 */
function readPage(text, id, measured) {
  const markdown = new MarkdownIt();
  keepUnits(markdown);
  const blocks = blocksOf(measured);
  markdown.renderer.rules.fence = (tokens, i) => {
    const [name, ...words] = tokens[i].info.trim().split(/\s+/);
    const block = blocks[name];
    if (!block) throw new Error(`${id}.md: unknown block ${name}`);
    return block(tokens[i].content.trimEnd(), ...words);
  };
  markdown.renderer.rules.table_open = () => '<div class="scroll-x"><table>';
  markdown.renderer.rules.table_close = () => "</table></div>";
  const tokens = markdown.parse(text, {});
  const title = tokens[1].content.split(":")[0];
  tokens[tokens.findIndex(({ type }) => type === "paragraph_open")].attrSet("class", "lead");
  for (const [i, token] of tokens.entries()) {
    if (token.type !== "heading_open" || token.tag === "h1") continue;
    const name = tokens[i + 1].content.toLowerCase().replace(/[^a-z0-9]+/g, "-");
    token.attrSet("id", `${id}-${name.replace(/^-|-$/g, "")}`);
  }
  const html = markdown.renderer.render(tokens, markdown.options, {});
  return { id, title, html };
}

/**
 * Renders a fenced block by its name.
 * @param {any} measured
 * @returns {Record<string, (content: string, ...words: string[]) => string>}
 */
function blocksOf(measured) {
  /** @type {Record<string, (results: any[]) => import("../shell/drawing/tree.js").Tree[]>} */
  const tables = {
    linear: (results) => linearTables(results, measurementTable).slice(0, 1),
    all: (results) => [
      ...linearTables(results),
      ...elementwiseTables(results),
      ...smallTables(results),
      ...startTables(results),
    ],
  };
  return {
    ...{ formula: sample, sh: sample, yaml: sample, py: sample },
    digits: (content) => toHtml(digitsTable(content.split(/\s+/).map(Number))),
    measurements: (_, which) => tables[which](measured.results).map(toHtml).join(PIECE),
    circumstances: () => `<p>${escapeHtml(circumstances(measured))}</p>`,
    controls: () => toHtml(controls()),
    lab: () => toHtml(h("div", { class: "lab", hidden: true })),
    search: () => toHtml(h("div", { class: "search", hidden: true })),
  };
}

/** @param {string} content */
const sample = (content) => `<pre class="sample">${escapeHtml(content)}</pre>`;

/** @param {any} measured */
function circumstances({ date, engine, machine, packages }) {
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
  return (
    `Measured on ${date} in ${engine} on ${machine.cpu} with ${machine.cores} cores; ` +
    `${versions.join(", ")}. Medians, with the quartiles below them; one thread unless said.`
  );
}

/** The controls of the measurement, hidden without scripts. */
function controls() {
  return h(
    "div",
    { class: "measure", hidden: true },
    h(
      "p",
      { class: "measure-controls" },
      h("button", { type: "button", class: "button primary", "data-action": "measure" }, "Measure"),
      h(
        "button",
        { type: "button", class: "button", "data-action": "stop", disabled: true },
        "Stop",
      ),
      h("progress", {
        max: 1,
        value: 0,
        "aria-label": "Progress of the measurement",
        hidden: true,
      }),
    ),
    h("p", { class: "measure-status" }),
    h("div", { class: "measure-results" }),
  );
}

/**
 * A row of numbers, as digit planes have it.
 * @param {number[]} x
 */
function digitsTable(x) {
  const largest = Math.max(...x.map(Math.abs));
  const unit = 2 ** (Math.floor(Math.log2(largest)) + 1 - 27);
  return h(
    "div",
    { class: "scroll-x" },
    h(
      "table",
      { class: "facts" },
      h(
        "caption",
        {},
        `A row of four activations; its unit is 2⁻${Math.log2(1 / unit)}`.replace(
          /\d+$/,
          superscript,
        ),
      ),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["x", "X = x / unit, rounded", "d₃", "d₂", "d₁", "d₀"].map((name) =>
            h("th", { scope: "col" }, name),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        x.map((value) => {
          const integer = Math.round(Math.fround(value) / unit);
          const shifted = integer + 2 ** 27;
          const digits = [3, 2, 1, 0].map((place) => Math.floor(shifted / 128 ** place) % 128);
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, String(value).replace("-", "−")),
            h("td", {}, integer.toLocaleString("en").replace("-", "−")),
            digits.map((digit) => h("td", { class: "ink-code" }, digit)),
          );
        }),
      ),
    ),
  );
}

/** @param {string} digits */
const superscript = (digits) => digits.replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]);

/**
 * @param {PageText} page
 * @returns {import("./parts.mjs").View}
 */
export function pageView({ id, title, html }) {
  const [head, body] = afterFirstParagraph(html);
  const pieces = body.replaceAll("<h2", `${PIECE}<h2`);
  return { id, title, className: "view prose", head, body: pieces };
}
