// Tensors that are not quantized: kept byte for byte, cast to half floats, or widened to a dtype that the format has.

import { rangeError } from "../../base/errors.js";
import type { HalfType } from "../../base/halves.js";
import type { FileDType } from "../../formats/dtypes.js";
import type { FileTensor } from "../../formats/source.js";
import { allValues, floatsOf, type ValueSource } from "../weights/values.js";
import { encodeFloats, roundInPlace } from "./halves.js";
import type { OutputTensor } from "./output-tensor.js";
import type { ValueWatch } from "./watch.js";

/** The tensor as it is. */
export function keep(file: FileTensor): OutputTensor {
  const { name, dtype, shape, byteLength } = file;
  return {
    ...{ name, dtype, shape, inputBytes: byteLength },
    async *stream(advance) {
      for await (const chunk of file.bytes()) {
        advance(chunk.length, name);
        yield chunk;
      }
    },
  };
}

/** The values, encoded slab by slab. */
function recoded(
  { name, shape, byteLength }: FileTensor,
  values: ValueSource,
  dtype: FileDType,
  encode: (values: Float32Array) => Uint8Array,
): OutputTensor {
  return {
    ...{ name, dtype, shape, inputBytes: byteLength },
    async *stream(advance) {
      for await (const run of allValues(values, (bytes) => advance(bytes, name))) {
        yield encode(floatsOf(run));
      }
    },
  };
}

/** The values as half floats, rounded to nearest even. */
export function toHalf(
  file: FileTensor,
  values: ValueSource,
  dtype: HalfType,
  watch: ValueWatch,
): OutputTensor {
  const part = recoded(file, values, dtype, (slab) => {
    const own = slab.slice();
    watch.see(slab, roundInPlace(own, dtype));
    return encodeFloats(own, dtype);
  });
  return restarting(part, watch);
}

/** A tensor whose watch begins anew with each stream. */
export const restarting = (part: OutputTensor, watch: ValueWatch): OutputTensor => ({
  ...part,
  stream(advance) {
    watch.restart();
    return part.stream(advance);
  },
});

/**
 * The values in a dtype that holds them exactly and that every format has.
 * @param dtype  of the values: those of a quantized tensor are floats, whatever its codes are
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE` if there is none
 */
export function convert(
  file: FileTensor,
  values: ValueSource | undefined,
  dtype: FileDType,
): OutputTensor {
  const { name } = file;
  if (values === undefined) {
    const problem = `tensor ${JSON.stringify(name)} of ${dtype} has no values to write in another dtype`;
    throw rangeError("ZP_UNSUPPORTED_DTYPE", "quantizeModel", problem);
  }
  if (dtype === "int4" || dtype === "int2") {
    return recoded(file, values, "int8", (slab) => new Uint8Array(Int8Array.from(slab).buffer));
  }
  if (dtype === "uint4" || dtype === "uint2") {
    return recoded(file, values, "uint8", (slab) => Uint8Array.from(slab));
  }
  return recoded(file, values, "float32", (slab) => encodeFloats(slab, "float32"));
}
