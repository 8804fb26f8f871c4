// Small checkpoints of each layout with the values that their writers mean, by plain loops that share nothing with the library.

/** A generator of whole numbers below a bound, by a seed. */
function randomBelow(seed) {
  let state = seed + 1;
  return (bound) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** Rounds to the nearest number of `bits` significant bits, ties to even, in steps of at least `least`. */
function roundTo(value, bits, least) {
  const single = Math.fround(value);
  if (single === 0 || !Number.isFinite(single)) return single;
  const step = Math.max(2 ** (Math.floor(Math.log2(Math.abs(single))) - bits + 1), least);
  const steps = single / step;
  const low = Math.floor(steps);
  const rest = steps - low;
  return (rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low) * step;
}
const half = (value) => roundTo(value, 11, 2 ** -24);
const brain = (value) => roundTo(value, 8, 2 ** -133);
const single = Math.fround;

/** The value of bits of a small float with a sign. */
function small(bits, exponentBits, mantissaBits, bias) {
  const mantissa = bits & (2 ** mantissaBits - 1);
  const exponent = (bits >> mantissaBits) & (2 ** exponentBits - 1);
  const size =
    exponent === 0
      ? mantissa * 2 ** (1 - bias - mantissaBits)
      : (1 + mantissa / 2 ** mantissaBits) * 2 ** (exponent - bias);
  return bits >> (exponentBits + mantissaBits) ? -size : size;
}
const e4m3 = (bits) => small(bits, 4, 3, 7);
const e5m2 = (bits) => small(bits, 5, 2, 15);
const e2m1 = (bits) => small(bits, 2, 1, 1);
const f16 = (bits) => small(bits, 5, 10, 15);
const power = (bits) => 2 ** (bits - 127);

const method = (name, fields = {}) => ({ quantization_config: { quant_method: name, ...fields } });
const textBytes = (value) => new TextEncoder().encode(JSON.stringify(value));

/** Random parts of weights. */
class Parts {
  constructor(seed) {
    this.below = randomBelow(seed);
  }
  /** Codes of float8 without NaN and infinities. */
  float8(count) {
    return Uint8Array.from({ length: count }, () => this.below(2) * 128 + this.below(0x7b));
  }
  bytes(count) {
    return Uint8Array.from({ length: count }, () => this.below(256));
  }
  words(count) {
    return Uint32Array.from({ length: count }, () => this.below(2 ** 32));
  }
  /** Scales of float32 that are no powers of two. */
  scales(count) {
    return Float32Array.from({ length: count }, () => 0.003 + this.below(1000) / 977);
  }
  /** Patterns of float16, of scales. */
  halves(count) {
    return Uint16Array.from({ length: count }, () => 0x2000 + this.below(0x1800));
  }
  /** Exponents of scales that are powers of two. */
  powers(count) {
    return Uint8Array.from({ length: count }, () => 120 + this.below(14));
  }
  /** Scales of float8, positive. */
  scales8(count) {
    return Uint8Array.from({ length: count }, () => 0x20 + this.below(0x50));
  }
}

/** Values of a matrix by a function of row and column. */
const matrix = (rows, columns, value) =>
  Float32Array.from({ length: rows * columns }, (_, i) =>
    value(Math.floor(i / columns), i % columns, i),
  );

const nibble = (bytes, i) => (bytes[i >> 1] >> (4 * (i % 2))) & 15;
const highFirst = (bytes, i) => (bytes[i >> 1] >> (4 * (1 - (i % 2)))) & 15;
/** Code i of rows of words, low bits first. */
const dense = (words, row, perRow, column, bits) => {
  let code = 0;
  for (let k = 0; k < bits; k++) {
    const bit = column * bits + k;
    code |= ((words[row * perRow + (bit >> 5)] >>> (bit & 31)) & 1) << k;
  }
  return code;
};

/** Place of the scale of a row and a group in tiles of 128 rows and 4 groups. */
const tiled = (row, group, groups) =>
  (Math.floor(row / 128) * Math.ceil(groups / 4) + (group >> 2)) * 512 +
  (row % 32) * 16 +
  ((row % 128) >> 5) * 4 +
  (group & 3);
const tiledShape = (rows, groups) => [128 * Math.ceil(rows / 128), 4 * Math.ceil(groups / 4)];
const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);

