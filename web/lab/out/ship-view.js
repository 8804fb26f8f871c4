// Writes the quantized file: to a place the reader chooses, or through the browser's private file system.

import { bytesText, nounText } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { makeScrollable } from "../../shell/scrollable.js";
import { formatText, metricWithUnit, plainNumber } from "../format.js";
import { outputName } from "../names.js";
import { createProgress } from "../show/progress.js";

/** Targets by output format: value, and what it is for. The first is the default. */
const TARGETS = {
  safetensors: [
    ["", "zeropoint and Python"],
    ["compressed-tensors", "compressed-tensors: vLLM"],
    ["mlx", "MLX: Macs"],
  ],
  gguf: [["", "GGUF"]],
  onnx: [
    ["web", "ONNX Runtime Web, CPU"],
    ["webgpu", "ONNX Runtime Web, WebGPU"],
    ["node", "ONNX Runtime in Node"],
    ["portable", "ONNX without extensions"],
  ],
};

/** Columns of the table of tensors that are not numbers. */
const TEXTS = ["Scheme", "Reason"];

/**
 * @typedef {object} ShipContext
 * @property {(argument: any, run: import("../show/progress.js").Run) => Promise<any>} write
 * @property {() => { header: any, plan: any, count: number }} current  count: of files to write
 * @property {(choice: { format: string, target: string }) => void} onChoice  called when another output is chosen
 * @property {() => void} onWrite  called before a file is written
 * @property {(message: string) => void} announce
 */

/**
 * @param {HTMLElement} parent
 * @param {ShipContext} context
 */
export function connectShip(parent, { write, current, onChoice, onWrite, announce }) {
  parent.append(
    toDom(
      h(
        "div",
        { class: "lab-controls" },
        h(
          "label",
          {},
          h("span", {}, "Format"),
          h(
            "select",
            { name: "format" },
            h("option", { value: "" }, "as the model"),
            Object.keys(TARGETS).map((name) => h("option", { value: name }, formatText(name))),
          ),
        ),
        h("label", {}, h("span", {}, "For"), h("select", { name: "target" })),
        h(
          "label",
          { class: "lab-runs", hidden: true },
          h("input", { type: "checkbox", name: "runs" }),
          h("span", {}, "Compare outputs in ONNX Runtime Web (loads 14 MB)"),
        ),
        h(
          "button",
          { type: "button", class: "button primary", "data-action": "write" },
          "Write the file",
        ),
      ),
    ),
    toDom(h("div", { class: "lab-write-progress lab-progress" })),
    toDom(h("div", { class: "lab-written", role: "status" })),
  );
  const find = (/** @type {string} */ selector) =>
    /** @type {HTMLElement} */ (parent.querySelector(selector));
  const format = /** @type {HTMLSelectElement} */ (find("[name='format']"));
  const target = /** @type {HTMLSelectElement} */ (find("[name='target']"));
  const button = find("[data-action='write']");
  const progress = createProgress(find(".lab-write-progress"), { announce });
  const written = find(".lab-written");

  const outputFormat = () => {
    const own = current().header?.format;
    return format.value || (own in TARGETS ? own : "safetensors");
  };
  const showTargets = () => {
    const targets = TARGETS[/** @type {keyof typeof TARGETS} */ (outputFormat())];
    find(".lab-runs").hidden = outputFormat() !== "onnx";
    target.replaceChildren(...targets.map(([value, text]) => toDom(h("option", { value }, text))));
  };
  format.addEventListener("change", () => {
    showTargets();
    onChoice({ format: format.value, target: "" });
  });
  target.addEventListener("change", () => {
    onChoice({ format: format.value, target: target.value });
  });

  button.addEventListener("click", async () => {
    const { header, plan, count } = current();
    if (!header || !plan) return;
    const runs = /** @type {HTMLInputElement} */ (find("[name='runs']")).checked;
    const choice = { choice: plan, format: outputFormat(), target: target.value };
    const argument = { ...choice, runs: runs && choice.format === "onnx" };
    try {
      // The picker opens in the click itself: browsers refuse it later.
      const handles = await pickFile(header, argument.format, count);
      onWrite();
      unlinkFiles(written);
      const result = await write({ ...argument, handles }, progress.start());
      written.replaceChildren(toDom(h("div", {}, resultParts(result))));
      linkFiles(written, result, outputName(header.name, argument.format, 1));
      makeScrollable(written);
      announce(written.textContent ?? "");
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      written.textContent = name === "AbortError" ? "Stopped: nothing was kept." : message;
      announce(written.textContent);
    } finally {
      if (progress.end()) button.focus();
    }
  });

  return {
    outputFormat,
    /** The output in words: the program that the file is for, or the format. */
    outputText() {
      const text = target.selectedOptions[0]?.textContent ?? "";
      return target.value === "" ? formatText(outputFormat()) : text.split(":")[0];
    },
    /** Whether there is a plan of the present output to write. @param {boolean} isReady */
    setReady(isReady) {
      /** @type {HTMLButtonElement} */ (button).disabled = !isReady;
    },
    /** What is to be written: the format, and what it is for. */
    output: () => ({ format: outputFormat(), target: target.value }),
    /** For another file. @param {{ format: string, target: string }} choice  values that there are not are ignored */
    refresh(choice) {
      // ONNX files need a graph, which other formats do not have.
      const hasGraph = current().header?.format === "onnx";
      for (const option of format.options) option.disabled = option.value === "onnx" && !hasGraph;
      const isThere =
        Object.hasOwn(TARGETS, choice.format) && (choice.format !== "onnx" || hasGraph);
      format.value = isThere ? choice.format : "";
      unlinkFiles(written);
      showTargets();
      if ([...target.options].some(({ value }) => value === choice.target)) {
        target.value = choice.target;
      }
    },
  };
}

