// Quantized tensors as files hold them, each with its logical form.

import { rangeError } from "../../base/errors.js";
import { show } from "../../base/format-value.js";
import type { FileDType } from "../../formats/dtypes.js";
import type { StoredParts } from "../../formats/layouts/unpack.js";
import type { FileTensor } from "../../formats/source.js";
import type { AnyQuantizedTensor } from "../../quantize/quantized-tensor.js";
import type { TorchQuantizedTensor } from "../../torch/tensor.js";

/** Reads tensors of the file, whole, by their role. */
export type LoadParts = (names: Readonly<Record<string, string>>) => Promise<StoredParts>;

/** Reads bytes [begin, end) of a tensor of the file. */
export type LoadBytes = (name: string, begin: number, end: number) => Promise<Uint8Array>;

/** Reads a range of a quantized tensor's values without the rest of it. */
export interface Window {
  /** Windows begin at multiples of it, and end there or at the end of the tensor. */
  readonly unit: number;
  /** Fills an array with the values from an index on, in the order of the logical shape: the same as of the whole. */
  read(load: LoadBytes, first: number, out: Float32Array): Promise<void>;
}

/** A quantized tensor of a file. */
export interface StoredWeight {
  /** The name of its layout; `UNKNOWN` if it has none that is known. */
  readonly layout?: string | undefined;
  /** Tensors beside one of unknown quantization, which are listed as tensors of their own. */
  readonly beside?: readonly string[] | undefined;
  /** The error of reading one of unknown quantization. @param where  the called function, for messages */
  readonly refusal?: ((where: string) => Error) | undefined;
  /** Its logical name; the name of the tensor of its codes, if that has the module's name. */
  readonly name: string;
  readonly shape: readonly number[];
  /** dtype of its codes. */
  readonly dtype: FileDType;
  /** Names of the tensors of the file that hold it, by their role; the first holds its codes. */
  readonly parts: Readonly<Record<string, string>>;
  /** For layouts whose rows are stored one after the other. */
  readonly window?: Window | undefined;
  /**
   * Values in the order of the logical shape.
   * @param checkOpen  called between the parts of a large weight; what it throws ends the read
   */
  read(load: LoadParts, checkOpen?: () => void): Promise<Float32Array>;
  /** @throws {RangeError} `ZP_INVALID_MODEL` if no quantized tensor of this library has these values */
  readQuantized(load: LoadParts): Promise<AnyQuantizedTensor | TorchQuantizedTensor>;
}

/** The layout of tensors that look quantized, and are of no layout that is known. */
export const UNKNOWN = "unknown quantization";

/** The layout of tensors beside these, such as their scales. */
export const BESIDE_UNKNOWN = "part of an unknown quantization";

/**
 * A tensor that looks quantized, and is of no layout that is known: its bytes can be read, and no values.
 * @param reasons  what was not understood: names of tensors, words of a configuration
 * @param beside  names of tensors beside it
 */
export function unknownWeight(
  { name, shape, dtype }: FileTensor,
  reasons: readonly string[],
  beside: readonly string[],
): StoredWeight {
  const refuse = (where: string): Error => {
    const what = reasons.map((reason) => (beside.includes(reason) ? show(reason) : reason));
    const problem = `${show(name)} of ${dtype} is of an unknown quantization, by ${what.join(", ")}; readBytes reads its bytes`;
    return rangeError("ZP_UNSUPPORTED_FILE", where, problem);
  };
  return {
    ...{ name, shape, dtype, layout: UNKNOWN, beside, parts: { codes: name } },
    refusal: refuse,
    window: {
      unit: 1,
      async read() {
        throw refuse("Model.read");
      },
    },
    async read() {
      throw refuse("Model.read");
    },
    async readQuantized() {
      throw refuse("Model.readQuantized");
    },
  };
}

/** The error for codes and scales that no quantized tensor of this library holds. */
export const notExpressible = (name: string, problem: string): Error =>
  rangeError(
    "ZP_INVALID_MODEL",
    "Model.readQuantized",
    `${name} ${problem}; read reads its values`,
  );
