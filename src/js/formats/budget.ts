// The memory of what is made of the files of a model: bounded, whatever the files say.

import { fileError } from "./source.js";

/** The default of `options.maxBytes` in bytes: several times what the checkpoints with the most tensors take. */
export const MAX_BYTES = 2 ** 29;

/** Counts the memory of headers, metadata and lists of tensors: one budget for all files of a model. */
export class Budget {
  /** Bytes that were spent. A reader that reads an entry twice puts it back. */
  spent = 0;

  /** @param option  the name of the caller's option that sets `maxBytes`, for messages */
  constructor(
    readonly maxBytes = MAX_BYTES,
    readonly option?: string,
  ) {}

  /**
   * @param where  the function, or the file, named in errors
   * @param offset  of an entry in its file
   * @param bytes  an estimate of the memory that it takes
   * @throws {RangeError} `ZP_UNSUPPORTED_FILE` if the files of the model have taken more than `maxBytes`
   */
  spend(where: string, offset: number, bytes: number): void {
    this.spent += bytes;
    if (this.spent <= this.maxBytes) return;
    const limit = `${this.option === undefined ? "" : `${this.option}, `}${this.maxBytes} bytes`;
    const expected = `headers, metadata and compressed arrays that take at most ${limit} in memory`;
    throw fileError(where, offset, expected, "more", "ZP_UNSUPPORTED_FILE");
  }
}
