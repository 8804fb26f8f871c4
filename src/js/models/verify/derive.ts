// The tensors of a quantized file, made again from its source.

import { BLOCK_NAMES } from "../../base/block-types.js";
import { rangeError } from "../../base/errors.js";
import { show } from "../../base/format-value.js";
import type { FileDType } from "../../formats/dtypes.js";
import type { ByteStream } from "../../formats/source.js";
import { sameShape } from "../../tensor/shape.js";
import type { ModelDocument } from "../open/document.js";
import { documentOf, type Model } from "../open/model.js";
import { openModel } from "../open/open.js";
import { convertTensor, isConvertible } from "../quantize/gguf/convert.js";
import { type Importance, importanceOf, readImportance } from "../quantize/gguf/importance.js";
import { quantizedKeys } from "../quantize/gguf/metadata.js";
import { ggmlRank } from "../quantize/gguf/tensor-types.js";
import { type OutputReader, readOutput } from "../quantize/output.js";
import { type QuantizeModelOptions, quantizeModel } from "../quantize/quantize-model.js";
import { parseForTarget } from "../quantize/safetensors/schemes.js";
import type { Difference } from "./difference.js";
import type { Range } from "./ranges.js";
import type { Recorded } from "./recorded.js";
import { differencesOfKeys, restOf } from "./rest.js";

/** A tensor as the source gives it. */
export interface DerivedTensor {
  readonly name: string;
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  bytes(): ByteStream;
}

/** A file made again. */
export interface Derived {
  readonly tensors: readonly DerivedTensor[];
  /** Tensors that no writer makes, and why. */
  readonly underivable: ReadonlyMap<string, string>;
  /** ONNX: the engine whose operators the file has. */
  readonly target: string | undefined;
  readonly activations: "float32" | "dynamic";
  /** Compares what is no tensor: metadata, configuration, graph. */
  rest(): Promise<Difference[]>;
  close(): Promise<void>;
}

/** What files do not record. */
export interface Unrecorded {
  /** How ranges were chosen, by the name of a tensor. */
  rangeOf(name: string): Range;
  readonly imatrix: Model | undefined;
  readonly signal: QuantizeModelOptions["signal"];
}

/** Types that weights of GGUF are converted to. */
const MADE: readonly FileDType[] = [...BLOCK_NAMES, "float32", "float16", "bfloat16"];

type GGUFDocument = Extract<ModelDocument, { format: "gguf" }>;

/** GGUF of a GGUF file: each tensor in the type that the quantized file gives it. */
export async function deriveGguf(
  where: string,
  quantized: GGUFDocument,
  source: GGUFDocument,
  imatrix: Model | undefined,
): Promise<Derived> {
  const importance = await importanceFor(where, quantized, imatrix);
  const underivable = new Map<string, string>();
  const tensors = Array.from(source.gguf.tensors.values(), (origin): DerivedTensor => {
    const { name } = origin;
    const found = quantized.gguf.tensors.get(name);
    if (found === undefined) return origin;
    // ggml has no outer axes of length 1.
    const inner = (shape: readonly number[]) =>
      shape.length === 0 ? [1] : shape.slice(-ggmlRank(shape));
    const shape = sameShape(inner(origin.shape), inner(found.shape)) ? found.shape : origin.shape;
    const { dtype } = found;
    const isMade =
      dtype === origin.dtype || (MADE.includes(dtype) && isConvertible(origin.dtype, dtype, true));
    if (!isMade) {
      underivable.set(name, `no writer makes ${dtype} of ${origin.dtype}`);
      return origin;
    }
    const weights = importanceOf(where, importance, name, origin.shape);
    const made = convertTensor(where, source.core, origin, dtype, weights);
    return { name, dtype, shape, bytes: () => made.bytes() };
  });
  const number = quantized.gguf.metadata.get("general.file_type")?.value;
  return {
    ...{ tensors, underivable, target: undefined, activations: "float32" },
    rest: async () => {
      const keys = quantizedKeys(source.gguf.metadata, Number(number ?? 0), importance);
      return differencesOfKeys(new Map(keys), quantized.gguf.metadata);
    },
    close: async () => {},
  };
}

