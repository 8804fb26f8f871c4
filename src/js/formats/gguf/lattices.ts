// ggml's lattice types to float32: points of a grid, with signs or an offset, times a scale.
// Source: ggml 0.27 (dequantize_row_iq*). A product of a half, a scale and a coordinate has at most 22 bits, so that the one
// rounding here gives the bits of the three there.

import type { LatticeName } from "../../base/block-types.js";
import { halfValue } from "../../base/halves.js";

/** A grid: points whose coordinates are `values`, the first coordinate fastest. */
interface Grid {
  readonly values: readonly number[];
  /** Coordinates of a point. */
  readonly width: 4 | 8;
  /** Whether the indices of a point's values have an even sum. */
  readonly isEven: boolean;
  /** A bit for each such point, low bits first, base64: whether it is in the grid. */
  readonly bits: string;
}

const TERNARY = [8, 25, 43];

const GRIDS = {
  iq1: {
    values: [-1, 0, 1],
    width: 8,
    isEven: false,
    bits: "VSUUhaACQlEIRTGohiCKohoIKiAUhVAUgiBERSUVBaACgiCIGAAIgqADKqCIu6oKkKoLACIACqqMgqAIQFEIRSGIgFAUQlEIijAImKAIgCoIRSEUhSBIQlUIRQEswqAgiiYAKiSoqqII4q8ICCgoAKACQiiqKCCogCAKmwi5uqggyq6Joq6qOnzr6rq7gg64IrrK0w6SAiIAIiCoiroKggIIACpK4KI7IiArogCBQIGqiigIIgEUhVAVgiAJRSFUhaAIAiOoOiCEgiBUQlEIoiAIlVAUAioIuKiCgKBIAiAIgqJoogIoqyoIhSAIgjAIRUAARSEUhaAAQlEARQEpggCKgioIoTAUBVAUgigIRSEUhSACAiCqKgAgErGKriiouqGqqHAAggoIAigiAoQAggBIgKDqsCqqwiCLuiLq2qeLi26okrAqqnKLikQMKiBIhEAoiioIqiDIzKIioq+aoOioAgACACqoiAAggKCLoqIouqCAgjIKur64uv7roqArogiKCijqogChMgIM+qTq3u8rqC6Nvn7r+vd/v+Z9ut5p+yf/vyb6EunhiiIQqr4OhKoIsqgLgq7/uiTpg4AEYixo8qgKpCsAAioICOKqEgACgioKpiDJgomQgigAogCMgBMAgggIAGyKqqq7Aqa+iqDKAoBrly7QsukQghAuqt4oFdGlBAAKggCKgiAIAaEggqo5uiIyhKAJgBgAiqJiAoEURFEARSGsglAUQlEIqiAoqocKEioIRSEUBaAIQlEIRQEgAqBAoiIAiAAIoghqim64qqqAACAKguLIIiEIRFAUQlEJiiAVhVAUhgoIqioqgAAKQlEIRSGoAFAUQlEI4iCIggoYgioIqqKqirCLAgoqqiAogoCqCigIKACpiAIioL4LKLgIirpLsq7/uqT4rqogUihotqAw5oAKAigIImpigCAKAqqqK6rqoqmgoggIECCgiiIAgg4ARSEUhaAKQFEIRSGpBgBKqgIIpQAQDUQUgigIRSEUBQAIgoKs8iAAAACqCigKuiDqogIAgkgJKOkUABFLRVEARQGoAlAUQlEIiCQIiCgKQAgARQEUBaACQFEIRQE=",
  },
  iq2_xxs: {
    values: TERNARY,
    width: 8,
    isEven: true,
    bits: "f/akmSCmQAAgCAYIACAATJgFYYIsCAQwBMAAAYAAaYJmAAIgAAIAACAEAAAAYEIECFIgQYAIAQAAIQAAQIKCAAIAQABAAIBAAAAAABMgAAgABQAAABAAAAgAACYAATEAAEAEAAAMAAAAAJgAgQAACAACCAAAAAAACIAgAAAgAAAAAAAAABAAAMCkSRQmQIAAIAqACIAIAYAEAQAEBCAEAAAAAQAAAAAmQAEAAAIAQCEAAAACAAKkDAAgARAAAgAAAQAAAAgAAAAAGAABAAAAIAAAAQAgJAAgAAAACAAAAAIAAAAACRAAAYAAAAgAAIAAQAAABQAAAABgAAAgAAAAAAAAAAABAAAAAAAAAAAAAAAAmAACgAAgCAIAAAACAAAAYAoECAAgACAAQAACCBAAgAAAAAAAAQAAAAAQAAAAABIkAAAQgAAACAAAAAEAAAIIAQAAAAAQAAAAAAAAAAAAAEAAABAAAAAAAAAAACAAQAACAAEAAAAgAAAAAAAgAAAAAAAAAAAAAAAAAAAAAAIAAAIAAAAAAAAAAAAA",
  },
  iq2_xs: {
    values: TERNARY,
    width: 8,
    isEven: true,
    bits: "/9+/eRv+z5s0Ad6EKRAB/Jt3YQK8CRMiAJhAA4AA+FMmQYA4AQKABBAgAQBA4d+8iRPgTZgAwcAFCBAAwJuwQQKACRAAAIAgAAEAADMgCCAABQAAAgAAAAgAAP+ECRAgTIAEBAAEEAAgAJqAAQAACABCAEAQEAAAAJQhAAEEAgAAQBAAQQAAGsC/+VMmwJswAQqIGRgAAIC3YQIEARMkAAAIEYAEAAAmQBEBAEIACQgACAAAAAC8SRMgAJgCAwAACAAEAAA4IQKEAJEAAIAEAEAAQAAiCIgAAAFAGAAAAAAAAAiACRBEEMAAAAAAAAAEAgABgQAAAAAgQAEAQAAAAAAABAAAEAAAIAAAACAAQAQAeBMnwAB8AUICABAgAIABaQ4ECAggABAAAAggAAABQAICEAYgAgAAAAAAAgAkQhMgEBAAAQQAAQAAACCAAAoASQAAAEAAAAYAAAEAAAAAIAAAAgAQAAAABAAEALAhAgAAAQCABABoAQQAAQIACACAAAAAAAAAAACAAAIICwAASAIAADAAADAAAAEB",
  },
  iq2_s: {
    values: TERNARY,
    width: 8,
    isEven: true,
    bits: "/9+/f1P/zfs2Z97EL1BF/Pv/59v8b//mTfgCbcIEeF//TRE4L9qECBBGQwCA4N+9f9fm//s3b8CWKQMmwPv2b96Ef/MmTIA2YQIEgN/iTRgAb8IEBCAkQCAAAN7XORIFzokzYQJE0BIAA/o2b8IEaBMmUAAwAQICAFAGTAAIcAIAAEAAggAgGMD/+3+mzfvzb96EedImDID/79+8Cf/mTZwAb8IECED2zZsgAd6ECRAITIAAAAC8f//mDfg3b8IEaBMmYADwb96ECfAmTIAAYAIFAADgTZgIAcAECAAAQEAAAAige9MmSIA3YQIEBBIgEAAQbcIECAAmQAQEAgIAAAAETAAABBAEgAAAAAAAAgCAeFvmRRmwb96ACVgHTAAA4F+8CRPgTZgAEcAEDAAAQBkwAQCIARCAAAAAAjAIEPvkTZgAZcBEAAAmQAAAgN6ECRAITIAAAFAEAAQEAJhAAQAADABQAAAAAAAACFBFTgAAEgAEIABAggYAGtAECAAQSEAAAAAAAAACAAAICAAAEAAACCAAGBYAQAAB",
  },
  iq3_xxs: {
    values: [4, 12, 20, 28, 36, 44, 52, 62],
    width: 4,
    isEven: true,
    bits: "txMCYDM1QRAXs5BAOQQAECCAhGAJICAAAEAABNAAAgEzcxgAEwMAADMRACADEQgIBQAQAAAFCBAEAAAAAAIBADMbAgA3EQAak4NBAFEAAFAAQCAAAggBQAAAAACDAAQAMQMQJAMRDAATBCAgECAAAAAQCCAJAkAAQIAAAgAgAAGEwKAAAAAAQACBAQkIAAQABAAQBAAEAhAAAAAANBAAACAAARAJCEAAQCAAIAIAIAAQCgAgAhAAAAAAEAAABAIAAAQMBAABAAGAAAAEAJAAAAAABAAEACAAACAAAAIBAAAeICAAAAgBACAAJABBIAABAAEBAAMEAAAAEAAAAAAAAA==",
  },
  iq3_s: {
    values: [1, 3, 5, 7, 9, 11, 13, 15],
    width: 4,
    isEven: false,
    bits: "p1cjCKUKBZIXI4kiEAAiBKNJIhGkCgAJCCIFShAFgCIBiBIECQIAARQARQiiAEAIQAoAAgAEAAIVAEUIABEAABerBVIAUAIESxECCQIFAEEBpBEECSABBJIJghECAAQBKBQACkQRAAACCQIFAAIAAAAAkQBQAAAACgUCIAIABAGrVYoFKgWAKQWJJBIEAgAAkgAKgQKIABIlAhQKBAFAAIIACSQCAAAkEAIEgAEIAAGFAAIAACACACACQAEIAQAABKoEKpQCCAIqEAoAAQABRAEEARQAAQAAAhGKAYogAAgIQgQCAAQRAAIFIAQQQAAIAEAAAAIAAAAKAAUgAAAAABEEkQQCAQABhAoEIQgiAAAKIQIIAYAEARAKBSIAAAAABQAQgAEAAAKgAAIAAAAEAAAIABAAAAEAACEAAQgCAAAEEQQAkQRAECoEAgQAAAAEAQIIQQAIAACEAYAAEAIgCBIAAQRAAAAAAARAAAAKAAAAAAAABAAAABQABAAAAAAAACoACgAAAQABAIEAAAAQAAAEABAEIAQBARACAAEAAAAAACAACAAEAAkAABAAAAEAIAAAAAEAAAAACgAAAAAAAJEABUABEAQABAIQACgAAAASQQIBAAIAAAQAACQACAAAIggBAAABAAAAAAQABAAAAAQAAAIAAAAAAQAAAAAAAAA=",
  },
} as const satisfies Record<string, Grid>;

