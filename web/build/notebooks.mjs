// Renders the notebooks into the page when it is built: all of it can be read before a script runs.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { javascriptLanguage } from "@codemirror/lang-javascript";
import { highlightCode, tagHighlighter } from "@lezer/highlight";
import MarkdownIt from "markdown-it";
import { figures } from "../figures/index.js";
import { WIDE } from "../figures/parts.js";
import { staticTags } from "../highlight.js";
import { icon } from "../icons.js";
import { escapeHtml, h, toHtml } from "../tree.js";
import { pageHtml, readPages } from "./pages.mjs";
import { keepUnits } from "./units.mjs";

/**
 * @typedef {{ id: string, label: string, tags: string[], source: string,
 *   output?: { kind: string, text: string }, checks: { text: string, source: string }[] }} CellText
 * @typedef {{ id: string, number: number, title: string, lead: string, html: string,
 *   sections: { id: string, title: string }[], cells: number }} NotebookText
 */

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
  "companion-fixed": { icon: "copy", text: "extra cell: fixed numbers, to compare with PyTorch" },
  "replaces-error": { icon: "plus", text: "the original stored an error here" },
};

/** Tags that say nothing to the reader, only how a cell is laid out, and their classes. */
const LAYOUT_TAGS = { wrap: "wraps" };

const highlighter = tagHighlighter(
  staticTags.map(({ tag, class: name }) => ({ tag, class: name })),
);

/**
 * Code with the editor's colours as class names.
 * @param {string} code
 */
export function highlightedHtml(code) {
  let html = "";
  highlightCode(
    code,
    javascriptLanguage.parser.parse(code),
    highlighter,
    (text, classes) => {
      const escaped = escapeHtml(text);
      html += classes ? `<span class="${classes}">${escaped}</span>` : escaped;
    },
    () => {
      html += "\n";
    },
  );
  return html;
}

/**
 * @param {string} folder
 * @param {import("../figures/index.js").Zeropoint} zeropoint
 * @returns {NotebookText[]}
 */
export function readNotebooks(folder, zeropoint) {
  return readdirSync(folder)
    .filter((name) => /^\d.*\.md$/.test(name))
    .sort()
    .map((name) => {
      const [, number, id] = /** @type {RegExpMatchArray} */ (name.match(/^(\d+)-(.*)\.md$/));
      return readNotebook(readFileSync(join(folder, name), "utf8"), id, Number(number), zeropoint);
    });
}

/**
 * @param {string} text
 * @param {string} id
 * @param {number} number
 * @param {import("../figures/index.js").Zeropoint} zeropoint
 * @returns {NotebookText}
 */
function readNotebook(text, id, number, zeropoint) {
  const markdown = new MarkdownIt();
  keepUnits(markdown);
  // A quotation in a notebook is an aside, not somebody's words.
  markdown.renderer.rules.blockquote_open = () => '<div class="note" role="note">';
  markdown.renderer.rules.blockquote_close = () => "</div>";

  const tokens = markdown.parse(text, {});
  const sections = addHeadingIds(tokens, id);
  const title = tokens[1].content;
  const lead = tokens.findIndex((token) => token.type === "paragraph_open");
  tokens[lead].attrSet("class", "lead");

  let html = "";
  let cells = 0;
  /** @type {typeof tokens} */
  let prose = [];
  /** @type {CellText | undefined} */
  let cell;

  const flushProse = () => {
    html += markdown.renderer.render(prose, markdown.options, {});
    prose = [];
  };
  const flushCell = () => {
    if (cell) html += cellHtml(cell, id);
    cell = undefined;
  };

  for (const token of tokens.slice(3)) {
    if (token.type !== "fence") {
      flushCell();
      prose.push(token);
      continue;
    }
    const [kind, name, ...tags] = token.info.trim().split(/\s+/);
    const content = token.content.replace(/\n$/, "");
    flushProse();
    if (kind === "output" || kind === "check") {
      if (!cell) throw new Error(`notebook ${number}: ${kind} without a cell: ${content}`);
      if (kind === "output") cell.output = { kind: name, text: content };
      else cell.checks = readChecks(content);
      continue;
    }
    flushCell();
    if (kind === "js") {
      cells++;
      cell = { id: name, label: cellLabel(name), tags, source: content, checks: [] };
    } else if (kind === "figure") {
      html += figureHtml(name, content, zeropoint);
    } else {
      throw new Error(`notebook ${number}: unknown block ${token.info}`);
    }
  }
  flushCell();
  flushProse();
  return { id, number, title, lead: tokens[lead + 1].content, html, sections, cells };
}

/**
 * @param {any[]} tokens
 * @param {string} notebook
 */
function addHeadingIds(tokens, notebook) {
  /** @type {{ id: string, title: string }[]} */
  const sections = [];
  for (const [i, token] of tokens.entries()) {
    if (token.type !== "heading_open" || token.tag === "h1") continue;
    const title = tokens[i + 1].content;
    const id = `${notebook}-${title
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "")}`;
    token.attrSet("id", id);
    if (token.tag === "h2") sections.push({ id, title });
  }
  return sections;
}

