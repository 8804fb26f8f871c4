// How much of a weight is in memory at a time.

/** Values that are read, computed and written at a time, unless one row of inputs or one group has more. */
export const SLAB_VALUES = 2 ** 18;

/**
 * Bytes of a weight that may be kept from one use of it to the next: its own bytes for a second pass, scales until they are
 * written, rows of a transposed weight until they are complete.
 */
export const HELD_BYTES = 2 ** 24;
