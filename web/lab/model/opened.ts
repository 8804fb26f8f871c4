// The opened model, the rows of its analysis and the inputs of its layers.

import type { AnalysisRow } from "zeropoint/models";
import type { ModelHandle } from "zeropoint/worker";
import { library } from "../../shell/library.js";
import { type Given, openFiles } from "./files.js";

export type { ModelHandle };

let model: ModelHandle | undefined;

/** Rows of the analysis by tensor. */
export const rows = new Map<string, AnalysisRow[]>();

/** Moments of the inputs of weights by their names. */
export const activations = new Map<string, any>();

/** Inputs for running an ONNX model, by name. */
export const feeds = new Map<string, { type: string; dims: readonly number[]; data: any }>();

/** An importance matrix for GGUF files. */
export const importance = new Map<"matrix", ModelHandle>();

/** Weights whose moments come from mean squares of their inputs alone. */
export const ofSquares = new Set<string>();

/** A row of an analysis, which says whether its errors of outputs take the inputs as uncorrelated. */
export const withMoments = (row: AnalysisRow): AnalysisRow =>
  ofSquares.has(row.name) && row.moments ? { ...row, moments: "diagonal" } : row;

/** The right classes of the inputs for running, as the array "labels" gives them. */
export const labels = new Map<"labels", number[]>();

export function opened(): ModelHandle {
  if (!model) throw new Error("no model is open");
  return model;
}

let opening = Promise.resolve();

/**
 * Opens a file in the place of the one before. Calls wait for each other, so that the last one's file stays and the
 * others are closed.
 */
export function openGiven(given: Given) {
  const result = opening.then(() => replaceModel(given));
  opening = result.then(
    () => {},
    () => {},
  );
  return result;
}

async function replaceModel(given: Given) {
  model?.dispose();
  model = undefined;
  importance.get("matrix")?.dispose();
  for (const each of [rows, activations, feeds, labels, importance, ofSquares]) each.clear();
  model = await openFiles(
    await library(),
    given,
    (path) => `this file needs ${path} beside it: drop both`,
  );
  return model;
}
