// The readers of all formats. Each is a module of its own, downloaded when a file has its format.

import { isLattice } from "../../base/block-types.js";
import type { KeptCore } from "../../core/init.js";
import type { Budget } from "../../formats/budget.js";
import { readSafetensors, readShardIndex, type Safetensors } from "../../formats/safetensors.js";
import {
  type FileTensor,
  fileError,
  readBytes,
  renamedTensor,
  type Source,
} from "../../formats/source.js";
import { loadModule } from "../load-module.js";
import type { StoredWeight } from "../stored/weight.js";
import { STRUCTURE_KEY } from "../structure/structure.js";
import type { FormatDocument, Shard } from "./document.js";
import type { ModelFormat } from "./model.js";
import { decodeTile, loadLattices } from "./values.js";

const where = "openModel";

/** A file to read, and the files beside it. */
interface Files {
  readonly file: Source;
  /** The name of the file without its folder, if it has one. */
  readonly fileName: string | undefined;
  /** Opens a file that the model needs. */
  readonly openBeside: (path: string) => Promise<Source>;
  /** Reads a small file; undefined if there is none. */
  readonly readBeside: (path: string) => Promise<Uint8Array | undefined>;
  /** Dequantizes values. */
  readonly core: KeptCore;
  /** Bounds the memory of what is made of all files. */
  readonly budget: Budget;
}

/** The result of a reader of any format. */
interface ReadModel {
  /** Makes the metadata, which may be large. */
  readonly metadata: () => ReadonlyMap<string, unknown>;
  readonly tensors: ReadonlyMap<string, FileTensor>;
  readonly document: FormatDocument;
  /** Tensors that are quantized by a layout of several tensors. */
  readonly weights: readonly StoredWeight[];
  /** Members of the file that are no tensors of numbers, by name: what they are. */
  readonly unreadable?: ReadonlyMap<string, string>;
}

/** The reader of each format. */
export const READERS: { readonly [F in ModelFormat]: (files: Files) => Promise<ReadModel> } = {
  safetensors: readSafetensorsModel,
  async gguf({ file, fileName, openBeside, core, budget }) {
    const [{ readGGUF }, { joinSplits }, { findScaledWeights }] = await loadModule(
      where,
      Promise.all([
        import("../../formats/gguf/read.js"),
        import("../../formats/gguf/splits.js"),
        import("../stored/gguf.js"),
      ]),
    );
    const first = await readGGUF(file, where, budget);
    const gguf = await joinSplits(first, fileName, openBeside, where, budget);
    if ([...gguf.tensors.values()].some(({ dtype }) => isLattice(dtype))) await loadLattices(where);
    const metadata = () => new Map(Array.from(gguf.metadata, ([key, { value }]) => [key, value]));
    const document = { format: "gguf", gguf } as const;
    const weights = findScaledWeights(gguf.tensors, (...tile) => decodeTile(core, ...tile));
    return { metadata, tensors: gguf.tensors, document, weights };
  },
  async onnx({ file, openBeside, budget }) {
    const [{ readOnnx }, { findWeightsOfOnnx }] = await loadModule(
      where,
      Promise.all([import("../../formats/onnx/read.js"), import("../stored/onnx.js")]),
    );
    // Each is opened when a value in it is read.
    const onnx = await readOnnx(file, { externalData: openBeside }, where, budget);
    const weights = findWeightsOfOnnx(onnx);
    const document = { format: "onnx", onnx, openExternal: openBeside } as const;
    // Tensors of nodes, and of graphs in graphs, have names of their own in the model.
    const named = Array.from(
      onnx.tensors,
      ([name, tensor]) => [name, renamedTensor(tensor, name)] as const,
    );
    return { metadata: () => onnx.metadata, tensors: new Map(named), document, weights };
  },
  async pb({ file, openBeside, budget }) {
    const { readTensorFile } = await loadModule(where, import("../../formats/onnx/read.js"));
    const options = { externalData: openBeside };
    const { metadata, ...found } = await readTensorFile(file, options, where, budget);
    return { ...found, metadata: () => metadata, document: { format: "pb" }, weights: [] };
  },
  async npy({ file }) {
    const { readNpy } = await loadModule(where, import("../../formats/npy.js"));
    const npy = await readNpy(file, where);
    return { ...npy, metadata: () => npy.metadata, document: { format: "npy" }, weights: [] };
  },
  async npz({ file, readBeside, budget }) {
    const { readNpzModel } = await loadModule(where, import("../stored/npz.js"));
    const npz = await readNpzModel(file, readBeside, where, budget);
    return { ...npz, metadata: () => npz.metadata, document: { format: "npz" } };
  },
  async tfjs({ file, openBeside, budget }) {
    const [{ readTfjs }, { findTfjsWeights }] = await loadModule(
      where,
      Promise.all([import("../../formats/tfjs.js"), import("../stored/tfjs.js")]),
    );
    const tfjs = await readTfjs(file, openBeside, where, budget);
    const weights = findTfjsWeights(tfjs.tensors);
    const metadata = () => tfjs.metadata;
    return { ...tfjs, metadata, document: { format: "tfjs", tfjs }, weights };
  },
};

