// PyTorch's random numbers on the CPU: the Mersenne Twister, and how torch.rand, randn and randint
// use its output.

import { dtypes } from "../tensor/dtype.js";

const STATE_SIZE = 624;

const SHIFT_SIZE = 397;

const UPPER_BIT = 0x80000000;

const LOWER_BITS = 0x7fffffff;

const TWIST = 0x9908b0df;

/**
 * The 32-bit Mersenne Twister, MT19937.
 * Source: Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998; the seeding of 2002.
 */
class MersenneTwister {
  readonly #state = new Uint32Array(STATE_SIZE);
  #next = STATE_SIZE;

  constructor(seed: number) {
    const state = this.#state;
    state[0] = seed;
    for (let i = 1; i < STATE_SIZE; i++) {
      state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
    }
  }

  /** 32 random bits, as a number from 0. */
  next(): number {
    if (this.#next === STATE_SIZE) this.#twist();
    let bits = this.#state[this.#next++];
    bits ^= bits >>> 11;
    bits ^= (bits << 7) & 0x9d2c5680;
    bits ^= (bits << 15) & 0xefc60000;
    bits ^= bits >>> 18;
    return bits >>> 0;
  }

  #twist(): void {
    const state = this.#state;
    for (let i = 0; i < STATE_SIZE; i++) {
      const mixed = (state[i] & UPPER_BIT) | (state[(i + 1) % STATE_SIZE] & LOWER_BITS);
      const twisted = (mixed >>> 1) ^ (mixed & 1 ? TWIST : 0);
      state[i] = state[(i + SHIFT_SIZE) % STATE_SIZE] ^ twisted;
    }
    this.#next = 0;
  }
}

/** PyTorch's CPU generator. */
export class Generator {
  #engine = new MersenneTwister(0);
  #seed = 0n;
  /** The second value of the last pair of normal values; undefined if it has been used. */
  #spareNormal: number | undefined;

  constructor(seed: bigint) {
    this.seed(seed);
  }

  /** Starts again. Only the low 32 bits of the seed matter, as in PyTorch. */
  seed(seed: bigint): void {
    this.#seed = BigInt.asUintN(64, seed);
    this.#engine = new MersenneTwister(Number(BigInt.asUintN(32, seed)));
    this.#spareNormal = undefined;
  }

  /** The seed last given, from 0 to 2^64 - 1. */
  get initialSeed(): bigint {
    return this.#seed;
  }

  /** A multiple of 2^-24 in [0, 1). */
  uniform24(): number {
    return (this.#engine.next() & 0xffffff) * 2 ** -24;
  }

  /** A multiple of 2^-53 in [0, 1). */
  uniform53(): number {
    const high = this.#engine.next();
    const low = this.#engine.next();
    return ((high & 0x1fffff) * 2 ** 32 + low) * 2 ** -53;
  }

  /** A standard normal value in double precision, by the method of Box and Muller. */
  normal(): number {
    if (this.#spareNormal !== undefined) {
      const spare = this.#spareNormal;
      this.#spareNormal = undefined;
      return spare;
    }
    const angle = 2 * Math.PI * this.uniform53();
    const radius = Math.sqrt(-2 * Math.log1p(-this.uniform53()));
    this.#spareNormal = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  /** An integer in [low, low + span), of 32 bits or, the high half first, of 64; span >= 1. */
  integer(low: bigint, span: bigint, isWide: boolean): bigint {
    const bits = BigInt(this.#engine.next());
    const wide = isWide ? (bits << 32n) | BigInt(this.#engine.next()) : bits;
    return low + (wide % span);
  }
}

type FloatStorage = Float32Array | Float64Array;

/** Fills with uniform values in [0, 1). Source: `torch.rand`. */
export function fillUniform(generator: Generator, out: FloatStorage): void {
  const single = out instanceof Float32Array;
  for (let i = 0; i < out.length; i++) {
    out[i] = single ? generator.uniform24() : generator.uniform53();
  }
}

const BLOCK = 16;

/**
 * Fills with standard normal values.
 *
 * Fewer than 16 values are drawn one after the other in double precision. Others are drawn
 * uniformly first and then turned into normal ones in blocks of 16, the first eight of a block with
 * the last eight; the last 16 values are drawn again if they are no whole block.
 *
 * Source: `torch.randn`; normal_fill (aten/src/ATen/native/cpu/DistributionTemplates.h).
 */
export function fillNormal(generator: Generator, out: FloatStorage): void {
  if (out.length < BLOCK) {
    for (let i = 0; i < out.length; i++) out[i] = generator.normal();
    return;
  }
  fillUniform(generator, out);
  for (let start = 0; start + BLOCK <= out.length; start += BLOCK) {
    normalizeBlock(out.subarray(start, start + BLOCK));
  }
  if (out.length % BLOCK !== 0) {
    const last = out.subarray(out.length - BLOCK);
    fillUniform(generator, last);
    normalizeBlock(last);
  }
}

// Every step is rounded to the tensor's own dtype, as in PyTorch.
function normalizeBlock(block: FloatStorage): void {
  const round = block instanceof Float32Array ? Math.fround : (value: number) => value;
  const turn = round(2 * Math.PI);
  const half = BLOCK / 2;
  for (let i = 0; i < half; i++) {
    const radius = round(Math.sqrt(-2 * round(Math.log(1 - block[i])))); // 1 - u is in (0, 1]
    const angle = round(turn * block[i + half]);
    block[i] = radius * round(Math.cos(angle));
    block[i + half] = radius * round(Math.sin(angle));
  }
}

let generator: Generator | undefined;

/**
 * The generator of `torch.rand`, randn and randint; seeded differently on every start. Made when it is
 * first asked for: some servers refuse random numbers while modules are imported.
 */
export function defaultGenerator(): Generator {
  generator ??= new Generator(unpredictableSeed());
  return generator;
}

function unpredictableSeed(): bigint {
  const [low, high] = globalThis.crypto.getRandomValues(new Uint32Array(2));
  return (BigInt(high) << 32n) | BigInt(low);
}

/**
 * Fills with integers in [low, high).
 *
 * Source: `torch.randint`; uniform_int_from_to_distribution (ATen/core/DistributionsHelper.h).
 *
 * @param mayBeWide  whether 2^32 of them and more take 64 bits: for int64 and floats
 */
export function fillIntegers(
  generator: Generator,
  low: bigint,
  high: bigint,
  count: number,
  mayBeWide: boolean,
): BigInt64Array {
  const out = dtypes.int64.allocate(count) as BigInt64Array;
  const span = high - low;
  const isWide = mayBeWide && span >= 1n << 32n;
  for (let i = 0; i < count; i++) out[i] = generator.integer(low, span, isWide);
  return out;
}
