// The whole page as HTML: contents, overview, notebooks and the other pages.

import { readerTree } from "../digits/reader-tree.js";
import { notationTree } from "../notebook/notation.js";
import { toolbarTree } from "../notebook/toolbar.js";
import { escapeHtml, h, toHtml } from "../shell/drawing/tree.js";
import { figureHtml } from "./figure-html.mjs";
import { highlightedHtml } from "./highlight-code.mjs";
import { pageView } from "./pages.mjs";
import { afterFirstParagraph, articleHtml, PIECE, partOf, stubHtml } from "./parts.mjs";
import { playgroundHtml } from "./playground-html.mjs";

/** @typedef {import("./read-notebook.mjs").NotebookText} NotebookText */

/** Views that the document has whole: their content is made by their scripts. */
const WHOLE = ["lab", "search"];

/**
 * The document, and the files of its views.
 * @param {string} html
 * @param {NotebookText[]} notebooks
 * @param {import("./pages.mjs").PageText[]} pages
 * @param {import("../figures/index.js").Zeropoint} zeropoint
 * @param {string | undefined} styles  undefined: all views are in the document
 */
export function fillPage(html, notebooks, pages, zeropoint, styles) {
  /** @type {import("./parts.mjs").Part[]} */
  const parts = [];
  const place = (/** @type {import("./parts.mjs").View} */ view) => {
    if (styles === undefined || WHOLE.includes(view.id)) return articleHtml(view);
    const part = partOf(view, styles);
    parts.push(part);
    return stubHtml(view, part);
  };
  const sample = [
    'import { init, tensor, quantize, dequantize, quantizationError } from "zeropoint";',
    "await init();",
    "",
    "const x = tensor([[191.6, -13.5, 728.6], [92.14, 295.5, -184], [0, 684.6, 245.5]]);",
    "const q = quantize(x, { axis: 0 }); // symmetric int8, one scale per row",
    "q.data; // Int8Array [33, -2, 127, 40, 127, -79, 0, 127, 46]",
    "quantizationError(x, dequantize(q)); // 1.8084441423416138",
  ].join("\n");
  const document = html
    .replace("<!-- contents -->", () => toHtml(contentsTree(notebooks, pages)))
    .replace("<!-- cards -->", () => toHtml(cardsTree(notebooks)))
    .replace("<!-- reader -->", () => toHtml(readerTree()))
    .replace("<!-- sample -->", () => highlightedHtml(sample))
    .replace(/<!-- figure (\S+) -->/g, (_, name) =>
      figureHtml(name, "28 real numbers, and the codes that stand for them", zeropoint),
    )
    .replace("<!-- notebooks -->", () =>
      notebooks.map((notebook) => place(notebookView(notebook, notebooks))).join("\n"),
    )
    .replace("<!-- playground -->", playgroundHtml)
    .replace("<!-- pages -->", () => pages.map((page) => place(pageView(page))).join("\n"));
  return { document, parts };
}

/**
 * @param {NotebookText[]} notebooks
 * @param {import("./pages.mjs").PageText[]} pages
 */
function contentsTree(notebooks, pages) {
  return h(
    "ol",
    { class: "contents-list" },
    h("li", {}, h("a", { href: "#overview", "aria-current": "page" }, "Overview")),
    notebooks.map(({ id, number, title, sections }) =>
      h(
        "li",
        {},
        h("a", { href: `#${id}` }, h("span", { class: "number" }, number), title),
        h(
          "ol",
          { class: "contents-sections", "data-sections-of": id, hidden: true },
          sections.map((section) => h("li", {}, h("a", { href: `#${section.id}` }, section.title))),
        ),
      ),
    ),
    h("li", {}, h("a", { href: "#play" }, "Playground")),
    pages.map(({ id, title }) => h("li", {}, h("a", { href: `#${id}` }, title))),
    h("li", {}, h("a", { href: "./api/index.html" }, "API reference")),
  );
}

/** @param {NotebookText[]} notebooks */
function cardsTree(notebooks) {
  return h(
    "ol",
    { class: "cards" },
    notebooks.map(({ id, number, title, cells }) =>
      h(
        "li",
        {},
        h("span", { class: "number", "aria-hidden": "true" }, number),
        h("a", { href: `#${id}` }, title),
        h("span", { class: "card-about" }, ABOUT[/** @type {keyof typeof ABOUT} */ (id)]),
        h("span", { class: "card-cells" }, `${cells} cells`),
      ),
    ),
  );
}

const ABOUT = {
  "quantize-and-dequantize":
    "Scale and zero point, there and back, and what a forgotten cast does.",
  "finer-granularity": "Let the data choose the scale, then give every row its own.",
  "per-channel": "The finished function at work, with every error drawn.",
  "schemes-observers-qconfig": "PyTorch's toolkit, live: quantizers, observers and QConfigs.",
  "quantizer-from-scratch":
    "All of it again, per group too, up to a linear layer with int8 weights.",
  "what-it-costs":
    "Bits, granularity and activations, measured by the digits that a network still reads.",
  "nearest-vectors":
    "What an error that is known can prove: the ten nearest of 2,000 digits, by codes.",
  "formats-of-files":
    "Blocks of GGUF files, byte by byte: scales of scales, and codes that are floats.",
};

/**
 * The name of a notebook's Python side among the files of the page.
 * @param {string} id
 */
export const pythonFile = (id) => `python/${id}.ipynb`;

/**
 * @param {NotebookText} notebook
 * @param {NotebookText[]} notebooks
 * @returns {import("./parts.mjs").View}
 */
function notebookView({ id, number, title, html, cells, python }, notebooks) {
  const previous = notebooks[number - 2];
  const next = notebooks[number];
  const toolbar = toolbarTree(`Notebook ${number}`, cells, python && pythonFile(id));
  const turn = h(
    "nav",
    { class: "turn", "aria-label": `Before and after notebook ${number}` },
    previous &&
      h("a", { href: `#${previous.id}`, rel: "prev" }, h("span", {}, "Back"), previous.title),
    next && h("a", { href: `#${next.id}`, rel: "next" }, h("span", {}, "Next"), next.title),
  );
  const notation = python ? toHtml(notationTree(`notation-${id}`)) : "";
  const [lead, body] = afterFirstParagraph(html);
  const head =
    `<p class="kicker">Notebook ${number} of ${notebooks.length}</p><h1>${escapeHtml(title)}</h1>` +
    `${notation}${toHtml(toolbar)}${lead}`;
  return { id, title, className: "view notebook prose", head, body: body + PIECE + toHtml(turn) };
}
