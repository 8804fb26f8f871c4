// A cell as HTML: its head, its code, its known output and its checks.

import { icon } from "../shell/drawing/icons.js";
import { h, toHtml } from "../shell/drawing/tree.js";
import { highlightedHtml } from "./highlight-code.mjs";
import { pythonOf } from "./python/to-python.mjs";

const OUTPUT_LABELS = {
  stored: "Stored in the original",
  torch: "PyTorch 2.6 prints",
  measured: "Recorded from zeropoint",
  rounded: "Stored in the original, which had more digits to compute with",
  replaced: "Stored in the original: an error. Here the plot takes its place",
};

const CELL_TAGS = {
  skeleton: { icon: "pencil", text: "exercise skeleton: its names do not exist yet" },
  random: { icon: "dice", text: "random by design: differs in every run" },
  companion: { icon: "copy", text: "extra cell: the numbers the original printed" },
  extra: { icon: "plus", text: "extra cell: not in the original" },
  "companion-fixed": { icon: "copy", text: "extra cell: fixed numbers, to compare with PyTorch" },
  "replaces-error": { icon: "plus", text: "the original stored an error here" },
};

/** Letters of a last line of code beside which the word PyTorch fits. */
const BESIDE = 84;

/** Tags that say nothing to the reader, only how a cell is laid out, and their classes. */
const LAYOUT_TAGS = { wrap: "wraps" };

/**
 * @param {import("./read-notebook.mjs").CellText} cell
 * @param {string} notebook
 */
export function cellHtml({ id, label, tags, source, output, checks }, notebook) {
  const anchor = `${notebook}-${id}`;
  const isOriginal = id.startsWith("in-") && !tags.includes("companion") && !tags.includes("extra");
  const head = h(
    "div",
    { class: "cell-head" },
    h("span", { class: "cell-counter" }, "In [ ]"),
    h("a", { class: "cell-label", href: `#${anchor}`, id: `${anchor}-label` }, label),
    isOriginal &&
      h("span", { class: "cell-original" }, `In [${id.slice("in-".length)}] in the original`),
    tags.filter((tag) => !(tag in LAYOUT_TAGS)).map((tag) => tagTree(tag)),
    h("span", { class: "cell-tools", hidden: true }),
  );
  const expected =
    output &&
    h(
      "div",
      { class: "cell-expected", "data-kind": output.kind },
      h(
        "details",
        { open: true },
        h(
          "summary",
          {},
          h("span", {}, OUTPUT_LABELS[/** @type {keyof typeof OUTPUT_LABELS} */ (output.kind)]),
        ),
        h("pre", {}, output.text),
      ),
    );
  const list =
    checks.length > 0 &&
    h(
      "ul",
      {
        class: "cell-checks",
        "aria-label": "What must hold",
        "data-sources": JSON.stringify(checks.map((check) => check.source)),
      },
      checks.map(({ text }) => h("li", {}, text)),
    );
  // An expected output has a summary line that opens it; checks without one get the same line.
  const checkList =
    list && !output
      ? h(
          "div",
          { class: "cell-must" },
          h("details", { open: true }, h("summary", {}, h("span", {}, "Must hold")), list),
        )
      : list;
  const layout = Object.entries(LAYOUT_TAGS).filter(([tag]) => tags.includes(tag));
  const attributes = [
    `class="${["cell", ...layout.map(([, name]) => name)].join(" ")}"`,
    `id="${anchor}"`,
    `data-cell="${id}"`,
    `data-label="${label}"`,
    `role="group"`,
    `aria-labelledby="${anchor}-label"`,
  ].join(" ");
  const code = codeHtml(source, `Code of ${label}`);
  const torch = torchHtml(source, label);
  return (
    `<div ${attributes}>${toHtml(head)}<div class="cell-code">${code}</div>${torch || ONLY_JAVASCRIPT}` +
    `<div class="cell-result"><div class="cell-output" hidden></div>` +
    `${expected ? toHtml(expected) : ""}${checkList ? toHtml(checkList) : ""}</div></div>\n`
  );
}

/** Shown where the reader asked for PyTorch. */
const ONLY_JAVASCRIPT = `<p class="cell-only-javascript">This step has no counterpart in PyTorch.</p>`;

/**
 * Code that can be scrolled by keys.
 * @param {string} source
 * @param {string} label
 * @param {"javascript" | "python"} [language]
 */
export const codeHtml = (source, label, language) =>
  `<pre tabindex="0" role="region" aria-label="${label}"><code>${highlightedHtml(source, language)}</code></pre>`;

/**
 * The same step in PyTorch, where there is one.
 * @param {string} source
 * @param {string} label  of the code
 */
export function torchHtml(source, label) {
  const python = pythonOf(source);
  if (python === undefined) return "";
  const lastLine = source.slice(source.lastIndexOf("\n") + 1);
  const name = lastLine.length > BESIDE ? "cell-torch is-below" : "cell-torch";
  return (
    `<details class="${name}"><summary>PyTorch</summary>` +
    `${codeHtml(python, `PyTorch of ${label}`, "python")}</details>`
  );
}

/** @param {string} tag */
function tagTree(tag) {
  const { icon: name, text } =
    CELL_TAGS[/** @type {keyof typeof CELL_TAGS} */ (tag)] ??
    (() => {
      throw new Error(`unknown tag ${tag}`);
    })();
  return h("span", { class: `cell-tag tag-${tag}` }, icon(name), h("span", {}, text));
}
