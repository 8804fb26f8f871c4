// What a quantized file has, and its source does not give.

/** Something in a file that its source does not give. */
export interface Difference {
  /** The name of the tensor in the file; "metadata KEY", "config.json KEY", "graph" or "statement PART" for other things. */
  readonly name: string;
  /**
   * "values": bytes of a tensor; "dtype", "shape"; "missing": the file lacks it; "extra": the source does not give it; "not
   * derived": no writer makes it, so nothing is known of it; "metadata": all that is no tensor.
   */
  readonly kind: "values" | "dtype" | "shape" | "missing" | "extra" | "not derived" | "metadata";
  /** Of values: the first block of a block type that differs, counted from 0; of other dtypes the first row. */
  readonly block?: number;
  /** Of values: the offset in the tensor of the first byte that differs. */
  readonly byte?: number;
  /** Of values: the number of bytes that differ. */
  readonly bytes?: number;
  /** Of values: the number of blocks, or rows, that differ. */
  readonly blocks?: number;
  /** What the source gives: of values, up to eight bytes from `byte` on in hexadecimal. */
  readonly expected: string;
  /** What the file has. */
  readonly found: string;
}

/** A difference of something that is no tensor. */
export const restDifference = (name: string, expected: string, found: string): Difference => ({
  ...{ name, kind: "metadata", expected, found },
});
