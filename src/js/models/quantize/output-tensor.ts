// A tensor of an output file, made while it is written.

import { bytesOf, type FileDType } from "../../formats/dtypes.js";
import type { ByteStream } from "../../formats/source.js";
import { sizeOf } from "../../tensor/shape.js";
import type { Advance } from "../weights/slabs.js";

/** A tensor of an output file. */
export interface OutputTensor {
  readonly name: string;
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  /** Bytes of input that making it reads. */
  readonly inputBytes: number;
  /** Its bytes, front to back. */
  stream(advance: Advance): ByteStream;
}

/** Bytes of a tensor in the file. */
export const sizeInFile = ({ dtype, shape }: OutputTensor): number =>
  bytesOf(dtype, sizeOf(shape)) as number;
