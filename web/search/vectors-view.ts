// The reader's own vectors: opened, indexed, and searched by example.

import { closest, find } from "../shell/dom.js";
import { bytesText, countText, millisecondsText, nounText } from "../shell/drawing/numbers.js";
import { h, toDom } from "../shell/drawing/tree.js";
import { connectDrop } from "../shell/drop.js";
import { messageOf } from "../shell/message-of.js";
import { readTexts, rowsWith } from "./texts.js";

/** Examples that are listed at a time. */
const LISTED = 12;

const isText = ({ name }: File) => /\.(txt|json)$/i.test(name);

export function connectVectors(
  element: HTMLElement,
  {
    view,
    call,
    announce,
    show,
  }: {
    view: HTMLElement;
    call: (command: string, argument: unknown) => Promise<any>;
    announce: (message: string) => void;
    show: (problem: string) => void;
  },
) {
  const output = find(element, ".search-vectors");
  /** Texts of rows; of rows without one their number. */
  let texts: string[] = [];
  /** Changes with each choice of files: what an earlier one gives is dropped. */
  let choice = Symbol();

  const open = async (files: File[]) => {
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
      show(messageOf(error));
    }
  };

  const say = (text: string) =>
    output.replaceChildren(toDom(h("p", { class: "search-status" }, text)));

  const index = async (
    own: symbol,
    file: File,
    { name, shape }: { name: string; shape: number[] },
    given: string[] | undefined,
  ) => {
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
    const filter = find(output, ".search-filter", HTMLInputElement);
    filter.addEventListener("input", () => list(filter.value));
    list("");
    announce(`${nounText(rows, "vector")} can be searched.`);
  };

  /** Lists examples with a part of a text. */
  const list = (part: string) => {
    const found = rowsWith(texts, part, LISTED);
    const examples = find(output, ".search-examples");
    examples.replaceChildren(
      ...found.map((row) => toDom(h("li", {}, example(row)))),
      ...(found.length === 0 ? [toDom(h("li", {}, `No text has “${part}”.`))] : []),
    );
  };

  const example = (row: number) =>
    h("button", { type: "button", class: "button", "data-row": row }, texts[row]);

  const search = async (row: number) => {
    const own = choice;
    try {
      const found = await call("nearestTo", { id: row });
      if (own !== choice) return;
      showNearest(row, found);
      show("");
    } catch (error) {
      if (own === choice) show(messageOf(error));
    }
  };

  const showNearest = (
    row: number,
    {
      hits,
      candidates,
      time,
    }: { hits: { id: number; score: number }[]; candidates: number; time: number },
  ) => {
    const nearest = hits.filter(({ id }) => id !== row).slice(0, 10);
    const part = find(output, ".search-nearest");
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

  output.addEventListener("click", (event) => {
    const row = closest(event, "button")?.dataset.row;
    if (row !== undefined) search(Number(row));
  });

  /** A choice of the tensor that holds the vectors. */
  const chooser = (
    own: symbol,
    file: File,
    matrices: { name: string; shape: number[]; dtype: string }[],
    given: string[] | undefined,
  ) => {
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
    const select = find(element, "select", HTMLSelectElement);
    select.addEventListener("change", () => {
      index(own, file, matrices[Number(select.value)], given).catch((error) => {
        if (own === choice) show(error.message);
      });
    });
    return element;
  };

  connectDrop(view, find(element, "input", HTMLInputElement), open, {
    marked: element,
    isActive: () => view.hasAttribute("data-current"),
  });
}