type GridName = keyof typeof GRIDS;

/** The coordinates of all points of a grid, in order. */
function pointsOf({ values, width, isEven, bits }: Grid): Int8Array {
  const bytes = atob(bits);
  const points: number[] = [];
  for (let number = 0, bit = 0; number < values.length ** width; number++) {
    const indices = Array.from(
      { length: width },
      (_, i) => Math.floor(number / values.length ** i) % values.length,
    );
    if (isEven && indices.reduce((a, b) => a + b) % 2 === 1) continue;
    if ((bytes.charCodeAt(bit >> 3) >> (bit & 7)) & 1) {
      points.push(...indices.map((index) => values[index]));
    }
    bit++;
  }
  return Int8Array.from(points);
}

const known = new Map<GridName, Int8Array>();

function pointsNamed(name: GridName): Int8Array {
  const points = known.get(name) ?? pointsOf(GRIDS[name]);
  known.set(name, points);
  return points;
}

/** Seven signs, and an eighth one that makes the number of minus signs even. */
const evenSigns = (seven: number): number => {
  let parity = seven ^ (seven >> 4);
  parity ^= parity >> 2;
  return seven | (((parity ^ (parity >> 1)) & 1) << 7);
};

/** Writes the coordinates of a point: (coordinate + offset) * scale, negative where the bit of `signs` is set. */
type Put = (index: number, signs: number, scale: number, offset?: number) => void;

