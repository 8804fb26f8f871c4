// The lab's empty parts, filled as a file is opened, analyzed, planned and written.

import { h } from "../shell/tree.js";
import { METRICS } from "./format.js";

const SAMPLES = [
  ["digits.safetensors", "safetensors"],
  ["digits.onnx", "ONNX"],
  ["digits.gguf", "GGUF"],
];

const button = (/** @type {string} */ action, /** @type {string} */ text, attributes = {}) =>
  h("button", { type: "button", class: "button", "data-action": action, ...attributes }, text);

const section = (
  /** @type {string} */ name,
  /** @type {string} */ title,
  /** @type {import("../shell/tree.js").Nested[]} */ ...children
) =>
  h(
    "section",
    { class: `lab-section ${name}`, "aria-labelledby": `${name}-title` },
    h("h2", { id: `${name}-title` }, title),
    ...children,
  );

export const skeleton = () => [
  h(
    "div",
    { class: "lab-drop" },
    h(
      "label",
      { class: "button primary" },
      "Open a model file",
      h("input", {
        type: "file",
        class: "visually-hidden",
        multiple: true,
        accept: ".safetensors,.gguf,.onnx,.npy,.npz,.json,.bin,.data",
      }),
    ),
    h(
      "p",
      {},
      "or drop it here: safetensors, GGUF, ONNX, npy, npz or TensorFlow.js; shards and data files together.",
    ),
    h(
      "p",
      { class: "lab-samples" },
      "Or take a sample, the network of notebook 6 that reads digits: ",
      SAMPLES.map(([name, title], i) => [
        i > 0 && ", ",
        h("button", { type: "button", class: "lab-sample", "data-sample": name }, title),
      ]),
      ".",
    ),
  ),
  h("p", { class: "lab-problem cell-error", hidden: true, role: "alert" }),
  section(
    "lab-file",
    "The file",
    h("p", { class: "lab-title" }, h("strong", { class: "lab-name" })),
    h("p", { class: "lab-facts" }),
    h("div", { class: "lab-strip" }),
    h(
      "p",
      { class: "lab-caption" },
      "Each bar is a tensor, as wide as its bytes; filled up to what the plan leaves of it.",
    ),
    h("details", { class: "lab-metadata" }),
  ),
  section(
    "lab-analysis",
    "What each scheme costs each layer",
    h(
      "p",
      {},
      "Each number is the error that a scheme makes in the weights of a layer, or in its outputs if you add its " +
        "inputs below; open a cell for its details. Neither is the accuracy of the model: they say which layers to " +
        "look at.",
    ),
    h(
      "div",
      { class: "lab-controls" },
      h(
        "label",
        {},
        h("span", {}, "Show"),
        h(
          "select",
          { name: "metric" },
          Object.entries(METRICS).map(([name, { title, unit }]) =>
            h("option", { value: name }, unit ? `${title} in ${unit}` : title),
          ),
        ),
      ),
      h(
        "label",
        {},
        h("span", {}, "Find"),
        h("input", {
          type: "search",
          name: "filter",
          placeholder: "part of a name",
          autocomplete: "off",
        }),
      ),
      button("analyze", "Analyze again"),
    ),
    h("div", { class: "lab-progress" }),
    h("p", { class: "lab-status" }),
    h("div", { class: "lab-table" }),
    h("p", { class: "lab-shows" }),
    h(
      "p",
      { class: "lab-legend" },
      "● of the plan · ≈ estimated from some rows · → error of the outputs on your inputs, else of the weights",
    ),
    h(
      "div",
      { class: "lab-inputs lab-drop" },
      h(
        "p",
        {},
        h(
          "label",
          { class: "button" },
          "Add inputs",
          h("input", {
            type: "file",
            class: "visually-hidden",
            multiple: true,
            accept: ".npy,.npz",
          }),
        ),
        " ",
        button("remove-inputs", "Remove inputs", { hidden: true }),
      ),
      h(
        "p",
        {},
        "or drop them here: .npy files named as a weight (",
        h("code", {}, "fc1.weight.npy"),
        " or ",
        h("code", {}, "fc1.npy"),
        "), or an .npz with such arrays, of shape [samples, inputs]. Its errors are then those of the outputs.",
      ),
      h("p", { class: "lab-inputs-model", hidden: true }),
      h("ul", { class: "lab-inputs-list" }),
    ),
  ),
  section(
    "lab-plan",
    "A plan within a size",
    h(
      "p",
      {},
      "The line is the least total error for each size of the file, and every dot one scheme for all layers. Move " +
        "the slider; the table shows what each layer gets. A pinned layer keeps its scheme. Only schemes that the " +
        "format below can hold take part.",
    ),
    h("div", { class: "lab-frontier" }),
    h("details", { class: "lab-kept", hidden: true }),
    h("p", {}, button("unpin", "Remove all pins", { hidden: true })),
  ),
  section("lab-ship", "The quantized file"),
  section("lab-report", "To take away"),
  h("dialog", { class: "lab-drawer", "aria-labelledby": "lab-detail-title" }),
];