const NF4 = [
  ...[-1, -0.6961928, -0.5250731, -0.3949175, -0.2844414, -0.1847734, -0.09105004, 0],
  ...[0.0795803, 0.1609302, 0.2461123, 0.3379152, 0.4407098, 0.562617, 0.7229568, 1],
];
const FP4 = [
  0, 0.0052083, 0.6666667, 1, 0.3333333, 0.5, 0.1666667, 0.25, 0, -0.0052083, -0.6666667, -1,
  -0.3333333, -0.5, -0.1666667, -0.25,
];

/** bitsandbytes' weights of 4 bits. */
function blocks4(type, table, isNested) {
  return (rows, columns, p) => {
    const count = (rows * columns) / 64;
    const codes = p.bytes((rows * columns) / 2);
    const map = Float32Array.from(table);
    const absmax = isNested ? p.bytes(count) : p.scales(count);
    const nestedMap = p.scales(256);
    const nestedAbsmax = p.scales(Math.ceil(count / 256));
    const state = {
      ...{ quant_type: type, blocksize: 64, dtype: "bfloat16", shape: [rows, columns] },
      ...(isNested && { nested_blocksize: 256, nested_dtype: "float32", nested_offset: 0.0371 }),
    };
    const text = textBytes(state);
    const scale = (block) =>
      isNested
        ? single(single(nestedMap[absmax[block]] * nestedAbsmax[block >> 8]) + single(0.0371))
        : absmax[block];
    return {
      tensors: {
        "m.weight": ["uint8", [codes.length, 1], codes],
        "m.weight.absmax": [isNested ? "uint8" : "float32", [count], absmax],
        "m.weight.quant_map": ["float32", [16], map],
        ...(isNested && {
          "m.weight.nested_absmax": ["float32", [nestedAbsmax.length], nestedAbsmax],
          "m.weight.nested_quant_map": ["float32", [256], nestedMap],
        }),
        [`m.weight.quant_state.bitsandbytes__${type}`]: ["uint8", [text.length], text],
      },
      config: method("bitsandbytes", { load_in_4bit: true }),
      values: matrix(rows, columns, (_r, _c, i) => brain(map[highFirst(codes, i)] * scale(i >> 6))),
    };
  };
}

/** Weights of int8 or float8 with scales of rows or of blocks, or one. */
function scaled8({ dtype, names, granularity, config, scaleDtype = "float32", extra, shapeOf }) {
  return (rows, columns, p) => {
    const codes =
      dtype === "int8" ? Int8Array.from(p.bytes(rows * columns)) : p.float8(rows * columns);
    const value = { int8: (code) => code, float8_e4m3fn: e4m3, float8_e5m2: e5m2 }[dtype];
    const [height, width] =
      { tensor: [rows, columns], rows: [1, columns] }[granularity] ?? granularity;
    const shape = [Math.ceil(rows / height), Math.ceil(columns / width)];
    const scales = {
      float32: () => p.scales(sizeOf(shape)),
      float8_e8m0fnu: () => p.powers(sizeOf(shape)),
    }[scaleDtype]();
    const number = (i) => (scaleDtype === "float32" ? scales[i] : power(scales[i]));
    const own = granularity === "tensor" ? [] : (shapeOf?.(shape) ?? shape);
    return {
      tensors: {
        [names[0]]: [dtype, [rows, columns], codes],
        [names[1]]: [scaleDtype, own, scales],
        ...extra?.(p),
      },
      config,
      values: matrix(rows, columns, (row, column, i) =>
        single(
          value(codes[i]) *
            number(Math.floor(row / height) * shape[1] + Math.floor(column / width)),
        ),
      ),
    };
  };
}

