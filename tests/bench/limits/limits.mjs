// The kernels of limits.cpp, ready to be timed, and a check that the compiler removed no work.

/**
 * @typedef {object} Kernel
 * @property {string} limit        which limit it measures
 * @property {string} name
 * @property {number} work         floating-point or integer operations, or bytes, of one run
 * @property {() => void} run
 * @property {() => string | undefined} check   runs it once more: the problem with the stored result, if any
 */

/** @type {Record<string, { unit: string, title: string, build?: string }>} */
export const LIMITS = {
  madd: { unit: "GFLOP/s", title: "relaxed multiply-add, float32", build: "relaxed" },
  muladd: { unit: "GFLOP/s", title: "multiply and add, float32", build: "baseline" },
  dot_i8: { unit: "GFLOP/s", title: "relaxed dot of int8 and 7 bits", build: "relaxed" },
  dot_i16: { unit: "GFLOP/s", title: "dot of int16", build: "baseline" },
  read: { unit: "GB/s", title: "reading 64 MiB" },
  copy: { unit: "GB/s", title: "memory.copy of 64 MiB, read and written" },
  move: { unit: "GB/s", title: "a loop that loads and stores 64 MiB" },
  narrow: { unit: "GB/s", title: "a loop that narrows 64 MiB to 16" },
  widen: { unit: "GB/s", title: "a loop that widens 16 MiB to 64" },
};

/** Arithmetic operations per instruction: four lanes, times the products per lane, times 2. */
const OPERATIONS = { madd: 8, muladd: 8, dot_i8: 32, dot_i16: 16 };
const CHAINS = [8, 10, 12];
/** @type {Record<string, [number, number][]>} */
const TILES = {
  madd: [
    [4, 2],
    [6, 2],
  ],
  muladd: [
    [4, 2],
    [6, 2],
  ],
  dot_i8: [
    [4, 2],
    [4, 3],
  ],
  dot_i16: [
    [4, 2],
    [4, 3],
  ],
};

const PAGE = 65536;
/** Upper bound of the bytes of any kernel's sums. */
const OUT_BYTES = 512;
/** Steps of a tile along K: its operands take at most 14 KiB, less than any first-level cache. */
const DEPTH = 128;
const INSTRUCTIONS_PER_RUN = 2_000_000;

/**
 * @param {WebAssembly.Module} module
 * @param {{ bytes?: number, instructions?: number }} [sizes]  bytes: memory that is read and copied;
 *   instructions: executed per run
 * @returns {Kernel[]}
 */
