// Quantized tensors of files that save wrote.

import { recordOf } from "../../base/fields.js";
import { type KeptCore, runOn } from "../../core/init.js";
import type { Budget } from "../../formats/budget.js";
import { bytesOf, type FileDType } from "../../formats/dtypes.js";
import { readJson } from "../../formats/json.js";
import type { FileError, FileTensor } from "../../formats/source.js";
import { dequantize } from "../../quantize/dequantize.js";
import type { QuantizedTensor } from "../../quantize/quantized-tensor.js";
import { aroundAxis, sizeOf } from "../../tensor/shape.js";
import { readAnyQuantized } from "../structure/layers.js";
import { type LoadedTensor, STRUCTURE_KEY, StructureReader } from "../structure/structure.js";
import type { LoadParts, StoredWeight, Window } from "./weight.js";

type Node = Readonly<Record<string, unknown>>;

/** Fields of a node that name tensors. */
const PARTS = ["codes", "scale", "zeroPoint", "offset"];

/**
 * Finds the quantized tensors in the structure that save wrote, if it did.
 * @param core  reads their values
 * @throws {RangeError} `ZP_UNSUPPORTED_FILE` beyond the budget
 */
export function findSavedWeights(
  metadata: ReadonlyMap<string, unknown>,
  files: ReadonlyMap<string, FileTensor>,
  core: KeptCore,
  budget: Budget,
): StoredWeight[] {
  const nodes = nodesIn(metadata.get(STRUCTURE_KEY), budget);
  return nodes.flatMap((node) => savedOf(node, files, core) ?? []);
}

function nodesIn(text: unknown, budget: Budget): Node[] {
  let structure: unknown;
  try {
    structure = readJson("openModel", new TextEncoder().encode(String(text)), budget);
  } catch (error) {
    if ((error as FileError).code === "ZP_UNSUPPORTED_FILE") throw error;
    // Not a file of save: the tensors are read as stored.
    return [];
  }
  const nodes: Node[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const part of Object.values(value)) visit(part);
    const { kind } = value as { kind?: unknown };
    if (kind === "quantized" || kind === "torch") nodes.push(value as Node);
  };
  visit(structure);
  return nodes;
}

function savedOf(
  node: Node,
  files: ReadonlyMap<string, FileTensor>,
  core: KeptCore,
): StoredWeight | undefined {
  const { codes, dtype, shape } = node;
  const isShape = shape === undefined || (Array.isArray(shape) && shape.every(Number.isInteger));
  if (typeof codes !== "string" || typeof dtype !== "string" || !isShape) return undefined;
  const file = files.get(codes);
  if (file === undefined) return undefined;
  const isPart = (name: unknown): name is string => typeof name === "string" && files.has(name);
  const named = PARTS.flatMap((field): [string, string][] => {
    const name = node[field];
    return isPart(name) ? [[field, name]] : [];
  });
  const parts = recordOf(named);
  const readQuantized = async (load: LoadParts) => {
    const loaded = await load(parts);
    const tensors = Object.entries(parts).map(([role, name]) => [name, loaded[role]] as const);
    const where = "Model.readQuantized";
    const reader = new StructureReader(where, new Map(tensors), 0, {});
    return runOn(core(where), () => readAnyQuantized(reader, "", node));
  };
  return {
    name: codes,
    shape: (shape as readonly number[] | undefined) ?? file.shape,
    // qint8 is int8 in a file.
    dtype: dtype.replace(/^q/, "") as FileDType,
    parts,
    window: windowOf(node, parts, files, core),
    read: async (load) => {
      const q = (await readQuantized(load)) as QuantizedTensor;
      return runOn(core("Model.read"), () => dequantize(q)).data;
    },
    readQuantized,
  };
}

/** Rows of a quantized tensor with scales for the whole tensor, for the first or the last axis, or for groups. */
function windowOf(
  node: Node,
  parts: Readonly<Record<string, string>>,
  files: ReadonlyMap<string, FileTensor>,
  core: KeptCore,
): Window | undefined {
  const { kind, dtype, axis, groupSize, scaleShape } = node;
  const shape = (node.shape ?? files.get(parts.codes)?.shape) as readonly number[];
  const size = sizeOf(shape);
  const bits = Number(/\d+$/.exec(String(dtype))?.[0]);
  if (kind !== "quantized" || size === 0 || node.blockShape !== undefined) return undefined;
  if (axis !== undefined && !shape.some((_, i) => i === axis)) return undefined;
  const isWhole = scaleShape === undefined;
  const [outer, channels, inner] = aroundAxis(shape, (axis ?? 0) as number);
  const isColumns = axis !== undefined && outer > 1;
  if (isColumns && inner > 1) return undefined;
  const lastLength = shape.at(-1) as number;
  const columns = isWhole ? 1 : isColumns ? channels : axis === undefined ? lastLength : inner;
  const perRow = axis === undefined ? Math.ceil(columns / Number(groupSize)) : 1;
  // Scales that every window needs all of.
  const isShared = isWhole || isColumns;
  const { codes: _, ...params } = parts;
  const count = isWhole ? 1 : isColumns ? channels : (size / columns) * perRow;
  for (const name of Object.values(params)) {
    const { dtype: stored, byteLength } = files.get(name) as FileTensor;
    if (byteLength !== bytesOf(stored, count)) return undefined;
  }
  return {
    // Codes below 8 bits are packed without a gap between rows.
    unit: 8 * columns,
    async read(load, first, out) {
      const end = first + out.length;
      const [begin, stop] = [first / columns, end / columns];
      const rows = stop - begin;
      const loaded: [string, LoadedTensor][] = [];
      for (const [role, name] of Object.entries(parts)) {
        const { dtype: stored } = files.get(name) as FileTensor;
        if (role === "codes") {
          const bytes = await load(name, (first * bits) / 8, Math.ceil((end * bits) / 8));
          loaded.push([
            name,
            { dtype: stored, shape: bits < 8 ? [bytes.length] : [rows, columns], bytes },
          ]);
        } else {
          const width = bytesOf(stored, 1) as number;
          const [from, to] = isShared ? [0, count] : [begin * perRow, stop * perRow];
          const bytes = await load(name, width * from, width * to);
          const own = isWhole ? [1] : isColumns ? [1, count] : [rows, perRow];
          loaded.push([name, { dtype: stored, shape: own, bytes }]);
        }
      }
      const lengths = isColumns ? [1, columns] : [rows * perRow, 1];
      const form = isWhole
        ? {}
        : { scaleShape: lengths, ...(axis !== undefined && { axis: isColumns ? 1 : 0 }) };
      const own = { ...node, shape: [rows, columns], ...form };
      const where = "Model.read";
      const reader = new StructureReader(where, new Map(loaded), 0, {});
      runOn(core(where), () =>
        dequantize(readAnyQuantized(reader, "", own) as QuantizedTensor, { out }),
      );
    },
  };
}