/** @param {string} id  "in-16", "cell-3", "in-23-printed", "cell-6-fixed" */
function cellLabel(id) {
  const [, , number, suffix] =
    id.match(/^(in|cell)-(\d+)(-printed|-fixed)?$/) ??
    (() => {
      throw new Error(`a cell cannot be called ${id}`);
    })();
  if (suffix) {
    return `Cell ${number}, ${suffix === "-fixed" ? "fixed" : "printed"} numbers`;
  }
  return `Cell ${number}`;
}

/**
 * Checks are separated by blank lines: a comment that says what must hold, and an expression.
 * @param {string} content
 */
function readChecks(content) {
  return content.split(/\n\n+/).map((check) => {
    const [comment, ...source] = check.split("\n");
    if (!comment.startsWith("// ") || source.length === 0) {
      throw new Error(`a check needs a comment and an expression: ${check}`);
    }
    return { text: comment.slice(3), source: source.join("\n") };
  });
}

/**
 * @param {CellText} cell
 * @param {string} notebook
 */
function cellHtml({ id, label, tags, source, output, checks }, notebook) {
  const anchor = `${notebook}-${id}`;
  const isOriginal = id.startsWith("in-") && !tags.includes("companion");
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
        h("summary", {}, OUTPUT_LABELS[/** @type {keyof typeof OUTPUT_LABELS} */ (output.kind)]),
        h("pre", {}, output.text),
      ),
    );
  const checkList =
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
  const layout = Object.entries(LAYOUT_TAGS).filter(([tag]) => tags.includes(tag));
  const attributes = [
    `class="${["cell", ...layout.map(([, name]) => name)].join(" ")}"`,
    `id="${anchor}"`,
    `data-cell="${id}"`,
    `data-label="${label}"`,
    `role="group"`,
    `aria-labelledby="${anchor}-label"`,
  ].join(" ");
  const code = `<pre tabindex="0" role="region" aria-label="Code of ${label}"><code>${highlightedHtml(source)}</code></pre>`;
  return (
    `<div ${attributes}>${toHtml(head)}<div class="cell-code">${code}</div>` +
    `<div class="cell-result"><div class="cell-output" hidden></div>` +
    `${expected ? toHtml(expected) : ""}${checkList ? toHtml(checkList) : ""}</div></div>\n`
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

const NARROW = 260; // what a screen of 320 pixels leaves to a drawing

/**
 * Built for either width: until scripts draw for the room that there is, and where none may run, the
 * page shows the one that fits, as high as what they will draw.
 * @param {string} name
 * @param {string} caption
 * @param {import("../figures/index.js").Zeropoint} zeropoint
 */
export function figureHtml(name, caption, zeropoint) {
  const { controls, draw } = figures[name];
  const values = Object.fromEntries(
    controls.flatMap((control) =>
      control.type === "player" ? [] : [[control.name, String(control.value)]],
    ),
  );
  return toHtml(
    h(
      "figure",
      { class: "figure", "data-figure": name },
      controls.length > 0 && h("form", { hidden: true }, controls.map(controlTree)),
      h(
        "div",
        { class: "figure-drawing scroll-x", tabindex: 0 },
        h("div", { class: "when-wide" }, draw(values, zeropoint, WIDE)),
        h("div", { class: "when-narrow" }, draw(values, zeropoint, NARROW)),
      ),
      h("figcaption", {}, caption),
    ),
  );
}

/** @param {import("../figures/index.js").Control} control */
function controlTree(control) {
  const { name, label } = control;
  if (control.type === "player") {
    return h(
      "div",
      { class: "player", role: "group", "aria-label": label, "data-moves": name },
      h(
        "button",
        { type: "button", class: "button", "data-action": "play" },
        icon("play"),
        icon("pause"),
        h("span", {}, "Play"),
      ),
      h(
        "button",
        { type: "button", class: "button", "data-action": "step" },
        icon("step"),
        h("span", {}, control.next),
      ),
    );
  }
  if (control.type === "choice") {
    return h(
      "fieldset",
      { class: "choice" },
      h("legend", {}, label),
      control.choices.map(([value, text]) =>
        h(
          "label",
          {},
          h("input", { type: "radio", name, value, checked: value === control.value }),
          h("span", {}, text),
        ),
      ),
    );
  }
  const { min, max, step, value, unit } = control;
  return h(
    "label",
    { class: "range" },
    h("span", {}, label),
    h("input", { type: "range", name, min, max, step, value }),
    h("span", {}, h("output", { name }, value), unit),
  );
}

/**
 * The whole page.
 * @param {string} html
 * @param {NotebookText[]} notebooks
 * @param {import("./pages.mjs").PageText[]} pages
 * @param {import("../figures/index.js").Zeropoint} zeropoint
 */
export function fillPage(html, notebooks, pages, zeropoint) {
  const sample = [
    'import { init, tensor, quantize, dequantize, quantizationError } from "zeropoint";',
    "await init();",
    "",
    "const x = tensor([[191.6, -13.5, 728.6], [92.14, 295.5, -184], [0, 684.6, 245.5]]);",
    "const q = quantize(x, { axis: 0 }); // symmetric int8, one scale per row",
    "q.data; // Int8Array [33, -2, 127, 40, 127, -79, 0, 127, 46]",
    "quantizationError(x, dequantize(q)); // 1.8084441423416138",
  ].join("\n");
  return html
    .replace("<!-- contents -->", () => toHtml(contentsTree(notebooks, pages)))
    .replace("<!-- cards -->", () => toHtml(cardsTree(notebooks)))
    .replace("<!-- sample -->", () => highlightedHtml(sample))
    .replace(/<!-- figure (\S+) -->/g, (_, name) =>
      figureHtml(name, "28 real numbers, and the codes that stand for them", zeropoint),
    )
    .replace("<!-- notebooks -->", () =>
      notebooks.map((notebook) => notebookHtml(notebook, notebooks)).join("\n"),
    )
    .replace("<!-- pages -->", () => pages.map(pageHtml).join("\n"));
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
};

/**
 * @param {NotebookText} notebook
 * @param {NotebookText[]} notebooks
 */
function notebookHtml({ id, number, title, html, cells }, notebooks) {
  const previous = notebooks[number - 2];
  const next = notebooks[number];
  const action = (
    /** @type {string} */ name,
    /** @type {string} */ iconName,
    /** @type {import("../tree.js").Nested} */ text,
    disabled = false,
  ) =>
    h(
      "button",
      { type: "button", class: "button", "data-action": name, disabled },
      icon(iconName),
      h("span", {}, text),
    );
  const toolbar = h(
    "div",
    { class: "toolbar", role: "group", "aria-label": `Notebook ${number}`, hidden: true },
    action("run-all", "play-all", "Run all"),
    action("stop", "stop", "Stop", true),
    action("reset", "reset", ["Reset", h("span", { class: "more" }, " notebook")]),
    h("span", { class: "toolbar-status" }, `${cells} cells`),
    h(
      "details",
      { class: "keys" },
      h("summary", {}, "Keys"),
      h(
        "dl",
        {},
        [
          [["Shift", "Enter"], "run the cell and go to the next"],
          [["Ctrl", "Enter"], "run the cell and stay (also Cmd+Enter)"],
          [["Tab"], "indent the code, once it was clicked or changed"],
          [["Esc"], "then Tab: leave the editor"],
        ].map(([keys, text]) =>
          h(
            "div",
            {},
            h(
              "dt",
              {},
              /** @type {string[]} */ (keys).flatMap((key, i) => [i > 0 && "+", h("kbd", {}, key)]),
            ),
            h("dd", {}, /** @type {string} */ (text)),
          ),
        ),
      ),
      h(
        "p",
        {},
        "A cell shows the value of its last expression; expressions with commas between them show as a " +
          "tuple. print and console.log write below the cell. Names can be declared again, and all cells " +
          "share them.",
      ),
    ),
  );
  const turn = h(
    "nav",
    { class: "turn", "aria-label": `Before and after notebook ${number}` },
    previous &&
      h("a", { href: `#${previous.id}`, rel: "prev" }, h("span", {}, "Back"), previous.title),
    next && h("a", { href: `#${next.id}`, rel: "next" }, h("span", {}, "Next"), next.title),
  );
  return (
    `<article class="view notebook prose" id="${id}" data-title="${escapeHtml(title)}">` +
    `<p class="kicker">Notebook ${number} of ${notebooks.length}</p><h1>${escapeHtml(title)}</h1>` +
    `${toHtml(toolbar)}${html}${toHtml(turn)}</article>`
  );
}

/**
 * Puts the notebooks into index.html, with numbers from the built package.
 * @param {{ folder: string, pages: { folder: string, benchmark: string }, packageEntry: string }} options
 * @returns {import("vite").Plugin}
 */
export function notebooks({ folder, pages, packageEntry }) {
  /** @type {Promise<import("../figures/index.js").Zeropoint> | undefined} */
  let loading;
  const load = () => {
    loading ??= import(pathToFileURL(packageEntry).href).then(async (zeropoint) => {
      await zeropoint.init();
      return zeropoint;
    });
    return loading;
  };
  return {
    name: "zeropoint-notebooks",
    transformIndexHtml: {
      order: "pre",
      handler: async (html) => {
        const zeropoint = await load();
        return fillPage(html, readNotebooks(folder, zeropoint), readPages(pages), zeropoint);
      },
    },
    configureServer(server) {
      server.watcher.add([folder, pages.folder]);
      server.watcher.on("change", (path) => {
        if (path.endsWith(".md")) server.ws.send({ type: "full-reload" });
      });
    },
  };
}