export function limitKernels(
  module,
  { bytes = 64 * 2 ** 20, instructions = INSTRUCTIONS_PER_RUN } = {},
) {
  const { exports } = new WebAssembly.Instance(module, {});
  const memory = /** @type {WebAssembly.Memory} */ (exports.memory);
  const data = memory.buffer.byteLength; // the module uses all memory below
  const call = (/** @type {string} */ name, /** @type {number[]} */ ...values) =>
    /** @type {(...values: number[]) => void} */ (exports[name])(...values);
  const has = (/** @type {string} */ name) => name in exports;
  memory.grow(Math.ceil((has("read_bytes") ? 2 * bytes : 0) / PAGE) + 2);
  const [x, w, firstOut] = [data, data + 16384, data + 32768];

  /** Address of a kernel's sums. Not shared, because one kernel's integers are another's subnormal floats. */
  const place = () => firstOut + OUT_BYTES * kernels.length;
  /** A kernel's sums, before and after a run, as float32 or int32. */
  const sums = (
    /** @type {string} */ limit,
    /** @type {number} */ out,
    /** @type {number} */ count,
  ) => {
    const Type = limit.startsWith("m") ? Float32Array : Int32Array;
    return new Type(memory.buffer, out, 4 * count);
  };
  const operands = new Uint8Array(memory.buffer, data, firstOut - data);
  fill(new Float32Array(memory.buffer, data, operands.length / 4));

  /** @type {Kernel[]} */
  const kernels = [];
  for (const limit of /** @type {(keyof typeof OPERATIONS)[]} */ (Object.keys(OPERATIONS))) {
    if (!has(`${limit}_chain8`)) continue;
    for (const chains of CHAINS) {
      const steps = Math.ceil(instructions / chains);
      const out = place();
      // Two vectors, reread in every step, and the chains.
      const ends = sums(limit, out, 2 + chains);
      const first = ends instanceof Int32Array ? 77 : 0.5;
      // All chains have the same start.
      const start = () => ends.fill(first);
      start();
      kernels.push({
        limit,
        name: `${chains} chains`,
        work: steps * chains * OPERATIONS[limit],
        run: () => call(`${limit}_chain${chains}`, out, steps),
        check: () => {
          if (ends.subarray(0, 8).some((operand) => operand !== first)) return "it was overwritten";
          start();
          const [from] = ends.subarray(8);
          call(`${limit}_chain${chains}`, out, 1);
          const [to] = ends.subarray(8);
          const isMoved = ends.subarray(8).every((end) => end === to) && to !== from;
          start();
          return isMoved ? undefined : `its chains end at ${ends.subarray(8)}`;
        },
      });
    }
    for (const [rows, columns] of TILES[limit]) {
      const times = Math.ceil(instructions / (DEPTH * rows * columns));
      const out = place();
      const tile = sums(limit, out, rows * columns);
      const kernel = `${limit}_tile${rows}x${columns}`;
      kernels.push({
        limit,
        name: `tile of ${rows} × ${columns}`,
        work: times * DEPTH * rows * columns * OPERATIONS[limit],
        run: () => call(kernel, x, w, DEPTH, times, out),
        check: () => {
          tile.fill(0);
          call(kernel, x, w, DEPTH, times, out);
          const once = tileSums(limit, operands, w - x, rows, columns);
          const expected = Array.from(once, (sum) => sum * times);
          // Integer sums wrap around; float sums are exact.
          const at = (tile instanceof Int32Array ? Int32Array : Float64Array)
            .from(expected)
            .findIndex((sum, i) => tile[i] !== sum);
          return at < 0 ? undefined : `sum ${at} is ${tile[at]} instead of ${expected[at]}`;
        },
      });
    }
  }
  if (has("read_bytes")) {
    const [from, to] = [data + PAGE, data + PAGE + bytes];
    // Write all pages first: the system maps unwritten pages to one shared page.
    new Uint8Array(memory.buffer, from, 2 * bytes).fill(1);
    const out = place();
    const sum = new Int32Array(memory.buffer, out, 4);
    kernels.push(
      {
        limit: "read",
        name: "eight sums",
        work: bytes,
        run: () => call("read_bytes", from, bytes, out),
        check: () => {
          sum.fill(0);
          call("read_bytes", from, bytes, out);
          const expected = Math.imul(0x01010101, bytes / 16);
          return sum.every((lane) => lane === expected) ? undefined : `it read ${sum}`;
        },
      },
      {
        limit: "copy",
        name: "memory.copy",
        work: 2 * bytes,
        run: () => call("copy_bytes", to, from, bytes),
        check: () => {
          const copy = new Uint8Array(memory.buffer, to, bytes);
          copy[0] = copy[bytes - 1] = 0;
          call("copy_bytes", to, from, bytes);
          return copy[0] === 1 && copy[bytes - 1] === 1 ? undefined : "it did not copy all bytes";
        },
      },
    );
    // Bytes written by each kernel, and the expected word: from bytes of 1, or from saturated int32.
    for (const [limit, written, word] of /** @type {[string, number, number][]} */ ([
      ["move", bytes, 0x01010101],
      ["narrow", bytes / 4, 0x7f7f7f7f],
      ["widen", bytes, 1],
    ])) {
      kernels.push({
        limit,
        name: "vectors",
        work: limit === "move" ? 2 * bytes : 1.25 * bytes,
        run: () => call(`${limit}_bytes`, to, from, bytes),
        check: () => {
          const words = new Int32Array(memory.buffer, to, written / 4);
          words.fill(7);
          call(`${limit}_bytes`, to, from, bytes);
          return words.every((each) => each === word) ? undefined : "it did not write all bytes";
        },
      });
    }
  }
  return kernels;
}

/**
 * Fills with halves and eighths. As floats they neither vanish nor overflow in any chain, and their sums are exact;
 * as integers of 8 bits they fit into 7.
 * @param {Float32Array} values
 */
function fill(values) {
  for (let i = 0; i < values.length; i++) values[i] = i % 3 === 0 ? 0.5 : 0.125;
}

/**
 * Reference for one run of a tile: the values it adds to its sums.
 * @param {string} limit
 * @param {Uint8Array} operands  x, then w at `offset`
 */
function tileSums(limit, operands, offset, rows, columns) {
  const { buffer, byteOffset, byteLength } = operands;
  const isFloat = limit.startsWith("m");
  const Type = isFloat ? Float32Array : limit === "dot_i8" ? Int8Array : Int16Array;
  const values = new Type(buffer, byteOffset, byteLength / Type.BYTES_PER_ELEMENT);
  const w = offset / Type.BYTES_PER_ELEMENT;
  // The number of neighbouring operands that one lane of a sum takes.
  const lane = 4 / Type.BYTES_PER_ELEMENT;
  const all = new Float64Array(4 * rows * columns);
  for (let k = 0; k < DEPTH; k++) {
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < columns; c++) {
        for (let i = 0; i < 4; i++) {
          for (let j = 0; j < lane; j++) {
            const a = isFloat ? values[k * rows + r] : values[((k * rows + r) * 4 + i) * lane + j];
            const b = values[w + ((k * columns + c) * 4 + i) * lane + j];
            all[4 * (r * columns + c) + i] += a * b;
          }
        }
      }
    }
  }
  return all;
}