/** @throws {RangeError} `ZP_INVALID_OPTION` if the file was made with an importance matrix, and there is none */
async function importanceFor(
  where: string,
  { gguf: { metadata } }: GGUFDocument,
  imatrix: Model | undefined,
): Promise<Importance | undefined> {
  const recorded = metadata.get("quantize.imatrix.file")?.value;
  if (imatrix === undefined && recorded !== undefined) {
    const problem = `options.imatrix is missing: the file was made with the importance matrix ${show(recorded)}`;
    throw rangeError("ZP_INVALID_OPTION", where, problem);
  }
  if (imatrix === undefined) return undefined;
  const { fileName = "imatrix.gguf" } = documentOf(where, "options.imatrix", imatrix);
  return await readImportance(where, imatrix, fileName);
}

/** Engines and activations of ONNX, which the graph shows and no metadata names. */
const ONNX_TARGETS = ["portable", "node", "web", "webgpu", "transformers.js"];

/** A file made by the writer of its format. */
export async function deriveByWriter(
  where: string,
  quantized: Model,
  source: Model,
  recorded: Recorded,
  unrecorded: Unrecorded,
): Promise<Derived> {
  const { format, target, activations } = recorded;
  const make = (own: string | undefined, inputs: "float32" | "dynamic") =>
    writeAgain(where, quantized, source, recorded, unrecorded, own, inputs);
  if (format !== "onnx") return await make(target, activations);
  // The one with the same tensors and the same graph; else with the same tensors; else the first.
  let nearest: Derived | undefined;
  let isNear = false;
  for (const inputs of ["float32", "dynamic"] as const) {
    for (const own of ONNX_TARGETS) {
      const made = await make(own, inputs).catch((error: { readonly code?: unknown }) => {
        // transformers.js has no names for some schemes.
        if (error.code !== "ZP_INVALID_SCHEME" || nearest === undefined) throw error;
        return undefined;
      });
      if (made === undefined) continue;
      const isSame = hasSameTensors(made, quantized);
      if (isSame && (await made.rest()).length === 0) {
        await nearest?.close();
        return made;
      }
      if (nearest === undefined || (isSame && !isNear)) {
        await nearest?.close();
        nearest = made;
        isNear = isSame;
      } else await made.close();
    }
  }
  return nearest as Derived;
}

/** Whether a file made again has the tensors of another one, by names, dtypes and shapes. */
function hasSameTensors({ tensors }: Derived, quantized: Model): boolean {
  const { files } = documentOf("verify", "quantized", quantized);
  const isThere = ({ name, dtype, shape }: DerivedTensor): boolean => {
    const found = files.get(name);
    return found !== undefined && found.dtype === dtype && sameShape(found.shape, shape);
  };
  return tensors.length === files.size && tensors.every(isThere);
}

async function writeAgain(
  where: string,
  quantized: Model,
  source: Model,
  { format, requantize, schemes: recorded, underivable }: Recorded,
  { rangeOf, imatrix, signal }: Unrecorded,
  target: string | undefined,
  activations: "float32" | "dynamic",
): Promise<Derived> {
  const schemes: [string, string][] = [];
  for (const [name, scheme] of recorded) {
    if (!source.tensors.has(name)) continue;
    const parsed = parseForTarget(where, "scheme", scheme, target);
    const isUnsaid = parsed.kind === "linear" && parsed.search === "minmax";
    const range = isUnsaid ? rangeOf(name) : "minmax";
    schemes.push([name, range === "minmax" ? scheme : `${scheme}-${range}`]);
  }
  const result = await quantizeModel(
    source,
    { schemes: Object.fromEntries(schemes) },
    {
      ...{ format, requantize, signal },
      ...(target !== undefined && { target }),
      ...(activations === "dynamic" && { activations }),
      ...(imatrix !== undefined && { imatrix }),
    },
  );
  const readers = new Map<string, OutputReader>();
  for (const file of result.files) {
    readers.set(file.name, readOutput(where, file) as OutputReader);
  }
  const names = [...readers.keys()];
  const main = names.find((name) => name.endsWith(".index.json")) ?? names[0];
  const open = (name: string): OutputReader => {
    // Those for transformers.js are in a folder.
    const reader = readers.get(name) ?? readers.get(`onnx/${name}`);
    if (reader === undefined) throw new Error(`${name} is not among the files`);
    return reader;
  };
  const model = await openModel(open(main), { externalData: open, signal });
  const { files } = documentOf(where, "source", model);
  return {
    tensors: Array.from(files, ([name, file]) => {
      const { dtype, shape } = file;
      return { name, dtype, shape, bytes: () => file.bytes() };
    }),
    ...{ underivable, target, activations },
    rest: () => restOf(model, quantized),
    async close() {
      await model.close();
      for (const reader of readers.values()) await reader.close();
    },
  };
}