/** Decodes the block at a byte: points in the order of their values. */
type Block = (view: DataView, at: number, put: Put) => void;

const halfAt = (view: DataView, at: number): number =>
  halfValue(view.getUint16(at, true), "float16");

/** Groups of 32 values: indices in the low bytes of a word pair or of 8 bytes, four signs of 7 bits and a scale in a word. */
const iq2_xxs: Block = (view, at, put) => {
  const d = halfAt(view, at);
  for (let group = at + 2; group < at + 66; group += 8) {
    const word = view.getUint32(group + 4, true);
    const scale = d * (0.5 + (word >>> 28)) * 0.25;
    for (let k = 0; k < 4; k++) {
      put(view.getUint8(group + k), evenSigns((word >>> (7 * k)) & 127), scale);
    }
  }
};

const iq2_xs: Block = (view, at, put) => {
  const d = halfAt(view, at);
  for (let k = 0; k < 32; k++) {
    const word = view.getUint16(at + 2 + 2 * k, true);
    const scale = (view.getUint8(at + 66 + (k >> 2)) >> (k & 2 ? 4 : 0)) & 15;
    put(word & 511, evenSigns(word >> 9), d * (0.5 + scale) * 0.25);
  }
};

const iq2_s: Block = (view, at, put) => {
  const d = halfAt(view, at);
  for (let k = 0; k < 32; k++) {
    const high = (view.getUint8(at + 66 + (k >> 2)) >> (2 * (k & 3))) & 3;
    const scale = (view.getUint8(at + 74 + (k >> 2)) >> (k & 2 ? 4 : 0)) & 15;
    const index = view.getUint8(at + 2 + k) | (high << 8);
    put(index, view.getUint8(at + 34 + k), d * (0.5 + scale) * 0.25);
  }
};

