// The lab's empty parts, filled as a file is opened, analyzed, planned and written.

import { h, type Nested } from "../shell/drawing/tree.js";
import { METRICS } from "./format.js";

/** Networks that read digits: how they are named here, and their files by format. */
const SAMPLES = {
  "two layers": { "digits.safetensors": "safetensors", "digits.onnx": "ONNX" },
  "25 layers": { "digits-deep.gguf": "GGUF", "digits-deep.onnx": "ONNX with inputs" },
};

const button = (action: string, text: string, attributes = {}) =>
  h("button", { type: "button", class: "button", "data-action": action, ...attributes }, text);

const section = (name: string, title: string, ...children: Nested[]) =>
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
      "or drop it here: safetensors, GGUF, ONNX, npy, npz or TensorFlow.js, also quantized ones. Open all shards and " +
        "data files of a model together, or drop their folder. Two models are compared.",
    ),
    h(
      "form",
      { class: "lab-address" },
      h(
        "label",
        {},
        h("span", {}, "Or an address on this site"),
        h("input", { type: "text", name: "address", placeholder: "models/model.gguf" }),
      ),
      h("button", { type: "submit", class: "button" }, "Open"),
    ),
    h(
      "p",
      { class: "lab-samples" },
      h("span", {}, "Or open a sample, a network that reads digits."),
      Object.entries(SAMPLES).map(([network, files]) =>
        h(
          "span",
          { class: "lab-network" },
          `Of ${network}:`,
          Object.entries(files).map(([name, title]) =>
            h("button", { type: "button", class: "lab-sample", "data-sample": name }, title),
          ),
        ),
      ),
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
      "Each bar is a tensor. Its width is the tensor's size in the file, its filled part the size in the plan.",
    ),
    h("details", { class: "lab-tensors" }),
    h("details", { class: "lab-metadata" }),
  ),
  section(
    "lab-analysis",
    "Error of each scheme in each layer",
    h(
      "p",
      {},
      "Each number is the error of a layer's weights after quantization, or of the layer's outputs if you add its " +
        "inputs below. Select a cell for details and to pin its scheme. The errors show which layers are sensitive; " +
        "they are not the accuracy of the model.",
    ),
    h(
      "div",
      { class: "lab-controls" },
      h(
        "label",
        {},
        h("span", {}, "Metric"),
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
        h("span", {}, "Filter"),
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
      "● in the plan · ■ pinned · × not stored by the output chosen below · ≈ estimated · → error of the outputs, otherwise of the weights",
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
            accept: ".npy,.npz,.gguf",
          }),
        ),
        " ",
        button("remove-inputs", "Remove inputs", { hidden: true }),
      ),
      h(
        "p",
        {},
        "or drop them here: an .npy file named after a weight (",
        h("code", {}, "fc1.weight.npy"),
        " or ",
        h("code", {}, "fc1.npy"),
        "), or an .npz file with arrays named so, of shape [samples, inputs]. The table then shows the errors of " +
          "the layer's outputs. For GGUF also the importance matrix that llama-imatrix writes, which rounds the file, too.",
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
      "The line is the plan of least total error for each size; each circle is one scheme for all layers",
      h(
        "span",
        { class: "lab-mixes", hidden: true },
        ", each square one of llama-quantize's mixes",
      ),
      ". Move the slider to choose a size: the table shows the scheme of each layer. Pinned layers keep their " +
        "scheme. Only schemes that the output format below can store are used.",
    ),
    h("div", { class: "lab-frontier" }),
    h("details", { class: "lab-kept", hidden: true }),
    h("p", {}, button("unpin", "Remove all pins", { hidden: true })),
  ),
  section("lab-ship", "The quantized file"),
  section("lab-report", "Reports and commands"),
  section(
    "lab-compare",
    "Compared with another file",
    h(
      "div",
      { class: "lab-drop" },
      h(
        "p",
        {},
        h(
          "label",
          { class: "button" },
          "Compare with a file",
          h("input", { type: "file", class: "visually-hidden", multiple: true }),
        ),
        " or drop it here: every tensor of both files, dequantized, with the errors of the other file's values.",
      ),
    ),
    h("div", { class: "lab-progress" }),
    h("div", { class: "compare-result" }),
  ),
  h("dialog", { class: "lab-drawer", "aria-labelledby": "lab-detail-title" }),
];
