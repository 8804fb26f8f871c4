// The limits of limits.cpp, ready to be timed, and the proof that the compiler left nothing out.

/**
 * @typedef {object} Kernel
 * @property {string} limit        which limit it measures: madd, muladd, dot_i8, dot_i16, read or copy
 * @property {string} name
 * @property {number} work         floating-point or integer operations, or bytes, of one run
 * @property {() => void} run
 */

/** @type {Record<string, { unit: string, title: string, build?: string }>} */
export const LIMITS = {
  madd: { unit: "GFLOP/s", title: "relaxed multiply-add, float32", build: "relaxed" },
  muladd: { unit: "GFLOP/s", title: "multiply and add, float32", build: "baseline" },
  dot_i8: { unit: "GFLOP/s", title: "relaxed dot of int8 and 7 bits", build: "relaxed" },
  dot_i16: { unit: "GFLOP/s", title: "dot of int16", build: "baseline" },
  read: { unit: "GB/s", title: "reading 64 MiB" },
  copy: { unit: "GB/s", title: "memory.copy of 64 MiB, read and written" },
};

/** Operations of one instruction: four lanes, times the products in each, times 2. */
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
/** Steps along K of a tile: its operands take at most 14 KiB, less than any first-level cache. */
const DEPTH = 128;
const INSTRUCTIONS_PER_RUN = 2_000_000;

/**
 * @param {WebAssembly.Module} module
 * @param {{ bytes?: number, instructions?: number }} [sizes]  of the memory that is read and copied, and
 *   how many instructions a run executes
 * @returns {Kernel[]}
 */
export function limitKernels(
  module,
  { bytes = 64 * 2 ** 20, instructions = INSTRUCTIONS_PER_RUN } = {},
) {
  const { exports } = new WebAssembly.Instance(module, {});
  const memory = /** @type {WebAssembly.Memory} */ (exports.memory);
  const data = memory.buffer.byteLength; // everything below is the module's own
  const call = (/** @type {string} */ name, /** @type {number[]} */ ...values) =>
    /** @type {(...values: number[]) => void} */ (exports[name])(...values);
  const has = (/** @type {string} */ name) => name in exports;
  memory.grow(Math.ceil((has("read_bytes") ? 2 * bytes : 0) / PAGE) + 2);
  const [x, w, out] = [data, data + 16384, data + 32768];

  /** @type {Kernel[]} */
  const kernels = [];
  for (const limit of /** @type {(keyof typeof OPERATIONS)[]} */ (Object.keys(OPERATIONS))) {
    if (!has(`${limit}_chain8`)) continue;
    for (const chains of CHAINS) {
      const steps = Math.ceil(instructions / chains);
      kernels.push({
        limit,
        name: `${chains} chains`,
        work: steps * chains * OPERATIONS[limit],
        run: () => call(`${limit}_chain${chains}`, out, steps),
      });
    }
    for (const [rows, columns] of TILES[limit]) {
      const times = Math.ceil(instructions / (DEPTH * rows * columns));
      kernels.push({
        limit,
        name: `tile of ${rows} × ${columns}`,
        work: times * DEPTH * rows * columns * OPERATIONS[limit],
        run: () => call(`${limit}_tile${rows}x${columns}`, x, w, DEPTH, times, out),
      });
    }
  }
  fill(new Float32Array(memory.buffer, data, 65536 / 4));
  if (has("read_bytes")) {
    const [from, to] = [data + PAGE, data + PAGE + bytes];
    // Pages that were never written are all the same one.
    new Uint8Array(memory.buffer, from, 2 * bytes).fill(1);
    kernels.push(
      {
        limit: "read",
        name: "eight sums",
        work: bytes,
        run: () => call("read_bytes", from, bytes, out),
      },
      {
        limit: "copy",
        name: "memory.copy",
        work: 2 * bytes,
        run: () => call("copy_bytes", to, from, bytes),
      },
    );
  }
  return kernels;
}

/**
 * Halves and quarters: as floats they neither vanish nor grow in any chain, and as integers of 7, 8 or
 * 16 bits they are as good as any.
 * @param {Float32Array} values
 */
function fill(values) {
  for (let i = 0; i < values.length; i++) values[i] = i % 3 === 0 ? 0.5 : 0.25;
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
 * How often each vector instruction stands in the body of each exported function.
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
        // Nothing is imported, so that bodies and functions have the same numbers.
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

/** The instructions of one step of each limit. */
const STEP = {
  madd: ["f32x4.relaxed_madd"],
  muladd: ["f32x4.mul", "f32x4.add"],
  dot_i8: ["i32x4.relaxed_dot_i8x16_i7x16_add_s"],
  dot_i16: ["i32x4.dot_i16x8_s", "i32x4.add"],
};

/**
 * What is wrong with the compiled limits: sums that the compiler dropped, operands that it did not load.
 * @param {Uint8Array} binary
 * @returns {string[]}
 */
export function problemsOf(binary) {
  const problems = [];
  for (const [name, counts] of Object.entries(countInstructions(binary))) {
    const [, limit, form, a, b] =
      /^(madd|muladd|dot_i8|dot_i16)_(chain|tile)(\d+)(?:x(\d+))?$/.exec(name) ?? [];
    if (!limit) continue;
    // Chains are unrolled four times and tiles twice, each with one more for what is left over.
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
