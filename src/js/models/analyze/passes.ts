// A tensor that is analyzed: passes over its values, and the hash of its bytes.

import type { KeptCore } from "../../core/init.js";
import type { FileTensor } from "../../formats/source.js";
import { heldTensor, type SharedBytes } from "../weights/held.js";
import { type RowSlab, readRows } from "../weights/rows.js";
import { allValues, type ValueSource, type Values, valuesOfFile } from "../weights/values.js";
import type { Outputs } from "../weights/view.js";

/** Passes over a tensor. One within the budget is read once. */
export class TensorPasses {
  readonly #source: ValueSource;
  /** Bytes that `onBytes` has been called with. */
  #told = 0;

  /**
   * @param shared  memory for the bytes of the tensor
   * @param onBytes  called with all bytes, front to back, in the first pass
   * @param onRead  called with a number of bytes in every pass, the first one included, and awaited
   */
  constructor(
    readonly where: string,
    core: KeptCore,
    readonly file: FileTensor,
    shared: SharedBytes,
    readonly onBytes: (bytes: Uint8Array) => void,
    readonly onRead: (bytes: number) => Promise<void> | void,
  ) {
    this.#source = valuesOfFile(where, core, heldTensor(where, file, shared));
  }

  /** Number of values. */
  get size(): number {
    return this.#source.size;
  }

  /** All values in the order of the file. */
  values(): AsyncGenerator<Values, void, undefined> {
    return allValues(this.#source, this.#read);
  }

  /** All rows, a multiple of `step` in all slabs but the last one. */
  rows(outputs: Outputs, step = 1): AsyncGenerator<RowSlab, void, undefined> {
    return readRows(this.#source, outputs, step, this.#read);
  }

  readonly #read = async (byteLength: number, bytes?: Uint8Array): Promise<void> => {
    if (bytes !== undefined && this.#told < this.file.byteLength) this.onBytes(bytes);
    this.#told += byteLength;
    await this.onRead(byteLength);
  };
}
