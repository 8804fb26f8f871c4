// Sums of floats in PyTorch's order.

// TensorIterator walks the axes in its own order, merges axes that are contiguous with each other, and
// passes the two fastest to a loop. The order of additions in that loop depends on their
// strides.

/** The axes of a reduction in the order of the loops, fastest first; a reduced one has the output stride 0. */
export interface SumAxes {
  readonly sizes: number[];
  readonly input: number[];
  readonly output: number[];
}

export type FloatStorage = Float32Array | Float64Array;

/**
 * Adds the values of `source` from `offset` on to `out`, which begins as zeros, as PyTorch does on one thread.
 *
 * Source: cascade_sum (aten/src/ATen/native/cpu/SumKernel.cpp).
 */
export function cascadeSum(
  axes: SumAxes,
  source: FloatStorage,
  offset: number,
  out: FloatStorage,
): void {
  const merged = mergeAxes(axes);
  const adder = new Adder(source, out);
  forEachPlane(merged, (input, output) => adder.addPlane(merged, offset + input, output));
}

/** Merges neighbouring axes that are contiguous in both operands. Leaves at least two. */
function mergeAxes({ sizes, input, output }: SumAxes): SumAxes {
  const merged: SumAxes = { sizes: [], input: [], output: [] };
  for (let axis = 0; axis < sizes.length; axis++) {
    const last = merged.sizes.length - 1;
    const joins =
      last >= 0 &&
      (merged.sizes[last] === 1 ||
        sizes[axis] === 1 ||
        (merged.sizes[last] * merged.input[last] === input[axis] &&
          merged.sizes[last] * merged.output[last] === output[axis]));
    if (!joins) {
      merged.sizes.push(sizes[axis]);
      merged.input.push(input[axis]);
      merged.output.push(output[axis]);
      continue;
    }
    if (merged.sizes[last] === 1) {
      merged.input[last] = input[axis];
      merged.output[last] = output[axis];
    }
    merged.sizes[last] *= sizes[axis];
  }
  while (merged.sizes.length < 2) {
    merged.sizes.push(1);
    merged.input.push(0);
    merged.output.push(0);
  }
  return merged;
}

/** Calls `visit` with the offsets of every plane of the two fastest axes. */
function forEachPlane(axes: SumAxes, visit: (input: number, output: number) => void): void {
  const { sizes, input, output } = axes;
  const index = new Array<number>(sizes.length).fill(0);
  let inputOffset = 0;
  let outputOffset = 0;
  for (;;) {
    visit(inputOffset, outputOffset);
    let axis = 2;
    for (; axis < sizes.length; axis++) {
      inputOffset += input[axis];
      outputOffset += output[axis];
      if (++index[axis] < sizes[axis]) break;
      inputOffset -= sizes[axis] * input[axis];
      outputOffset -= sizes[axis] * output[axis];
      index[axis] = 0;
    }
    if (axis >= sizes.length) return;
  }
}

/** Columns, or rows, whose sums PyTorch keeps side by side. */
const SIDE_BY_SIDE = 4;

const LEVELS = 4;

class Adder {
  readonly #source: FloatStorage;
  readonly #out: FloatStorage;
  /** Values in a vector of 32 bytes. */
  readonly #lanes: number;
  readonly #round: (value: number) => number;

  constructor(source: FloatStorage, out: FloatStorage) {
    this.#source = source;
    this.#out = out;
    this.#lanes = source instanceof Float32Array ? 8 : 4;
    this.#round = source instanceof Float32Array ? Math.fround : (value) => value;
  }

  addPlane({ sizes, input, output }: SumAxes, start: number, outStart: number): void {
    // The reduced axis comes first.
    const swap = output[0] !== 0 && output[1] === 0 ? 1 : 0;
    const n = sizes[swap];
    const columns = sizes[1 - swap];
    const step = input[swap];
    const across = input[1 - swap];
    const outStep = output[1 - swap];
    if (output[swap] !== 0) {
      this.#addOnes(sizes, input, output, start, outStart);
      return;
    }
    const lanes = this.#lanes;
    let column = 0;
    const add = (count: number, sumOf: (from: number) => number): void => {
      for (let i = 0; i < count; i++, column++) {
        const at = outStart + column * outStep;
        this.#out[at] = this.#round(this.#out[at] + sumOf(start + column * across));
      }
    };
    if (step === 1 && n >= lanes) {
      add(columns, (from) => this.#sumRun(from, n));
    } else if (across === 1 && columns >= lanes) {
      const abreast = SIDE_BY_SIDE * lanes;
      add(Math.floor(columns / abreast) * abreast, (from) => this.#cascade(from, step, n));
      add(columns - column, (from) => this.#sumInterleaved(from, step, n));
    } else if (step < across) {
      add(columns, (from) => this.#sumInterleaved(from, step, n));
    } else {
      const abreast = SIDE_BY_SIDE;
      add(Math.floor(columns / abreast) * abreast, (from) => this.#cascade(from, step, n));
      add(columns - column, (from) => this.#sumInterleaved(from, step, n));
    }
  }

  /** No axis is reduced: each element is copied to its place. */
  #addOnes(
    sizes: readonly number[],
    input: readonly number[],
    output: readonly number[],
    start: number,
    outStart: number,
  ): void {
    for (let j = 0; j < sizes[1]; j++) {
      for (let i = 0; i < sizes[0]; i++) {
        const at = outStart + i * output[0] + j * output[1];
        const value = this.#source[start + i * input[0] + j * input[1]];
        this.#out[at] = this.#round(this.#out[at] + value);
      }
    }
  }

  /** Contiguous values: lane by lane, then the tail, then the lanes. */
  #sumRun(from: number, n: number): number {
    const lanes = this.#lanes;
    const rows = Math.floor(n / lanes);
    let total = 0;
    for (let i = rows * lanes; i < n; i++) total = this.#round(total + this.#source[from + i]);
    for (let lane = 0; lane < lanes; lane++) {
      total = this.#round(total + this.#sumInterleaved(from + lane, lanes, rows));
    }
    return total;
  }

  /** Four sums of every fourth value, cascaded, then added up. */
  #sumInterleaved(from: number, step: number, n: number): number {
    const rows = Math.floor(n / SIDE_BY_SIDE);
    const partial = Array.from({ length: SIDE_BY_SIDE }, (_, i) =>
      this.#cascade(from + i * step, SIDE_BY_SIDE * step, rows),
    );
    for (let i = rows * SIDE_BY_SIDE; i < n; i++) {
      partial[0] = this.#round(partial[0] + this.#source[from + i * step]);
    }
    return partial.reduce((total, value) => this.#round(total + value));
  }

  /** Runs of 16 or more values, whose sums move up four levels. */
  #cascade(from: number, step: number, n: number): number {
    const ceilLog2 = n <= 2 ? 1 : 32 - Math.clz32(n - 1);
    const power = Math.max(4, Math.floor(ceilLog2 / LEVELS));
    const run = 2 ** power;
    const level = new Array<number>(LEVELS).fill(0);
    let i = 0;
    const addOne = (): void => {
      level[0] = this.#round(level[0] + this.#source[from + i * step]);
      i++;
    };
    while (i + run <= n) {
      for (const end = i + run; i < end; ) addOne();
      for (let j = 1; j < LEVELS; j++) {
        level[j] = this.#round(level[j] + level[j - 1]);
        level[j - 1] = 0;
        if (i & ((run - 1) << (j * power))) break;
      }
    }
    while (i < n) addOne();
    for (let j = 1; j < LEVELS; j++) level[0] = this.#round(level[0] + level[j]);
    return level[0];
  }
}