const marker =
  (format, fields = {}) =>
  () => {
    const text = textBytes({ format, ...fields });
    return { "m.comfy_quant": ["uint8", [text.length], text] };
  };
const fp8 = { dtype: "float8_e4m3fn", names: ["m.weight", "m.weight_scale"] };

/** Two codes of e2m1 in a byte with a scale for each group. */
function scaled4({
  group,
  codes: dtype = "uint8",
  scale,
  name = "m.weight_scale",
  packed = "m.weight",
  config,
  first = nibble,
  tiles,
  whole,
}) {
  return (rows, columns, p) => {
    const groups = columns / group;
    const codes = p.bytes((rows * columns) / 2);
    const shape = tiles ? tiledShape(rows, groups) : [rows, groups];
    const scales = scale === "float8_e4m3fn" ? p.scales8(sizeOf(shape)) : p.powers(sizeOf(shape));
    const number = scale === "float8_e4m3fn" ? e4m3 : power;
    const factor = p.scales(1);
    const [wholeName, isDivisor, round] = whole ?? ["", false, single];
    return {
      tensors: {
        [packed]: [dtype, [rows, columns / 2], codes],
        [name]: [scale, shape, scales],
        ...(whole && { [wholeName]: ["float32", isDivisor ? [1] : [], factor] }),
        ...(tiles && marker(tiles)()),
      },
      config,
      values: matrix(rows, columns, (row, column, i) => {
        const at = Math.floor(column / group);
        const own = number(scales[tiles ? tiled(row, at, groups) : row * groups + at]);
        const all =
          whole === undefined ? own : single(isDivisor ? own / factor[0] : own * factor[0]);
        return round(e2m1(first(codes, i)) * all);
      }),
    };
  };
}

/** MLX's words of codes with scales and biases of groups. */
const mlx = (bits, groupSize, depth) => (rows, columns, p) => {
  const height = rows * (depth ?? 1);
  const groups = columns / groupSize;
  const perRow = (columns * bits) / 32;
  const codes = p.words(height * perRow);
  const scales = p.halves(height * groups);
  const biases = p.halves(height * groups);
  const shape = (width) => (depth === undefined ? [rows, width] : [depth, rows, width]);
  return {
    tensors: {
      "m.weight": ["uint32", shape(perRow), codes],
      "m.scales": ["float16", shape(groups), scales],
      "m.biases": ["float16", shape(groups), biases],
    },
    config: { quantization: { bits, group_size: groupSize } },
    shape: shape(columns),
    values: matrix(height, columns, (row, column) => {
      const at = row * groups + Math.floor(column / groupSize);
      const code = dense(codes, row, perRow, column, bits);
      return half(half(code * f16(scales[at])) + f16(biases[at]));
    }),
  };
};

/** GPTQ: words of inputs, [in / 8, out]. */
const gptq =
  ({ isOrdered, format = "gptq" }) =>
  (rows, columns, p) => {
    const groups = columns / 128;
    const codes = p.words((columns / 8) * rows);
    const zeros = p.words((groups * rows) / 8);
    const scales = p.halves(groups * rows);
    const index = Int32Array.from({ length: columns }, (_, i) =>
      isOrdered ? i % groups : Math.floor(i / 128),
    );
    return {
      tensors: {
        "m.qweight": ["int32", [columns / 8, rows], codes],
        "m.qzeros": ["int32", [groups, rows / 8], zeros],
        "m.scales": ["float16", [groups, rows], scales],
        "m.g_idx": ["int32", [columns], index],
      },
      // Nothing else tells the two formats.
      isByConfig: format !== "gptq",
      config: method("gptq", {
        ...{ bits: 4, group_size: 128, desc_act: isOrdered, checkpoint_format: format },
      }),
      values: matrix(rows, columns, (row, column) => {
        const code = (codes[(column >> 3) * rows + row] >>> (4 * (column & 7))) & 15;
        const group = index[column];
        const stored = (zeros[(group * rows + row) >> 3] >>> (4 * (row & 7))) & 15;
        const zero = format === "gptq" ? (stored + 1) & 15 : stored;
        return half((code - zero) * f16(scales[group * rows + row]));
      }),
    };
  };

