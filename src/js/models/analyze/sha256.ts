// SHA-256 of bytes in chunks: Node's own where it exists, else computed here, because WebCrypto takes all
// bytes at once.
// Source: FIPS 180-4.

/** A hash in progress. */
export interface Hash {
  update(bytes: Uint8Array): void;
  /** The hash of all bytes, in hexadecimal. */
  digest(): string;
}

interface NodeHash {
  update(bytes: Uint8Array): unknown;
  digest(encoding: "hex"): string;
}

interface NodeProcess {
  getBuiltinModule?(name: string): { createHash?(name: string): NodeHash } | undefined;
}

/** Begins a hash. */
export function sha256(): Hash {
  const { process } = globalThis as { process?: NodeProcess };
  const hash = process?.getBuiltinModule?.("node:crypto")?.createHash?.("sha256");
  if (hash === undefined) return new Sha256();
  return {
    update: (bytes) => void hash.update(bytes),
    digest: () => hash.digest("hex"),
  };
}

const isPrime = (n: number): boolean => {
  for (let i = 2; i * i <= n; i++) if (n % i === 0) return false;
  return true;
};

/** The first bits of the fractional parts of roots of the first primes. */
function fractions(count: number, root: (prime: number) => number): Int32Array {
  const found = new Int32Array(count);
  for (let n = 2, i = 0; i < count; n++) {
    if (isPrime(n)) found[i++] = (root(n) % 1) * 2 ** 32;
  }
  return found;
}

const CONSTANTS = fractions(64, Math.cbrt);

/** Computed in JavaScript, in constant memory. Words are signed: V8 computes with unsigned ones as with doubles. */
export class Sha256 implements Hash {
  readonly #state = fractions(8, Math.sqrt);
  readonly #words = new Int32Array(64);
  readonly #block = new Uint8Array(64);
  #filled = 0;
  #length = 0;

  update(bytes: Uint8Array): void {
    this.#length += bytes.length;
    let at = 0;
    if (this.#filled > 0) {
      at = Math.min(64 - this.#filled, bytes.length);
      this.#block.set(bytes.subarray(0, at), this.#filled);
      this.#filled += at;
      if (this.#filled < 64) return;
      compress(this.#state, this.#words, this.#block, 0);
    }
    for (; at + 64 <= bytes.length; at += 64) compress(this.#state, this.#words, bytes, at);
    this.#filled = bytes.length - at;
    this.#block.set(bytes.subarray(at));
  }

  digest(): string {
    const length = this.#length;
    this.update(Uint8Array.of(0x80));
    this.update(new Uint8Array((120 - this.#filled) % 64));
    const end = new DataView(new ArrayBuffer(8));
    end.setUint32(0, Math.floor(length / 2 ** 29));
    end.setUint32(4, length * 8);
    this.update(new Uint8Array(end.buffer));
    const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, "0");
    return Array.from(this.#state, hex).join("");
  }
}

/** Adds the block of 64 bytes at an offset to the state. @param words  room for 64 words */
function compress(state: Int32Array, words: Int32Array, bytes: Uint8Array, offset: number): void {
  for (let i = 0, at = offset; i < 16; i++, at += 4) {
    words[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
  }
  for (let i = 16; i < 64; i++) {
    const a = words[i - 15];
    const b = words[i - 2];
    const s0 = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3);
    const s1 = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10);
    words[i] = (((words[i - 16] + s0) | 0) + ((words[i - 7] + s1) | 0)) | 0;
  }
  // Not by destructuring, which asks the array's iterator.
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const choice = (e & f) ^ (~e & g);
    const t1 = (((((h + s1) | 0) + choice) | 0) + ((CONSTANTS[i] + words[i]) | 0)) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}
