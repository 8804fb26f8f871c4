// Sentences about the file and the table.

import type { CompareRow } from "zeropoint/models";
import { countText, nounText } from "../shell/drawing/numbers.js";
import type { Layers } from "./layers.js";
import { keptByReason } from "./reasons.js";

/** The end of an analysis in words. */
export function analyzedText({ size, rows }: Layers) {
  if (size > 0) return `${nounText(size, "layer")} analyzed.`;
  const kept = keptByReason(rows).map(([reason, names]) => {
    return `${nounText(names.length, "tensor")} (${reason})`;
  });
  return `This file has no layer to quantize. Kept: ${kept.join(", ") || "nothing"}.`;
}

/** How many layers a filter finds; empty without a filter. */
export function foundText(found: number, all: number, filter: string) {
  if (!filter || all === 0) return "";
  return found === 0
    ? `No name of a layer contains “${filter}”. `
    : `${found} of ${nounText(all, "layer")} found. `;
}

/** An error, of a file that breaks its format with the place. */
export type FormatProblem = Error & { offset?: number; expected?: string; found?: string };

/** Files of PyTorch that are programs, which opening runs. */
const PICKLED = /\.(bin|ckpt|pickle|pkl|pt|pth)$/i;

/** What is wrong with a file, and where it breaks its format. */
export function problemText({ message, offset, expected, found }: FormatProblem, name: string) {
  if (offset === undefined) return message;
  if (PICKLED.test(name)) {
    return `${name} is a file of Python's pickle, which the lab does not open, as opening one may run programs. Save the model as safetensors.`;
  }
  if (found === "an empty file") return `${name} is empty: 0 bytes.`;
  if (expected?.startsWith("the beginning of a file of")) {
    const bytes = String(found).replace(/^bytes /, "");
    return /^[0 ]+$/.test(bytes)
      ? `${name} begins with zeros, as a file does whose download has not ended.`
      : `${name} is no model that the lab opens: safetensors, GGUF, ONNX, npz, npy or TensorFlow.js. Its first bytes are ${bytes}.`;
  }
  return `${name}, byte ${countText(Number(offset))}: expected ${expected}, found ${found}.`;
}

/** Which errors the table shows. */
export function showsText({
  layers,
  estimates,
  outputs,
  diagonal,
}: {
  layers: number;
  estimates: number;
  outputs: number;
  diagonal: number;
}) {
  if (layers === 0) return "";
  const weights = layers - outputs;
  const shown = [
    outputs > 0 && `errors of the outputs of ${nounText(outputs, "layer")}`,
    weights > 0 && `errors of the weights of ${nounText(weights, "layer")}`,
  ];
  const text = shown.filter(Boolean).join(", ");
  const estimated = [
    estimates > 0 && `${estimates} of them estimated from samples of their weights`,
    diagonal > 0 &&
      `outputs of ${nounText(diagonal, "layer")} estimated as if the inputs were uncorrelated`,
  ].filter(Boolean);
  return `Shown: ${text}; ${estimated.join("; ") || "all exact"}.`;
}

/** Missing and different tensors first, then by signal to noise. */
export const worstFirst = (rows: readonly CompareRow[]) => {
  const rank = ({ reason, sqnr }: CompareRow) =>
    reason !== undefined && !(sqnr === Infinity) ? -Infinity : sqnr;
  return [...rows].sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
};

export function comparedText(rows: readonly CompareRow[]) {
  const equal = rows.filter((row) => row.equal).length;
  const missed = rows.filter((row) => row.reason !== undefined && !row.equal).length;
  const differ = rows.length - equal - missed;
  return `${nounText(rows.length, "tensor")}: ${equal} equal, ${differ} different, ${missed} not compared.`;
}