const AWQ_PLACES = [0, 4, 1, 5, 2, 6, 3, 7];
const awq = (rows, columns, p) => {
  const groups = columns / 128;
  const codes = p.words((columns * rows) / 8);
  const zeros = p.words((groups * rows) / 8);
  const scales = p.halves(groups * rows);
  const code = (words, line, row) =>
    (words[(line * rows + row) >> 3] >>> (4 * AWQ_PLACES[row & 7])) & 15;
  return {
    tensors: {
      "m.qweight": ["int32", [columns, rows / 8], codes],
      "m.qzeros": ["int32", [groups, rows / 8], zeros],
      "m.scales": ["float16", [groups, rows], scales],
    },
    config: method("awq", { bits: 4, group_size: 128, version: "gemm" }),
    values: matrix(rows, columns, (row, column) => {
      const group = Math.floor(column / 128);
      const difference = code(codes, column, row) - code(zeros, group, row);
      return half(difference * f16(scales[group * rows + row]));
    }),
  };
};

/** Packed integers of compressed-tensors in groups of 32. */
const packed = (bits, hasZeros) => (rows, columns, p) => {
  const groups = columns / 32;
  const perRow = (columns * bits) / 32;
  const codes = p.words(rows * perRow);
  const scales = p.halves(rows * groups);
  const zeroRows = (rows * bits) / 32;
  const zeros = p.words(zeroRows * groups);
  const zero = (row, group) => {
    const column = Uint32Array.from({ length: zeroRows }, (_, i) => zeros[i * groups + group]);
    return dense(column, 0, zeroRows, row, bits) - 2 ** (bits - 1);
  };
  const weights = { num_bits: bits, type: "int", symmetric: !hasZeros, group_size: 32 };
  return {
    tensors: {
      "m.weight_packed": ["int32", [rows, perRow], codes],
      "m.weight_scale": ["float16", [rows, groups], scales],
      "m.weight_shape": ["int64", [2], BigInt64Array.of(BigInt(rows), BigInt(columns))],
      ...(hasZeros && { "m.weight_zero_point": ["int32", [zeroRows, groups], zeros] }),
    },
    config: method("compressed-tensors", {
      ...{ format: "pack-quantized", config_groups: { group_0: { weights, targets: ["Linear"] } } },
    }),
    values: matrix(rows, columns, (row, column) => {
      const group = Math.floor(column / 32);
      const code = dense(codes, row, perRow, column, bits) - 2 ** (bits - 1);
      const difference = code - (hasZeros ? zero(row, group) : 0);
      return half(difference * f16(scales[row * groups + group]));
    }),
  };
};

const SCB_STEP = single(7.874015718698502e-3);

