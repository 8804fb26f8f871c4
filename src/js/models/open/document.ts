// The content of an opened file in its format's own terms, for writers, which keep everything that they do not change.

import type { KeptCore } from "../../core/init.js";
import type { GGUF } from "../../formats/gguf/read.js";
import type { OnnxModel } from "../../formats/onnx/graph.js";
import type { FileTensor, Source } from "../../formats/source.js";
import type { Tfjs } from "../../formats/tfjs.js";
import type { ModelFiles } from "./versions.js";

/** One safetensors file. */
export interface Shard {
  /** Its name relative to the index, or of the file itself. */
  readonly file: string;
  readonly metadata: ReadonlyMap<string, string>;
  /** Its tensors; of a shard those that the index finds in it, without copies that it takes from other files. */
  readonly tensors: ReadonlyMap<string, FileTensor>;
}

/** A safetensors file, or all shards of an index. */
export interface SafetensorsDocument {
  readonly format: "safetensors";
  /** In the order in which the index first names them. */
  readonly shards: readonly Shard[];
  /** Name of the index file, if the model was opened by one. */
  readonly index: string | undefined;
  /** Entries of the index's metadata, as they are written in JSON. */
  readonly indexMetadata: ReadonlyMap<string, string> | undefined;
}

/** The document of each format. */
export type FormatDocument =
  | SafetensorsDocument
  | { readonly format: "gguf"; readonly gguf: GGUF }
  | {
      readonly format: "onnx";
      readonly onnx: OnnxModel;
      /** Opens a file of external data, once. */
      readonly openExternal: (path: string) => Promise<Source>;
    }
  | { readonly format: "tfjs"; readonly tfjs: Tfjs }
  | { readonly format: "npy" | "npz" | "pb" };

/** An opened file: its format's own document, and how to read what lies beside it. */
export type ModelDocument = FormatDocument & {
  /** Name of the main file without its folder, if it has one. */
  readonly fileName: string | undefined;
  /** The main file. */
  readonly source: Source;
  /** Every tensor of the file by name: the parts of quantized tensors, too. */
  readonly files: ReadonlyMap<string, FileTensor>;
  /** Members of the file that are no tensors of numbers, by name: what they are. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** A small file beside the main one, such as config.json. @returns undefined if there is none */
  readonly readBeside: (path: string) => Promise<Uint8Array | undefined>;
  /** All files of the model that were opened so far. */
  readonly opened: ModelFiles;
  /** The core that dequantizes its values: of the instance that opened it, or the default one. */
  readonly core: KeptCore;
};
