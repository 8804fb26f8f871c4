// The opened model, the rows of its analysis and the inputs of its layers.

import type { AnalysisRow } from "zeropoint/models";
import type { ModelHandle } from "zeropoint/worker";
import { connectLibrary, type Library, library } from "../../shell/library.js";
import { type Given, openFiles } from "./files.js";
import { divide, type Part, workerCount } from "./parts.js";

export type { ModelHandle };

let model: ModelHandle | undefined;

/** Its tensors by worker: the first one is that of all other work. */
let dividing: Promise<Part[]> | undefined;

/** Rows of the analysis by tensor. */
export const rows = new Map<string, AnalysisRow[]>();

/** Moments of the inputs of weights by their names, each in the worker of its weight. */
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

/** The files of the model; none of an address. */
export const used = new Set<File>();

/** Whether each part of the model that is read is a request. */
export let isByAddress = false;

export function opened(): ModelHandle {
  if (!model) throw new Error("no model is open");
  return model;
}

/** The workers of the opened model. */
export function parts(): Promise<Part[]> {
  if (!dividing) throw new Error("no model is open");
  return dividing;
}

/** The worker that has a tensor. */
export async function partOf(name: string): Promise<Part> {
  const all = await parts();
  return all.find(({ names }) => names.has(name)) ?? all[0];
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
  dividing?.then(
    ([, ...others]) => {
      for (const { zp } of others) zp.dispose();
    },
    () => {},
  );
  dividing = undefined;
  importance.get("matrix")?.dispose();
  for (const each of [rows, activations, feeds, labels, importance, ofSquares, used]) each.clear();
  isByAddress = typeof given === "string";
  const zp = await library();
  model = await openGivenIn(zp, given);
  dividing = divided(zp, model, given);
  dividing.catch(() => {});
  return model;
}

const openGivenIn = (zp: Library, given: Given) =>
  openFiles(
    zp,
    given,
    (path) => `this file needs ${path} beside it: drop them together, or their folder`,
    used,
  );

/** Divides the tensors of a model among as many workers as the device has room for, and the model is worth. */
async function divided(zp: Library, own: ModelHandle, given: Given): Promise<Part[]> {
  const tensors = [...(await own.tensors).values()];
  const bytes = tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const count = workerCount(bytes, navigator);
  const others = Array.from({ length: count - 1 }, async (_, i) => {
    const other = await connectLibrary(`library ${i + 2}`);
    try {
      // On the page's thread it would hold the page up.
      if (!other.offThread) throw new Error(other.reason);
      return { zp: other, model: await openGivenIn(other, given) };
    } catch (error) {
      other.dispose();
      throw error;
    }
  });
  const started = (await Promise.allSettled(others)).flatMap((each) =>
    each.status === "fulfilled" ? [each.value] : [],
  );
  // One that does not start leaves its work to the others.
  const all = [{ zp, model: own }, ...started];
  return divide(tensors, all.length).map((names, i) => ({ ...all[i], names }));
}
