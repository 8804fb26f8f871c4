// The quantized tensors of a model file, of all layouts.

import type { FileTensor } from "../../formats/source.js";
import type { FormatDocument } from "../document.js";
import { findCheckpointWeights } from "./checkpoints.js";
import { findWeightsOfOnnx } from "./onnx.js";
import { findSavedWeights } from "./saved.js";
import { findTfjsWeights } from "./tfjs.js";
import type { StoredWeight } from "./weight.js";

/**
 * Finds the quantized tensors of a file.
 * @param readBeside  reads a file beside the model; asked for if tensors look like those of a known layout
 */
export async function findWeights(
  document: FormatDocument,
  files: ReadonlyMap<string, FileTensor>,
  readBeside: (path: string) => Promise<Uint8Array | undefined>,
): Promise<StoredWeight[]> {
  switch (document.format) {
    case "onnx":
      return findWeightsOfOnnx(document.onnx);
    case "tfjs":
      return findTfjsWeights(files);
    case "safetensors": {
      // Each shard has its own structure.
      const saved = document.shards.flatMap((shard) =>
        findSavedWeights(shard.metadata, shard.tensors),
      );
      return saved.length > 0 ? saved : await findCheckpointWeights(files, readBeside);
    }
    default:
      return [];
  }
}
