// A plan as text.

import { wrongKind } from "../../base/check.js";
import { fieldOf, ownFields } from "../../base/fields.js";
import { checkObject } from "../../base/options.js";
import type { Plan } from "./plan.js";
import { byText } from "./rows.js";

/** The name of the error of each metric. */
const METRICS: Readonly<Record<Plan["metric"], string>> = {
  layers: "squared error of a weight by its squared values, mean of all weights",
  relative: "squared error of the weights by their squared values, by share of the parameters",
  output: "squared error of the outputs by their squared values, by share of the parameters",
  mse: "mean squared error of the weights, by share of the parameters",
  max: "largest error of the weights, by share of the parameters",
  cosine: "1 - cosine similarity of the weights, by share of the parameters",
  custom: "error of options.metric, by share of the parameters",
};

/**
 * A plan as text: the size of its tensors and, if it is known, of the file, its error with its distance from the best possible, and how many tensors have which scheme
 * and why.
 * @example
 * describePlan(plan(rows, { bytes: 15_000 })).split("\n")[0]; // "2 tensors, 14.3 kB, 7.000 bits per weight"
 */
export function describePlan(plan: Plan): string {
  const where = "describePlan";
  const given = ownFields(checkObject(where, "plan", plan)) as unknown as Plan;
  const { schemes, reasons, bytesBefore, fileBytes, gap, metric } = given;
  const [bytes, bitsPerWeight, error] = (["bytes", "bitsPerWeight", "error"] as const).map(
    (field) => {
      if (typeof given[field] === "number") return given[field];
      throw wrongKind("ZP_INVALID_OPTION", where, `plan.${field}`, "a number", given[field]);
    },
  );
  const names = Object.entries(checkObject(where, "plan.schemes", schemes) as Plan["schemes"]);
  const ratio = bytesBefore ? ` (${((100 * bytes) / bytesBefore).toFixed(1)} % of before)` : "";
  const about = given.isFileExact === true ? "" : "about ";
  const file = typeof fileBytes === "number" ? `; a file of ${about}${showBytes(fileBytes)}` : "";
  const lines = [
    `${tensorsOf(names.length)}, ${showBytes(bytes)}${ratio}, ${bitsPerWeight.toFixed(3)} bits per weight${file}`,
    `error ${error.toPrecision(4)}, ${showGap(gap)} (${fieldOf(METRICS, metric) ?? metric})`,
  ];
  if (metric !== "output" && metric !== "custom") {
    lines.push("Weight error is not accuracy: measure that with the quantized model.");
  }
  const why = checkObject(where, "plan.reasons", reasons) as Plan["reasons"];
  for (const [scheme, count] of counted(names.map(([, scheme]) => String(scheme)))) {
    lines.push(`  ${scheme}: ${tensorsOf(count)}`);
    const own = names.flatMap(([name, each]) =>
      each === scheme && Object.hasOwn(why, name) ? [String(why[name])] : [],
    );
    for (const [reason, number] of counted(own)) {
      if (!reason.startsWith("the same as ")) lines.push(`    ${reason}: ${tensorsOf(number)}`);
    }
  }
  return lines.join("\n");
}

const tensorsOf = (count: number): string => `${count} tensor${count === 1 ? "" : "s"}`;

function showGap(gap: unknown): string {
  if (gap === 0) return "the least possible";
  if (typeof gap !== "number") return "with no bound on the least possible";
  const percent = 100 * gap;
  return `within ${percent < 0.01 ? percent.toPrecision(1) : percent.toFixed(2)} % of the least possible`;
}

function showBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 999.5 && unit < 4; unit++) value /= 1000;
  return unit === 0 ? `${bytes} B` : `${value.toPrecision(3)} ${["k", "M", "G", "T"][unit - 1]}B`;
}

/** Each text with its number, the most frequent first; of equal numbers, by text. */
function counted(texts: readonly string[]): [text: string, count: number][] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].sort(([a, n], [b, m]) => m - n || byText(a, b));
}