const iq3_xxs: Block = (view, at, put) => {
  const d = halfAt(view, at);
  for (let k = 0; k < 64; k++) {
    const word = view.getUint32(at + 66 + 4 * (k >> 3), true);
    const signs = evenSigns((word >>> (7 * ((k >> 1) & 3))) & 127) >> (4 * (k & 1));
    put(view.getUint8(at + 2 + k), signs, d * (0.5 + (word >>> 28)) * 0.5);
  }
};

const iq3_s: Block = (view, at, put) => {
  const d = halfAt(view, at);
  for (let k = 0; k < 64; k++) {
    const high = (view.getUint8(at + 66 + (k >> 3)) >> (k & 7)) & 1;
    const signs = view.getUint8(at + 74 + (k >> 1)) >> (4 * (k & 1));
    const scale = (view.getUint8(at + 106 + (k >> 4)) >> (k & 8 ? 4 : 0)) & 15;
    put(view.getUint8(at + 2 + k) | (high << 8), signs, d * (1 + 2 * scale));
  }
};

const DELTA = 0.125;

const iq1_s: Block = (view, at, put) => {
  const d = halfAt(view, at);
  for (let k = 0; k < 32; k++) {
    const word = view.getUint16(at + 34 + 2 * (k >> 2), true);
    const index = view.getUint8(at + 2 + k) | (((word >> (3 * (k & 3))) & 7) << 8);
    put(index, 0, d * (1 + 2 * ((word >> 12) & 7)), word & 0x8000 ? -DELTA : DELTA);
  }
};

const iq1_m: Block = (view, at, put) => {
  const scales = [0, 2, 4, 6].map((i) => view.getUint16(at + 48 + i, true));
  const d = halfValue(
    scales.reduce((bits, word, i) => bits | ((word >> 12) << (4 * i)), 0),
    "float16",
  );
  for (let k = 0; k < 32; k++) {
    const high = view.getUint8(at + 32 + (k >> 1)) >> (4 * (k & 1));
    const scale = (scales[k >> 3] >> (3 * ((k >> 1) & 3))) & 7;
    const index = view.getUint8(at + k) | ((high & 7) << 8);
    put(index, 0, d * (1 + 2 * scale), high & 8 ? -DELTA : DELTA);
  }
};

/** The grid and the blocks of each type. */
const TYPES: Readonly<Record<LatticeName, readonly [GridName, Block]>> = {
  iq1_s: ["iq1", iq1_s],
  iq1_m: ["iq1", iq1_m],
  iq2_xxs: ["iq2_xxs", iq2_xxs],
  iq2_xs: ["iq2_xs", iq2_xs],
  iq2_s: ["iq2_s", iq2_s],
  iq3_xxs: ["iq3_xxs", iq3_xxs],
  iq3_s: ["iq3_s", iq3_s],
};

/** Decodes blocks of 256 values to float32. @param out  its length says how many blocks there are */
export function decodeLattice(dtype: LatticeName, bytes: Uint8Array, out: Float32Array): void {
  const [grid, decode] = TYPES[dtype];
  const points = pointsNamed(grid);
  const { width } = GRIDS[grid];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const blockBytes = (256 * bytes.length) / out.length;
  let to = 0;
  const put: Put = (index, signs, scale, offset = 0) => {
    for (let i = 0; i < width; i++) {
      const value = (points[width * index + i] + offset) * scale;
      out[to++] = (signs >> i) & 1 ? -value : value;
    }
  };
  for (let at = 0; at < bytes.length; at += blockBytes) decode(view, at, put);
}
