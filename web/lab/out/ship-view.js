// Writes the quantized file: to a place the reader chooses, or through the browser's private file system.

import { h, toDom } from "../../shell/tree.js";
import { bytesText, metricWithUnit, nounText, plainNumber } from "../format.js";
import { createProgress } from "../show/progress.js";

/** Targets by output format: value, and what it is for. The first is the default. */
const TARGETS = {
  safetensors: [
    ["", "zeropoint: load() and ten lines of Python"],
    ["compressed-tensors", "compressed-tensors: vLLM"],
    ["mlx", "MLX: Macs"],
  ],
  gguf: [["", "GGUF"]],
  onnx: [
    ["web", "ONNX Runtime Web, on the processor"],
    ["webgpu", "ONNX Runtime Web, WebGPU"],
    ["node", "ONNX Runtime in Node"],
    ["portable", "ONNX without extensions"],
  ],
};

/**
 * @typedef {object} ShipContext
 * @property {(argument: any, options: import("../client.js").CallOptions) => Promise<any>} call
 * @property {() => { header: any, plan: any }} current
 * @property {() => void} onFormat  called when another format is chosen
 * @property {() => void} onWrite  called before a file is written
 * @property {(message: string) => void} announce
 */

/**
 * @param {HTMLElement} parent
 * @param {ShipContext} context
 */
export function connectShip(parent, { call, current, onFormat, onWrite, announce }) {
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
            h("option", { value: "" }, "as it is"),
            Object.keys(TARGETS).map((name) => h("option", { value: name }, name)),
          ),
        ),
        h("label", {}, h("span", {}, "For"), h("select", { name: "target" })),
        h(
          "label",
          { class: "lab-runs", hidden: true },
          h("input", { type: "checkbox", name: "runs" }),
          h("span", {}, "Run both in ONNX Runtime Web (14 MB)"),
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
    onFormat();
  });

  button.addEventListener("click", async () => {
    const { header, plan } = current();
    if (!header || !plan) return;
    const runs = /** @type {HTMLInputElement} */ (find("[name='runs']")).checked;
    const choice = { choice: plan, format: outputFormat(), target: target.value };
    const argument = { ...choice, runs: runs && choice.format === "onnx" };
    try {
      // The picker opens in the click itself: browsers refuse it later.
      const handles = await pickFile(header, argument.format);
      onWrite();
      unlinkFiles(written);
      const run = progress.start();
      const result = await call(
        { ...argument, handles },
        {
          ...run,
          onEvent: ({ progress: step, verifying, compared, total }) => {
            if (step) progress.show(step);
            if (verifying) progress.say("Reading it again …");
            if (compared) progress.say(`${compared} of ${total} tensors read again`);
          },
        },
      );
      written.replaceChildren(toDom(h("div", {}, resultParts(result))));
      linkFiles(written, result.files);
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
    /** What is to be written: the format, if it is another one than the file's, and what it is for. */
    choice: () => ({ format: format.value, target: target.value }),
    /** For another file. */
    refresh() {
      format.value = "";
      unlinkFiles(written);
      showTargets();
    },
  };
}

/**
 * Asks where to save; undefined where the browser has no picker, or for formats that may need several files.
 * @param {any} header
 * @param {string} format
 */
async function pickFile(header, format) {
  const picker = /** @type {any} */ (window).showSaveFilePicker;
  if (!picker || /\.index\.json$/.test(header.name)) return undefined;
  const suggestedName = `${header.name.replace(/\.[^.]*$/, "")}-quantized.${format}`;
  return [await picker.call(window, { suggestedName })];
}

/** @param {any} result */
function resultParts({ report, verified, inputs }) {
  const quantized = report.rows.filter((/** @type {any} */ { scheme }) => scheme !== "keep");
  const { tensors, problems, largest } = verified;
  const kept = report.rows.filter((/** @type {any} */ { scheme }) => scheme === "keep");
  return [
    h(
      "p",
      {},
      h("strong", {}, `${bytesText(report.bytesBefore)} became ${bytesText(report.bytesAfter)}. `),
      `${nounText(quantized.length, "tensor")} quantized, ${kept.length} kept. `,
      `${tensors - problems.length} of ${nounText(tensors, "tensor")} read again; the largest difference from the original is ${plainNumber(largest)}.`,
    ),
    problems.length > 0 &&
      h(
        "ul",
        { class: "cell-error" },
        problems.slice(0, 20).map((/** @type {string} */ text) => h("li", {}, text)),
      ),
    report.outputs?.length > 0 && [
      h("p", {}, `Both run in ONNX Runtime Web on the same ${inputsText(inputs)}:`),
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
      h("summary", {}, "What was done with each tensor"),
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
                h("th", { scope: "col" }, title),
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
                  h("td", {}, row.scheme),
                  h("td", {}, bytesText(row.bytesBefore)),
                  h("td", {}, bytesText(row.bytesAfter)),
                  h("td", {}, row.reason ?? ""),
                ),
              ),
          ),
        ),
      ),
    ),
  ];
}

/** @param {readonly string[]} given  names of inputs that were dropped */
const inputsText = (given) =>
  given.length > 0 ? `inputs, ${given.join(", ")} as you gave them` : "random inputs";

/** Removes what was said about an earlier file, which is written over. @param {HTMLElement} parent */
function unlinkFiles(parent) {
  for (const { href } of parent.querySelectorAll("a")) URL.revokeObjectURL(href);
  parent.replaceChildren();
}

/** Links for files in the private file system. @param {HTMLElement} parent @param {File[]} files */
function linkFiles(parent, files) {
  for (const file of files) {
    const link = document.createElement("a");
    link.className = "button primary";
    link.href = URL.createObjectURL(file);
    link.download = file.name;
    link.textContent = `Download ${file.name} (${bytesText(file.size)})`;
    const paragraph = document.createElement("p");
    paragraph.append(link);
    parent.append(paragraph);
  }
}