async function readSafetensorsModel(files: Files): Promise<ReadModel> {
  const { file, readBeside, budget } = files;
  const head = await readBytes(where, file, 0, Math.min(8, file.size));
  // A header starts with its length, which ends with zeros; an index of shards is text.
  const isIndex = /^\s*\{/.test(String.fromCharCode(...head)) && !head.includes(0);
  const read = isIndex ? await readShards(files) : await readOneFile(files);
  const { shards } = read.document;
  // Each shard has its own structure.
  const structured = shards.filter(({ metadata }) => metadata.has(STRUCTURE_KEY));
  const saved: StoredWeight[] = [];
  if (structured.length > 0) {
    const { findSavedWeights } = await loadModule(where, import("../stored/saved.js"));
    for (const { metadata, tensors } of structured) {
      for (const weight of findSavedWeights(metadata, tensors, files.core, budget)) {
        saved.push(weight);
      }
    }
  }
  // A file of quantizeModel has both: it keeps the weights of a checkpoint that are quantized already as they are.
  const held = new Set(saved.flatMap(({ parts }) => Object.values(parts)));
  const others = new Map([...read.tensors].filter(([name]) => !held.has(name)));
  const { findCheckpointWeights } = await loadModule(where, import("../stored/checkpoints.js"));
  const { metadata, index } = read;
  const found = await findCheckpointWeights(others, readBeside, metadata, budget, index);
  const weights = [...saved, ...found];
  return { ...read, metadata: () => read.metadata, weights };
}

async function readOneFile({ file, fileName, budget }: Files) {
  const { metadata, tensors } = await readSafetensors(file, where, budget);
  const shard = { file: fileName ?? "model.safetensors", metadata, tensors };
  const document = {
    format: "safetensors",
    shards: [shard],
    index: undefined,
    indexMetadata: undefined,
  } as const;
  return { metadata, tensors, document, index: undefined };
}

/** The tensors of all shards of an index. */
async function readShards({ file, fileName, openBeside, budget }: Files) {
  const { weightMap, metadata: indexMetadata } = await readShardIndex(file, where, budget);
  const files = new Map<string, Safetensors>();
  const metadata = new Map<string, unknown>();
  const tensors = new Map<string, FileTensor>();
  for (const [name, path] of weightMap) {
    const file =
      files.get(path) ??
      (await readSafetensors(await openBeside(path), `${where}: ${path}`, budget));
    files.set(path, file);
    for (const [key, value] of file.metadata) metadata.set(key, value);
    const tensor = file.tensors.get(name);
    if (tensor === undefined) {
      throw fileError(where, 0, `tensor ${JSON.stringify(name)} in ${path}`, "none");
    }
    tensors.set(name, tensor);
  }
  const shards = Array.from(files, ([file, own]): Shard => {
    const named = [...own.tensors].filter(([name]) => weightMap.get(name) === file);
    return { file, metadata: own.metadata, tensors: new Map(named) };
  });
  const index = fileName ?? "model.safetensors.index.json";
  const document = { format: "safetensors", shards, index, indexMetadata } as const;
  return { metadata, tensors, document, index: { files, weightMap } };
}
