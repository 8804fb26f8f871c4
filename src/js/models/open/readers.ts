// The readers of all formats. Each is a module of its own, downloaded when a file has its format.

import { isLattice } from "../../base/block-types.js";
import type { KeptCore } from "../../core/init.js";
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
import { loadLattices } from "./values.js";

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
}

/** The result of a reader of any format. */
interface ReadModel {
  readonly metadata: ReadonlyMap<string, unknown>;
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
  async gguf({ file, fileName, openBeside }) {
    const [{ readGGUF }, { joinSplits }] = await loadModule(
      where,
      Promise.all([import("../../formats/gguf/read.js"), import("../../formats/gguf/splits.js")]),
    );
    const gguf = await joinSplits(await readGGUF(file, where), fileName, openBeside, where);
    if ([...gguf.tensors.values()].some(({ dtype }) => isLattice(dtype))) await loadLattices(where);
    const values = Array.from(gguf.metadata, ([key, { value }]) => [key, value] as const);
    const document = { format: "gguf", gguf } as const;
    return { metadata: new Map(values), tensors: gguf.tensors, document, weights: [] };
  },
  async onnx({ file, openBeside }) {
    const [{ readOnnx }, { findWeightsOfOnnx }] = await loadModule(
      where,
      Promise.all([import("../../formats/onnx/read.js"), import("../stored/onnx.js")]),
    );
    // Each is opened when a value in it is read.
    const onnx = await readOnnx(file, { externalData: openBeside }, where);
    const weights = findWeightsOfOnnx(onnx);
    const document = { format: "onnx", onnx, openExternal: openBeside } as const;
    // Tensors of nodes, and of graphs in graphs, have names of their own in the model.
    const named = Array.from(
      onnx.tensors,
      ([name, tensor]) => [name, renamedTensor(tensor, name)] as const,
    );
    return { metadata: onnx.metadata, tensors: new Map(named), document, weights };
  },
  async pb({ file, openBeside }) {
    const { readTensorFile } = await loadModule(where, import("../../formats/onnx/read.js"));
    const found = await readTensorFile(file, { externalData: openBeside }, where);
    return { ...found, document: { format: "pb" }, weights: [] };
  },
  async npy({ file }) {
    const { readNpy } = await loadModule(where, import("../../formats/npy.js"));
    return { ...(await readNpy(file, where)), document: { format: "npy" }, weights: [] };
  },
  async npz({ file }) {
    const { readNpz } = await loadModule(where, import("../../formats/npz/read.js"));
    return { ...(await readNpz(file, where)), document: { format: "npz" }, weights: [] };
  },
  async tfjs({ file, openBeside }) {
    const [{ readTfjs }, { findTfjsWeights }] = await loadModule(
      where,
      Promise.all([import("../../formats/tfjs.js"), import("../stored/tfjs.js")]),
    );
    const tfjs = await readTfjs(file, openBeside, where);
    const weights = findTfjsWeights(tfjs.tensors);
    return { ...tfjs, document: { format: "tfjs", tfjs }, weights };
  },
};

async function readSafetensorsModel(files: Files): Promise<ReadModel> {
  const { file, fileName, openBeside, readBeside } = files;
  const head = await readBytes(where, file, 0, Math.min(9, file.size));
  // A header starts with its length, an index of shards with a brace.
  const isIndex = head[0] === BRACE && head[8] !== BRACE;
  const read = isIndex
    ? await readShards(file, fileName, openBeside)
    : await readOneFile(file, fileName);
  const { shards } = read.document;
  // Each shard has its own structure.
  const structured = shards.filter(({ metadata }) => metadata.has(STRUCTURE_KEY));
  const weights: StoredWeight[] = [];
  if (structured.length > 0) {
    const { findSavedWeights } = await loadModule(where, import("../stored/saved.js"));
    for (const { metadata, tensors } of structured) {
      weights.push(...findSavedWeights(metadata, tensors, files.core));
    }
  }
  // A file of quantizeModel has both: it keeps the weights of a checkpoint that are quantized already as they are.
  const held = new Set(weights.flatMap(({ parts }) => Object.values(parts)));
  const others = new Map([...read.tensors].filter(([name]) => !held.has(name)));
  const { findCheckpointWeights } = await loadModule(where, import("../stored/checkpoints.js"));
  weights.push(...(await findCheckpointWeights(others, readBeside, read.metadata)));
  return { ...read, weights };
}

const BRACE = 0x7b;

async function readOneFile(file: Source, fileName: string | undefined) {
  const { metadata, tensors } = await readSafetensors(file, where);
  const shard = { file: fileName ?? "model.safetensors", metadata, tensors };
  const document = { format: "safetensors", shards: [shard], index: undefined } as const;
  return { metadata, tensors, document };
}

/** The tensors of all shards of an index. */
async function readShards(
  file: Source,
  fileName: string | undefined,
  openBeside: (path: string) => Promise<Source>,
) {
  const { weightMap } = await readShardIndex(file, where);
  const files = new Map<string, Safetensors>();
  const metadata = new Map<string, unknown>();
  const tensors = new Map<string, FileTensor>();
  for (const [name, path] of weightMap) {
    const file =
      files.get(path) ?? (await readSafetensors(await openBeside(path), `${where}: ${path}`));
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
  const document = { format: "safetensors", shards, index } as const;
  return { metadata, tensors, document };
}