/** Makes a checkpoint of one weight of [rows, columns], multiples of 32 and 128, by the name of its layout. */
export const LAYOUTS = {
  "float8 with one scale": scaled8({ ...fp8, granularity: "tensor", config: method("fp8") }),
  "float8 of e5m2 with scales of rows": scaled8({
    ...{ ...fp8, dtype: "float8_e5m2", granularity: "rows", config: method("fbgemm_fp8") },
  }),
  "float8 of compressed-tensors": scaled8({
    ...{ ...fp8, granularity: "rows", config: method("compressed-tensors") },
  }),
  "float8 in blocks": scaled8({
    ...{ dtype: "float8_e4m3fn", names: ["m.weight", "m.weight_scale_inv"] },
    ...{ granularity: [128, 128], config: method("fp8", { weight_block_size: [128, 128] }) },
  }),
  "float8 in blocks with scales of four axes": scaled8({
    ...{ ...fp8, granularity: [128, 128], config: method("modelopt") },
    shapeOf: ([height, width]) => [height, 1, width, 1],
  }),
  "float8 in blocks of DeepSeek-V4": scaled8({
    ...{ dtype: "float8_e4m3fn", names: ["m.weight", "m.scale"], granularity: [128, 128] },
    ...{ scaleDtype: "float8_e8m0fnu", config: method("fp8", { weight_block_size: [128, 128] }) },
  }),
  "float8 of ComfyUI by scale_weight": scaled8({
    ...{ dtype: "float8_e4m3fn", names: ["m.weight", "m.scale_weight"], granularity: "tensor" },
    ...{ config: {}, extra: () => ({ scaled_fp8: ["float8_e4m3fn", [0], new Uint8Array(0)] }) },
  }),
  "float8 of ComfyUI by a marker": scaled8({
    ...{ ...fp8, granularity: "tensor", config: {}, extra: marker("float8_e4m3fn") },
  }),
  "int8 of ComfyUI": scaled8({
    ...{ dtype: "int8", names: ["m.weight", "m.weight_scale"], granularity: "tensor", config: {} },
    extra: marker("int8_tensorwise"),
  }),
  "int8 in blocks of ComfyUI": scaled8({
    ...{
      dtype: "int8",
      names: ["m.weight", "m.weight_scale"],
      granularity: [128, 128],
      config: {},
    },
    extra: marker("int8_blockwise"),
  }),
  "MXFP8 of ComfyUI": (rows, columns, p) => {
    const groups = columns / 32;
    const codes = p.float8(rows * columns);
    const shape = tiledShape(rows, groups);
    const scales = p.powers(sizeOf(shape));
    return {
      tensors: {
        "m.weight": ["float8_e4m3fn", [rows, columns], codes],
        "m.weight_scale": ["float8_e8m0fnu", shape, scales],
        ...marker("mxfp8")(),
      },
      config: {},
      values: matrix(rows, columns, (row, column, i) =>
        single(e4m3(codes[i]) * power(scales[tiled(row, column >> 5, groups)])),
      ),
    };
  },
  "NVFP4 of ComfyUI": scaled4({
    ...{ group: 16, scale: "float8_e4m3fn", config: {}, first: highFirst, tiles: "nvfp4" },
    whole: ["m.weight_scale_2", false, single],
  }),
  "NVFP4 of ModelOpt": scaled4({
    ...{ group: 16, scale: "float8_e4m3fn", config: method("modelopt") },
    whole: ["m.weight_scale_2", false, single],
  }),
  "NVFP4 of compressed-tensors": scaled4({
    ...{ group: 16, scale: "float8_e4m3fn", packed: "m.weight_packed" },
    config: method("compressed-tensors", { format: "nvfp4-pack-quantized" }),
    whole: ["m.weight_global_scale", true, brain],
  }),
  "MXFP4 of Quark": scaled4({
    ...{ group: 32, scale: "uint8", config: method("quark"), whole: undefined },
  }),
  "experts of DeepSeek-V4": scaled4({
    ...{
      group: 32,
      codes: "int8",
      scale: "float8_e8m0fnu",
      name: "m.scale",
      config: method("fp8"),
    },
  }),
  "int8 of compressed-tensors": scaled8({
    ...{ dtype: "int8", names: ["m.weight", "m.weight_scale"], granularity: "rows" },
    config: method("compressed-tensors", { format: "int-quantized" }),
  }),
  "int4 of compressed-tensors": packed(4, false),
  "int8 with zero points of compressed-tensors": packed(8, true),
  "int8 of bitsandbytes": (rows, columns, p) => {
    const codes = Int8Array.from(p.bytes(rows * columns));
    const scales = p.scales(rows);
    return {
      tensors: {
        "m.weight": ["int8", [rows, columns], codes],
        "m.SCB": ["float32", [rows], scales],
        "m.weight_format": ["uint8", [], Uint8Array.of(0)],
      },
      config: method("bitsandbytes", { load_in_8bit: true }),
      values: matrix(rows, columns, (row, _, i) =>
        single(single(codes[i] * scales[row]) * SCB_STEP),
      ),
    };
  },
  "NF4 of bitsandbytes": blocks4("nf4", NF4, false),
  "FP4 of bitsandbytes": blocks4("fp4", FP4, false),
  "NF4 of bitsandbytes with quantized scales": blocks4("nf4", NF4, true),
  "MLX of 4 bits": mlx(4, 64),
  "MLX of 3 bits": mlx(3, 32),
  "experts of MLX": mlx(8, 64, 2),
  "MXFP4 of MLX": (rows, columns, p) => {
    const groups = columns / 32;
    const codes = p.words((rows * columns) / 8);
    const scales = p.powers(rows * groups);
    return {
      tensors: {
        "m.weight": ["uint32", [rows, columns / 8], codes],
        "m.scales": ["uint8", [rows, groups], scales],
      },
      config: { quantization: { bits: 4, group_size: 32, mode: "mxfp4" } },
      values: matrix(rows, columns, (row, column) => {
        const code = dense(codes, row, columns / 8, column, 4);
        return brain(e2m1(code) * power(scales[row * groups + (column >> 5)]));
      }),
    };
  },
  GPTQ: gptq({ isOrdered: false }),
  "GPTQ with the groups of act-order": gptq({ isOrdered: true }),
  "GPTQ of format gptq_v2": gptq({ isOrdered: false, format: "gptq_v2" }),
  AWQ: awq,
  "a stack of float8 experts": (rows, columns, p) => {
    const codes = p.float8(2 * rows * columns);
    const scales = p.scales(2 * rows);
    return {
      name: "m.gate_up_proj",
      shape: [2, rows, columns],
      tensors: {
        "m.gate_up_proj": ["float8_e4m3fn", [2, rows, columns], codes],
        "m.gate_up_proj_scale": ["float32", [2, rows, 1], scales],
      },
      config: method("fp8"),
      values: matrix(2 * rows, columns, (row, _, i) => single(e4m3(codes[i]) * scales[row])),
    };
  },
  "a stack of experts of gpt-oss": (rows, columns, p) => {
    const groups = columns / 32;
    const codes = p.bytes(rows * columns);
    const scales = p.powers(2 * rows * groups);
    return {
      name: "m.down_proj",
      shape: [2, rows, columns],
      tensors: {
        "m.down_proj_blocks": ["uint8", [2, rows, groups, 16], codes],
        "m.down_proj_scales": ["uint8", [2, rows, groups], scales],
      },
      config: method("mxfp4"),
      values: matrix(2 * rows, columns, (_r, _c, i) =>
        brain(e2m1(nibble(codes, i)) * power(scales[Math.floor(i / 32)])),
      ),
    };
  },
  "HQQ, which is not read": (rows, columns, p) => ({
    tensors: {
      "m.W_q": ["uint8", [(rows * columns) / 128, 64], p.bytes((rows * columns) / 2)],
      "m.scale": ["float16", [(rows * columns) / 64, 1], p.halves((rows * columns) / 64)],
      "m.zero": ["float16", [(rows * columns) / 64, 1], p.halves((rows * columns) / 64)],
      "m.meta": ["uint8", [2], Uint8Array.of(123, 125)],
    },
    name: "m.W_q",
    config: method("hqq"),
    values: undefined,
  }),
};

/** A checkpoint of a layout: tensors, configuration, and the name, shape and values of its weight. */
export function referenceCheckpoint(layout, rows, columns, seed) {
  const made = LAYOUTS[layout](rows, columns, new Parts(seed));
  return { name: "m.weight", shape: [rows, columns], ...made };
}
