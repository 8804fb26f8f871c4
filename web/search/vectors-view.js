// The reader's own vectors: opened, indexed, and searched by example.

import { bytesText, countText, millisecondsText, nounText } from "../shell/drawing/numbers.js";
import { h, toDom } from "../shell/drawing/tree.js";
import { connectDrop } from "../shell/drop.js";
import { readTexts, rowsWith } from "./texts.js";

/** Examples that are listed at a time. */
const LISTED = 12;

/** @param {File} file */
const isText = ({ name }) => /\.(txt|json)$/i.test(name);

/**
 * @param {HTMLElement} element
 * @param {{ view: HTMLElement, call: (command: string, argument: unknown) => Promise<any>,
 *   announce: (message: string) => void, show: (problem: string) => void }} page
 */
export function connectVectors(element, { view, call, announce, show }) {
  const output = /** @type {HTMLElement} */ (element.querySelector(".search-vectors"));
  /** Texts of rows; of rows without one their number. @type {string[]} */
  let texts = [];
  /** Changes with each choice of files: what an earlier one gives is dropped. */
  let choice = Symbol();

  /** @param {File[]} files */
  const open = async (files) => {
    const own = Symbol();
    choice = own;
    show("");
    output.replaceChildren();
    try {
      const [list] = files.filter(isText);
      const file = files.find((each) => !isText(each));
      if (!file) throw new Error("open the file of the vectors together with that of their texts");
      say(`Opening ${file.name} …`);
      const given = list && readTexts(list.name, await list.text());
      const matrices = await call("matricesOf", { file });
      if (own !== choice) return;
      if (matrices.length === 1) await index(own, file, matrices[0], given);
      else output.replaceChildren(chooser(own, file, matrices, given));
    } catch (error) {
      if (own !== choice) return;
      output.replaceChildren();
      show(/** @type {Error} */ (error).message);
    }
  };

  /** @param {string} text */
  const say = (text) => output.replaceChildren(toDom(h("p", { class: "search-status" }, text)));

  /**
   * @param {symbol} own
   * @param {File} file
   * @param {{ name: string, shape: number[] }} matrix
   * @param {string[] | undefined} given
   */
  const index = async (own, file, { name, shape }, given) => {
    const [rows, values] = shape;
    if (given && given.length !== rows) {
      throw new Error(
        `${nounText(rows, "vector")} of ${name}, but ${nounText(given.length, "text")}: each vector needs one`,
      );
    }
    say(`Indexing ${nounText(rows, "vector")} of ${countText(values)} values …`);
    const made = await call("indexMatrix", { file, name });
    if (own !== choice) return;
    texts = given ?? Array.from({ length: rows }, (_, row) => `vector ${row}`);
    output.replaceChildren(
      ...[
        h(
          "p",
          { class: "search-status" },
          `${nounText(rows, "vector")} of ${countText(values)} values as int8 codes: ${bytesText(made.bytes)} of codes ` +
            `for ${bytesText(4 * rows * values)} of float32, indexed in ${millisecondsText(made.time)}.`,
        ),
        h(
          "p",
          {},
          h(
            "label",
            {},
            "Search by example: ",
            h("input", { type: "search", class: "search-filter", placeholder: "part of a text" }),
          ),
        ),
        h("ul", { class: "search-examples", "aria-label": "Examples" }),
        h("div", { class: "search-nearest" }),
      ].map((part) => toDom(part)),
    );
    const filter = /** @type {HTMLInputElement} */ (output.querySelector(".search-filter"));
    filter.addEventListener("input", () => list(filter.value));
    list("");
    announce(`${nounText(rows, "vector")} can be searched.`);
  };

  /** Lists examples with a part of a text. @param {string} part */
  const list = (part) => {
    const found = rowsWith(texts, part, LISTED);
    const examples = /** @type {HTMLElement} */ (output.querySelector(".search-examples"));
    examples.replaceChildren(
      ...found.map((row) => toDom(h("li", {}, example(row)))),
      ...(found.length === 0 ? [toDom(h("li", {}, `No text has “${part}”.`))] : []),
    );
  };

  /** @param {number} row */
  const example = (row) =>
    h("button", { type: "button", class: "button", "data-row": row }, texts[row]);

  /** @param {number} row */
  const search = async (row) => {
    const own = choice;
    try {
      const found = await call("nearestTo", { id: row });
      if (own !== choice) return;
      showNearest(row, found);
      show("");
    } catch (error) {
      if (own === choice) show(/** @type {Error} */ (error).message);
    }
  };

  /**
   * @param {number} row
   * @param {{ hits: { id: number, score: number }[], candidates: number, time: number }} found
   */
  const showNearest = (row, { hits, candidates, time }) => {
    const nearest = hits.filter(({ id }) => id !== row).slice(0, 10);
    const part = /** @type {HTMLElement} */ (output.querySelector(".search-nearest"));
    part.replaceChildren(
      ...[
        h("h3", {}, `Nearest to “${texts[row]}”`),
        h(
          "ol",
          { class: "search-list" },
          nearest.map(({ id, score }) =>
            h(
              "li",
              {},
              h("span", { class: "search-score" }, score.toFixed(4)),
              h("button", { type: "button", class: "search-link", "data-row": id }, texts[id]),
            ),
          ),
        ),
        h(
          "p",
          { class: "search-status" },
          `Cosines. Proven: the codes left ${nounText(candidates, "candidate")} of ${countText(texts.length)}, and their ` +
            `float32 values decided; ${millisecondsText(time)}.`,
        ),
      ].map((each) => toDom(each)),
    );
    announce(`The nearest is ${nearest.length > 0 ? texts[nearest[0].id] : "none"}.`);
  };

  output.addEventListener("click", ({ target }) => {
    const row = /** @type {Element} */ (target).closest("button")?.dataset.row;
    if (row !== undefined) search(Number(row));
  });

  /**
   * A choice of the tensor that holds the vectors.
   * @param {symbol} own
   * @param {File} file
   * @param {{ name: string, shape: number[], dtype: string }[]} matrices
   * @param {string[] | undefined} given
   */
  const chooser = (own, file, matrices, given) => {
    const element = toDom(
      h(
        "p",
        {},
        h(
          "label",
          {},
          `${file.name} has ${matrices.length} matrices. Vectors: `,
          h(
            "select",
            {},
            h("option", { value: "" }, "choose"),
            matrices.map(({ name, shape }, i) =>
              h("option", { value: i }, `${name} (${shape.join(" × ")})`),
            ),
          ),
        ),
      ),
    );
    const select = /** @type {HTMLSelectElement} */ (element.querySelector("select"));
    select.addEventListener("change", () => {
      index(own, file, matrices[Number(select.value)], given).catch((error) => {
        if (own === choice) show(error.message);
      });
    });
    return element;
  };

  connectDrop(view, /** @type {HTMLInputElement} */ (element.querySelector("input")), open, {
    marked: element,
    isActive: () => view.hasAttribute("data-current"),
  });
}
