// save: things -> one safetensors file, as a stream.

import type { PlatformByteStream } from "../../base/platform.js";
import { writeJson } from "../../formats/json.js";
import { layoutSafetensors, writeSafetensors } from "../../formats/safetensors.js";
import { streamOf } from "../byte-stream.js";
import { FileWriter, STRUCTURE_KEY, STRUCTURE_VERSION } from "../structure/structure.js";
import { type Saveable, writeSaveable } from "./saveable.js";

/**
 * Writes a thing as one safetensors file, which `load` restores with the same bits and Python's `safetensors`
 * opens. The file is made while the stream is read, in constant memory: leave the arrays as they are until
 * then. Everything is checked before the stream is returned.
 *
 * Tensors have the names of their layers and entries. Beside the codes of a quantized tensor `w` are float32
 * scales, `w_scale`, and, unless they are all 0, zero points, `w_zero_point`, int8 or uint8 as the codes are.
 * Codes below 8 bits are packed into bytes as by `pack`. `__metadata__.zeropoint` is the structure, as JSON.
 *
 * Functions in a model are saved by name, and `load` is given them again. Of a quantized model the float model
 * is not saved.
 *
 * An index of vectors has a tensor for each of its columns: `codes`, `scales`, `errors`, and those that it keeps of
 * `originalValues`, `originalErrors`, `signs` and `orders`; `ids` are JSON.
 *
 * @param thing  a tensor or quantized tensor; a layer or model (float, prepared with what its observers hold, or
 *   quantized); an index of vectors; a QConfig, a mapping or an observer; or a plain object or a list of these
 * @throws {TypeError} `ZP_INVALID_MODEL` for anything that cannot be saved, such as a layer of a class of your own;
 *   `ZP_DISPOSED`, and as `dequantize` for quantized tensors
 * @throws {RangeError} `ZP_INVALID_MODEL` if it is nested more than 64 deep; as `dequantize`
 * @example
 * // also writeFile("model.safetensors", save(model)) of node:fs/promises
 * const file = await new Response(save({ w: tensor([1, 2]) })).arrayBuffer();
 * new TextDecoder().decode(file.slice(8)).startsWith('{"__metadata__":{"zeropoint":'); // true
 */
export function save(thing: Saveable): PlatformByteStream {
  const writer = new FileWriter("save");
  const structure = { version: STRUCTURE_VERSION, thing: writeSaveable(writer, "", thing) };
  const metadata = [[STRUCTURE_KEY, writeJson(structure)]] as const;
  return streamOf(writeSafetensors(layoutSafetensors(writer.tensors, metadata)));
}