/**
 * Asks where to save; undefined where the browser has no picker, and for outputs of several files, which refer to each
 * other by their names: shards, and checkpoints with their config.json.
 * @param {any} header
 * @param {string} format
 * @param {number} count  of files
 */
async function pickFile({ name }, format, count) {
  const picker = /** @type {any} */ (window).showSaveFilePicker;
  if (!picker || count > 1) return undefined;
  return [await picker.call(window, { suggestedName: outputName(name, format, count) })];
}

/** @param {any} result */
function resultParts({ report, verified, inputs, names, files, answers }) {
  const quantized = report.rows.filter((/** @type {any} */ { scheme }) => scheme !== "keep");
  const { tensors, problems, largest } = verified;
  const kept = report.rows.filter((/** @type {any} */ { scheme }) => scheme === "keep");
  return [
    h(
      "p",
      {},
      h("strong", {}, `${bytesText(report.bytesBefore)} became ${bytesText(report.bytesAfter)}. `),
      `${nounText(quantized.length, "tensor")} quantized, ${kept.length} kept. `,
      files.length < names.length && `Saved as ${names[0]}. `,
      `${tensors - problems.length} of ${nounText(tensors, "tensor")} read again; the largest difference from the original is ${plainNumber(largest)}.`,
    ),
    problems.length > 0 &&
      h(
        "ul",
        { class: "cell-error" },
        problems.slice(0, 20).map((/** @type {string} */ text) => h("li", {}, text)),
      ),
    report.outputs?.length > 0 && [
      h(
        "p",
        {},
        `The original and the quantized model in ONNX Runtime Web, both on ${inputsText(inputs)}:`,
      ),
      h(
        "ul",
        {},
        report.outputs.map((/** @type {any} */ { name, max, sqnr }) =>
          h(
            "li",
            {},
            h("code", {}, name),
            `: largest difference ${plainNumber(max)}, ${metricWithUnit("sqnr", sqnr)}`,
          ),
        ),
        answers.map((/** @type {any} */ each) => h("li", {}, answerText(each))),
      ),
    ],
    report.notes.length > 0 &&
      h(
        "ul",
        {},
        report.notes.map((/** @type {string} */ note) => h("li", {}, note)),
      ),
    h(
      "details",
      {},
      h("summary", {}, "All tensors"),
      h(
        "div",
        { class: "scroll-x" },
        h(
          "table",
          { class: "facts" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["Tensor", "Scheme", "Before", "After", "Reason"].map((title) =>
                h("th", { scope: "col", class: TEXTS.includes(title) && "is-text" }, title),
              ),
            ),
          ),
          h(
            "tbody",
            {},
            report.rows
              .slice(0, 1000)
              .map((/** @type {any} */ row) =>
                h(
                  "tr",
                  {},
                  h("th", { scope: "row" }, row.name),
                  h("td", { class: "is-text" }, row.scheme),
                  h("td", {}, bytesText(row.bytesBefore)),
                  h("td", {}, bytesText(row.bytesAfter)),
                  h("td", { class: "is-text" }, row.reason ?? ""),
                ),
              ),
          ),
        ),
      ),
    ),
  ];
}

/** @param {number} share */
const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** @param {{ same: number, right?: number[] }} answers  of compareAnswers */
const answerText = ({ same, right }) =>
  [
    right && `right answers: ${percent(right[0])} before, ${percent(right[1])} quantized; `,
    `the same answer, the class of the largest score, for ${percent(same)} of the inputs`,
  ]
    .filter(Boolean)
    .join("");

/** @param {readonly string[]} given  names of inputs that were dropped */
const inputsText = (given) =>
  given.length > 0 ? `the inputs that you added (${given.join(", ")})` : "the same random inputs";

/** Removes what was said about an earlier file, which is written over. @param {HTMLElement} parent */
function unlinkFiles(parent) {
  for (const { href } of parent.querySelectorAll("a")) URL.revokeObjectURL(href);
  parent.replaceChildren();
}

/**
 * Links for files in the private file system.
 * @param {HTMLElement} parent
 * @param {{ files: File[], names: string[] }} result  names: of all files that were written
 * @param {string} name  of a single file; several refer to each other by theirs
 */
function linkFiles(parent, { files, names }, name) {
  for (const file of files) {
    const link = document.createElement("a");
    link.className = "button primary";
    link.href = URL.createObjectURL(file);
    link.download = names.length === 1 ? name : file.name;
    link.textContent = `Download ${link.download} (${bytesText(file.size)})`;
    const paragraph = document.createElement("p");
    paragraph.append(link);
    parent.append(paragraph);
  }
}
