// Writes the quantized file: to a place the reader chooses, or through the browser's private file system.

import type { Plan } from "zeropoint/models";
import { find } from "../../shell/dom.js";
import { bytesText, nounText } from "../../shell/drawing/numbers.js";
import { factsTable } from "../../shell/drawing/table.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { makeScrollable } from "../../shell/scrollable.js";
import { formatText, metricWithUnit, plainNumber } from "../format.js";
import type { Header } from "../model/commands.js";
import { outputName } from "../names.js";
import { createProgress, type Run } from "../show/progress.js";

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

interface ShipContext {
  write: (argument: any, run: Run) => Promise<any>;
  /** count: of files to write. */
  current: () => { header: Header | undefined; plan: Plan | undefined; count: number };
  /** Called when another output is chosen. */
  onChoice: (choice: { format: string; target: string }) => void;
  /** Called before a file is written. */
  onWrite: () => void;
  announce: (message: string) => void;
}

export function connectShip(
  parent: HTMLElement,
  { write, current, onChoice, onWrite, announce }: ShipContext,
) {
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
  const format = find(parent, "[name='format']", HTMLSelectElement);
  const target = find(parent, "[name='target']", HTMLSelectElement);
  const button = find(parent, "[data-action='write']");
  const progress = createProgress(find(parent, ".lab-write-progress"), { announce });
  const written = find(parent, ".lab-written");

  const outputFormat = () => {
    const own = current().header?.format ?? "";
    return format.value || (own in TARGETS ? own : "safetensors");
  };
  const showTargets = () => {
    const targets = TARGETS[outputFormat() as keyof typeof TARGETS];
    find(parent, ".lab-runs").hidden = outputFormat() !== "onnx";
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
    const runs = find(parent, "[name='runs']", HTMLInputElement).checked;
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
      const { name, message } = error as Error;
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
    /** Whether there is a plan of the present output to write. */
    setReady(isReady: boolean) {
      (button as HTMLButtonElement).disabled = !isReady;
    },
    /** What is to be written: the format, and what it is for. */
    output: () => ({ format: outputFormat(), target: target.value }),
    /**
     * For another file.
     * @param choice  values that there are not are ignored
     */
    refresh(choice: { format: string; target: string }) {
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
 * @param count  of files
 */
async function pickFile({ name }: any, format: string, count: number) {
  const picker = (window as any).showSaveFilePicker;
  if (!picker || count > 1) return undefined;
  return [await picker.call(window, { suggestedName: outputName(name, format, count) })];
}

function resultParts({ report, verified, inputs, names, files, answers }: any) {
  const quantized = report.rows.filter(({ scheme }: any) => scheme !== "keep");
  const { tensors, problems, largest } = verified;
  const kept = report.rows.filter(({ scheme }: any) => scheme === "keep");
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
        problems.slice(0, 20).map((text: string) => h("li", {}, text)),
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
        report.outputs.map(({ name, max, sqnr }: any) =>
          h(
            "li",
            {},
            h("code", {}, name),
            `: largest difference ${plainNumber(max)}, ${metricWithUnit("sqnr", sqnr)}`,
          ),
        ),
        answers.map((each: any) => h("li", {}, answerText(each))),
      ),
    ],
    report.notes.length > 0 &&
      h(
        "ul",
        {},
        report.notes.map((note: string) => h("li", {}, note)),
      ),
    h(
      "details",
      {},
      h("summary", {}, "All tensors"),
      factsTable(
        ["Tensor", "Scheme", "Before", "After", "Reason"],
        report.rows
          .slice(0, 1000)
          .map((row: any) =>
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
        { texts: TEXTS },
      ),
    ),
  ];
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

/** @param answers  of compareAnswers */
const answerText = ({ same, right }: { same: number; right?: number[] }) =>
  [
    right && `right answers: ${percent(right[0])} before, ${percent(right[1])} quantized; `,
    `the same answer, the class of the largest score, for ${percent(same)} of the inputs`,
  ]
    .filter(Boolean)
    .join("");

/** @param given  names of inputs that were dropped */
const inputsText = (given: readonly string[]) =>
  given.length > 0 ? `the inputs that you added (${given.join(", ")})` : "the same random inputs";

/** Removes what was said about an earlier file, which is written over. */
function unlinkFiles(parent: HTMLElement) {
  for (const { href } of parent.querySelectorAll("a")) URL.revokeObjectURL(href);
  parent.replaceChildren();
}

/**
 * Links for files in the private file system.
 * @param result  names: of all files that were written
 * @param name  of a single file; several refer to each other by theirs
 */
function linkFiles(
  parent: HTMLElement,
  { files, names }: { files: File[]; names: string[] },
  name: string,
) {
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
