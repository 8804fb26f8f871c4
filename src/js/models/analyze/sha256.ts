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
function fractions(count: number, root: (prime: number) => number): Uint32Array {
  const found = new Uint32Array(count);
  for (let n = 2, i = 0; i < count; n++) {
    if (isPrime(n)) found[i++] = (root(n) % 1) * 2 ** 32;
  }
  return found;
}

/** Computed in JavaScript: constant memory, about 200 MB/s. */
export class Sha256 implements Hash {
  readonly #constants = fractions(64, Math.cbrt);
  readonly #state = fractions(8, Math.sqrt);
  readonly #words = new Uint32Array(64);
  readonly #block = new Uint8Array(64);
  readonly #view = new DataView(this.#block.buffer);
  #filled = 0;
  #length = 0;

  update(bytes: Uint8Array): void {
    this.#length += bytes.length;
    for (let at = 0; at < bytes.length; ) {
      const taken = Math.min(64 - this.#filled, bytes.length - at);
      this.#block.set(bytes.subarray(at, at + taken), this.#filled);
      at += taken;
      this.#filled += taken;
      if (this.#filled === 64) this.#compress();
    }
  }

  digest(): string {
    const length = this.#length;
    this.update(Uint8Array.of(0x80));
    while (this.#filled !== 56) this.update(new Uint8Array(1));
    this.#view.setUint32(56, Math.floor(length / 2 ** 29));
    this.#view.setUint32(60, length * 8);
    this.#compress();
    return Array.from(this.#state, (word) => word.toString(16).padStart(8, "0")).join("");
  }

  #compress(): void {
    const words = this.#words;
    for (let i = 0; i < 16; i++) words[i] = this.#view.getUint32(4 * i);
    for (let i = 16; i < 64; i++) {
      const a = words[i - 15];
      const b = words[i - 2];
      const s0 = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3);
      const s1 = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10);
      words[i] = words[i - 16] + s0 + words[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = this.#state;
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + this.#constants[i] + words[i]) | 0;
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
    const sums = [a, b, c, d, e, f, g, h];
    for (let i = 0; i < 8; i++) this.#state[i] += sums[i];
    this.#filled = 0;
  }
}
