// The sizes of ggml's block types.

/** Values of a block, and bytes of a block. */
export const BLOCKS = {
  q4_0: [32, 18],
  q4_1: [32, 20],
  q5_0: [32, 22],
  q5_1: [32, 24],
  q8_0: [32, 34],
  q8_1: [32, 36],
  q2_k: [256, 84],
  q3_k: [256, 110],
  q4_k: [256, 144],
  q5_k: [256, 176],
  q6_k: [256, 210],
  q8_k: [256, 292],
  iq2_xxs: [256, 66],
  iq2_xs: [256, 74],
  iq3_xxs: [256, 98],
  iq1_s: [256, 50],
  iq4_nl: [32, 18],
  iq3_s: [256, 110],
  iq2_s: [256, 82],
  iq4_xs: [256, 136],
  iq1_m: [256, 56],
  tq1_0: [256, 54],
  tq2_0: [256, 66],
  mxfp4: [32, 17],
  nvfp4: [64, 36],
  q1_0: [128, 18],
  q2_0: [64, 18],
} as const satisfies Record<string, readonly [values: number, bytes: number]>;

/** The block types that `quantizeBlocks` writes and `dequantizeBlocks` reads, besides f16 and bf16. */
export const BLOCK_NAMES = [
  "q8_0",
  "q4_0",
  "q4_1",
  "q5_0",
  "q5_1",
  "q2_k",
  "q3_k",
  "q4_k",
  "q5_k",
  "q6_k",
  "iq4_nl",
  "iq4_xs",
  "tq1_0",
  "tq2_0",
  "mxfp4",
  "nvfp4",
  "q1_0",
  "q2_0",
] as const satisfies readonly (keyof typeof BLOCKS)[];

/** A block type that values can be quantized to. */
export type BlockName = (typeof BLOCK_NAMES)[number];

/** The block types whose values are points of a grid: decoded, and never written. */
export const LATTICE_NAMES = [
  "iq1_s",
  "iq1_m",
  "iq2_xxs",
  "iq2_xs",
  "iq2_s",
  "iq3_xxs",
  "iq3_s",
] as const satisfies readonly (keyof typeof BLOCKS)[];

/** A block type whose values are points of a grid. */
export type LatticeName = (typeof LATTICE_NAMES)[number];

/** Whether a dtype is one of ggml's lattice types. */
export const isLattice = (dtype: string): dtype is LatticeName =>
  (LATTICE_NAMES as readonly string[]).includes(dtype);

/** Whether a dtype is a block type whose values can be read. */
export const isReadableBlock = (dtype: string): dtype is BlockName | LatticeName =>
  (BLOCK_NAMES as readonly string[]).includes(dtype) || isLattice(dtype);
