// verify: whether a quantized file comes from its source.

import { loadModule } from "../load-module.js";
import type { Model } from "../open/model.js";
import type { Verification, VerifyOptions } from "./types.js";

/**
 * Derives every tensor of a quantized file again from its source, by the types and schemes that the file records, and
 * compares bytes; metadata, config.json and the graph of ONNX, too. In constant memory. It shows that the file comes from
 * the source, not that the source is harmless.
 *
 * The files are those of `quantizeModel`, and GGUF of `llama-quantize`. ggml built with fused multiply-add rounds a few
 * values halfway between two codes to the other one: blocks of GGUF that differ so, with equal scales, are `ties`.
 *
 * @param quantized  of `openModel`
 * @param source  of `openModel`: the model that it was made of
 * @throws {TypeError} `ZP_INVALID_MODEL`, `ZP_INVALID_FUNCTION`, `ZP_CONFLICTING_OPTIONS`
 * @throws {RangeError} `ZP_INVALID_MODEL` if no tensor of the file has a name of the source; `ZP_UNSUPPORTED_FILE` for a
 *   format that is not written from that of the source; `ZP_INVALID_OPTION` for a missing importance matrix, and for what is
 *   no statement; as `quantizeModel` and reading
 * @example
 * const source = await openModel(save({ w: tensor(new Float32Array(512).fill(0.5), [2, 256]) }));
 * const { files } = await quantizeModel(source, "int8-channel");
 * const small = await openModel(files[0].stream());
 * const { tensors, equal, different, statement } = await verify(small, source);
 * `${equal} of ${tensors}`; // "2 of 2"
 * different; // []
 * statement.predicate.result.verdict; // "equal"
 */
export async function verify(
  quantized: Model,
  source: Model,
  options?: VerifyOptions,
): Promise<Verification> {
  const where = "verify";
  // Downloaded when a file is verified.
  const { run } = await loadModule(where, import("./run.js"));
  return await run(where, quantized, source, options);
}
