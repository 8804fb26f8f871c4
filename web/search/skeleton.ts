// The parts of the search view, empty.

import { padTree } from "../digits/pad-tree.js";
import { h } from "../shell/drawing/tree.js";

/** What is searched, in the order of the columns. */
export const SEARCHES = [
  { name: "float32", title: "float32", about: "plain JavaScript" },
  { name: "int8", title: "int8 codes", about: "8 bits a value" },
  { name: "int4", title: "int4 codes", about: "4 bits a value" },
  { name: "binary", title: "signs", about: "1 bit a value" },
];

export const skeleton = () => [
  h("p", { class: "search-problem cell-error", hidden: true, role: "alert" }),
  h(
    "div",
    { class: "search-digits" },
    h(
      "div",
      { class: "search-draw" },
      padTree(),
      h("p", { class: "search-status" }, "The first stroke loads the digits, 0.9\u00a0MB."),
    ),
    h(
      "div",
      { class: "search-results" },
      SEARCHES.map(({ name, title, about }) =>
        h(
          "section",
          { class: "search-column", "data-search": name, "aria-label": title },
          h("h2", {}, title, " ", h("small", {}, about)),
          h("p", { class: "search-facts" }, "\u00a0"),
          h("ol", { class: "search-hits" }),
          h("p", { class: "search-proof" }, "\u00a0"),
        ),
      ),
    ),
  ),
  h(
    "p",
    { class: "search-explained" },
    "Each row of codes has a bound of its error. A digit whose best possible score is below the tenth best certain one " +
      "cannot be among the ten nearest; if ten remain, they are proven. Of the others, the float32 values of the few " +
      "candidates decide. Outlined digits are not among the ten nearest by float32 values.",
  ),
  h(
    "section",
    { class: "search-own lab-drop", "aria-labelledby": "search-own-title" },
    h("h2", { id: "search-own-title" }, "Your own vectors"),
    h(
      "p",
      {},
      h(
        "label",
        { class: "button" },
        "Open vectors and texts",
        h("input", {
          type: "file",
          class: "visually-hidden",
          multiple: true,
          accept: ".npy,.npz,.safetensors,.txt,.json",
        }),
      ),
      " or drop them here: an .npy, .npz or .safetensors file with a matrix of embeddings and, if you have them, their " +
        "texts: a .txt file with one a line, or a .json file with a list. Nothing is uploaded.",
    ),
    h("div", { class: "search-vectors" }),
  ),
];
