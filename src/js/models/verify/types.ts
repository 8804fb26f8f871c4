// Options and results of verify.

import type { PlatformAbortSignal } from "../../base/platform.js";
import type { Model } from "../open/model.js";
import type { FileSource } from "../open/sources.js";
import type { QuantizeProgress } from "../quantize/types.js";
import type { Difference } from "./difference.js";
import type { DerivationStatement } from "./statement.js";

/** Options of `verify`. */
export interface VerifyOptions {
  /** GGUF: the importance matrix that the file was made with, as for `quantizeModel`. */
  imatrix?: FileSource | Model | undefined;
  /** A statement of another run, to be checked: hashes of all files, and the result. */
  statement?: unknown;
  /** Rejects with the signal's reason once it is aborted. */
  signal?: PlatformAbortSignal | undefined;
  /** Called while tensors are compared and files are hashed, with bytes of both. */
  onProgress?: ((progress: QuantizeProgress) => void) | undefined;
}

/** A tensor that differs by ties of rounding alone. */
export interface TiedTensor {
  /** The name of the tensor. */
  readonly name: string;
  /** The number of blocks that differ. */
  readonly blocks: number;
  /** The number of values in them whose codes differ, each by one step. */
  readonly values: number;
  /** The number of all blocks of the tensor. */
  readonly total: number;
}

/** The result of deriving a quantized file again from its source. */
export interface Verification {
  /** Number of tensors of the file, codes and scales counted each. */
  readonly tensors: number;
  /** Number of tensors whose bytes are those that the source gives. */
  readonly equal: number;
  /** Everything that the source does not give. Empty if the file comes from its source. */
  readonly different: readonly Difference[];
  /** GGUF: number of blocks that differ by ties of rounding alone; they count neither as equal nor as different. */
  readonly ties: number;
  /** The tensors that have these blocks. */
  readonly tied: readonly TiedTensor[];
  /** What was derived from what, by what, with which result: plain data for JSON. */
  readonly statement: DerivationStatement;
  /** Remarks: what the file does not record, and was found by trial. */
  readonly notes: readonly string[];
}
