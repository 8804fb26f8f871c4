// Quantized weights of checkpoints in npz, such as mlx-examples' weights.npz.

import type { Budget } from "../../formats/budget.js";
import { readNpz } from "../../formats/npz/read.js";
import type { FileTensor, Source } from "../../formats/source.js";
import { loadModule } from "../load-module.js";
import type { StoredWeight } from "./weight.js";

/** Names of codes, and of what makes them values. Arrays of archives without both are those of anything. */
const CODES = /(^|\.)(q?weight|weight_packed)$/;
const SCALES = /scale|zero|absmax/i;

type ReadBeside = (path: string) => Promise<Uint8Array | undefined>;

/**
 * Reads an npz file, with its quantized weights by the layouts of safetensors.
 * @param where  the called function, for messages
 * @throws {RangeError} `ZP_INVALID_FILE` if the file, or the configuration beside it, cannot be read
 */
export async function readNpzModel(
  file: Source,
  readBeside: ReadBeside,
  where: string,
  budget: Budget,
) {
  const npz = await readNpz(file, where, budget);
  return { ...npz, weights: await findWeights(npz.tensors, readBeside, where, budget) };
}

async function findWeights(
  tensors: ReadonlyMap<string, FileTensor>,
  readBeside: ReadBeside,
  where: string,
  budget: Budget,
): Promise<StoredWeight[]> {
  const all = [...tensors.values()];
  const hasCodes = all.some(
    ({ name, dtype, shape }) => shape.length > 1 && CODES.test(name) && /^u?int/.test(dtype),
  );
  if (!hasCodes || !all.some(({ name }) => SCALES.test(name))) return [];
  const { findCheckpointWeights } = await loadModule(where, import("./checkpoints.js"));
  const weights = await findCheckpointWeights(tensors, readBeside, new Map(), budget);
  // A deflated member is read to its end for each part of it.
  const isStored = ({ parts }: StoredWeight): boolean =>
    Object.values(parts).every((part) => tensors.get(part)?.span !== undefined);
  return weights.map((each) => (isStored(each) ? each : { ...each, window: undefined }));
}
