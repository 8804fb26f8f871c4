// Why the plan gives a layer its scheme, and which tensors stay as they are.

import type { AnalysisRow } from "zeropoint/models";
import { bytesText } from "../shell/drawing/numbers.js";
import { figureOf } from "./format.js";
import type { Layer } from "./layers.js";

/** Relative error of a row: of its outputs where it has one. */
const errorOf = (row: AnalysisRow) =>
  (row.shows === "outputs" ? row.outputRelative : undefined) ?? row.relative;

/** Rows of a layer that the target stores, of which none is both smaller and more exact, the smallest first. */
function efficientRows({ rows }: Layer) {
  const stored = [...rows.values()].filter(({ isWritten }) => isWritten !== false);
  const sorted = stored.sort((a, b) => a.bytes - b.bytes || errorOf(a) - errorOf(b));
  let least = Number.POSITIVE_INFINITY;
  return sorted.filter((row) => {
    const isBetter = errorOf(row) < least;
    if (isBetter) least = errorOf(row);
    return isBetter;
  });
}

/** A difference of two signal-to-noise ratios. */
function gainText(worse: AnalysisRow, better: AnalysisRow) {
  const gain = figureOf(better, "sqnr") - figureOf(worse, "sqnr");
  return Number.isFinite(gain) ? `${gain.toFixed(1)} dB` : "its whole error";
}

/** Why a layer has its scheme in a plan. */
export function reasonOf(
  layer: Layer,
  plan: { reasons: Record<string, string>; preset?: string } | undefined,
) {
  const { name, planned, isPinned } = layer;
  if (!plan || !planned) return "";
  if (plan.preset) return `By the mix ${plan.preset}.`;
  if (isPinned) return "You pinned it.";
  if (Object.hasOwn(plan.reasons, name)) return `${sentence(plan.reasons[name])}.`;
  const row = layer.rows.get(planned);
  if (!row) return "";
  const others = efficientRows(layer);
  const smaller = others.findLast(({ bytes }) => bytes < row.bytes);
  const larger = others.find((each) => each.bytes > row.bytes && errorOf(each) < errorOf(row));
  return [
    smaller
      ? `The next smaller scheme, ${smaller.scheme}, would save ${bytesText(row.bytes - smaller.bytes)} and lose ${gainText(smaller, row)}.`
      : "No scheme is smaller.",
    larger
      ? `The next larger one, ${larger.scheme}, would gain ${gainText(row, larger)} for ${bytesText(larger.bytes - row.bytes)}, for which the size of the plan leaves no room.`
      : "No larger scheme has less error.",
  ].join(" ");
}

const sentence = (text: string) => text[0].toUpperCase() + text.slice(1);

/** Tensors that are not quantized, by the reason; the most frequent reason first. */
export function keptByReason(
  rows: readonly { name: string; scheme: string; reason?: string }[],
): [reason: string, names: string[]][] {
  const kept = new Map<string, string[]>();
  for (const { name, scheme, reason } of rows) {
    if (scheme !== "keep" || reason === undefined) continue;
    const names = kept.get(reason) ?? [];
    names.push(name);
    kept.set(reason, names);
  }
  return [...kept].sort(([, a], [, b]) => b.length - a.length);
}