/** The opcodes after SIMD's prefix 0xfd, in LEB128. */
const OPCODES = {
  "v128.load": [0x00],
  "v128.load32_splat": [0x09],
  "f32x4.add": [0xe4, 0x01],
  "f32x4.mul": [0xe6, 0x01],
  "i32x4.add": [0xae, 0x01],
  "i32x4.dot_i16x8_s": [0xba, 0x01],
  "f32x4.relaxed_madd": [0x85, 0x02],
  "i32x4.relaxed_dot_i8x16_i7x16_add_s": [0x93, 0x02],
};

/**
 * The number of occurrences of each vector instruction in the body of each exported function.
 * @param {Uint8Array} binary
 * @returns {Record<string, Record<string, number>>}
 */
export function countInstructions(binary) {
  let at = 8;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = binary[at++];
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  /** @type {Record<string, Record<string, number>>} */
  const counts = {};
  /** @type {[string, number][]} */
  const names = [];
  while (at < binary.length) {
    const section = binary[at++];
    const end = number() + at;
    if (section === 7) {
      for (let left = number(); left > 0; left--) {
        const length = number();
        const name = new TextDecoder().decode(binary.subarray(at, at + length));
        at += length;
        const kind = binary[at++];
        const index = number();
        if (kind === 0) names.push([name, index]);
      }
    } else if (section === 10) {
      for (let index = 0, left = number(); left > 0; index++, left--) {
        const size = number();
        const body = binary.subarray(at, at + size);
        at += size;
        // Without imports, bodies and functions have the same indices.
        const name = names.find(([, of]) => of === index)?.[0];
        if (name) counts[name] = countIn(body);
      }
    }
    at = end;
  }
  return counts;
}

/** @param {Uint8Array} body */
function countIn(body) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (let i = 0; i < body.length; i++) {
    if (body[i] !== 0xfd) continue;
    for (const [name, opcode] of Object.entries(OPCODES)) {
      if (opcode.every((byte, j) => body[i + 1 + j] === byte))
        counts[name] = (counts[name] ?? 0) + 1;
    }
  }
  return counts;
}

/** The instructions of one step, for each limit. */
const STEP = {
  madd: ["f32x4.relaxed_madd"],
  muladd: ["f32x4.mul", "f32x4.add"],
  dot_i8: ["i32x4.relaxed_dot_i8x16_i7x16_add_s"],
  dot_i16: ["i32x4.dot_i16x8_s", "i32x4.add"],
};

/**
 * Problems of the compiled limits: sums removed or operands not loaded.
 * @param {Uint8Array} binary
 * @returns {string[]}
 */
export function problemsOf(binary) {
  const problems = [];
  for (const [name, counts] of Object.entries(countInstructions(binary))) {
    // Lower bound: the compiler may replace a loop that moves bytes by memory.copy.
    const moved = { move_bytes: 4, narrow_bytes: 4, widen_bytes: 1 }[name] ?? 0;
    if ((counts["v128.load"] ?? 0) < moved) problems.push(`${name}: loads are missing`);
    const [, limit, form, a, b] =
      /^(madd|muladd|dot_i8|dot_i16)_(chain|tile)(\d+)(?:x(\d+))?$/.exec(name) ?? [];
    if (!limit) continue;
    // Chains are unrolled four times and tiles twice, each plus one step for the tail.
    const steps = form === "chain" ? 5 * Number(a) : 3 * Number(a) * Number(b);
    for (const instruction of STEP[/** @type {keyof typeof STEP} */ (limit)]) {
      const found = counts[instruction] ?? 0;
      if (found !== steps) problems.push(`${name}: ${found} ${instruction} instead of ${steps}`);
    }
    if (form === "tile") {
      const isFloat = limit.startsWith("m");
      const loads = 3 * (Number(b) + (isFloat ? 0 : Number(a))) + Number(a) * Number(b);
      const splats = isFloat ? 3 * Number(a) : 0;
      if ((counts["v128.load"] ?? 0) < loads) problems.push(`${name}: loads are missing`);
      if ((counts["v128.load32_splat"] ?? 0) < splats) problems.push(`${name}: splats are missing`);
    }
  }
  return problems;
}
