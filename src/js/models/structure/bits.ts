// Codes of 1 to 8 bits -> bytes, low bits first: the order of `pack`, of compressed-tensors and of MLX.

/** Packs codes into bytes: code i takes bits i * bits and up of the stream. */
export class BitPacker {
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(2 ** 16);
  /** Whole bytes so far. */
  #filled = 0;
  /** Bits behind them, and their number. */
  #rest = 0;
  #restBits = 0;
  /** Bits since the last alignment. */
  #position = 0;

  /**
   * @param bits  of a code, 1 to 8
   * @param shift  added to each code, so that it is not negative
   */
  constructor(
    readonly bits: number,
    readonly shift = 0,
  ) {}

  /** Appends codes [begin, end). Two's complement is cut to the width. */
  put(codes: Uint8Array | Int8Array, begin: number, end: number): void {
    const { bits, shift } = this;
    this.#reserve(Math.ceil(((end - begin) * bits) / 8) + 4);
    this.#position = (this.#position + (end - begin) * bits) % 32;
    if (bits === 8) {
      const bytes = this.#bytes;
      const at = this.#filled - begin;
      for (let i = begin; i < end; i++) bytes[at + i] = codes[i] + shift;
      this.#filled = at + end;
      return;
    }
    const mask = 2 ** bits - 1;
    let i = begin;
    const isAligned = (codes.byteOffset + begin) % 4 === 0 && this.#filled % 2 === 0;
    if (bits === 4 && this.#restBits === 0 && isAligned) {
      // Four codes at a time.
      const count = (end - begin) >> 2;
      const words = new Uint32Array(codes.buffer, codes.byteOffset + begin, count);
      const pairs = new Uint16Array(this.#bytes.buffer, this.#filled, count);
      const shifts = (shift & 15) * 0x01010101;
      for (let word = 0; word < count; word++) {
        const four = ((words[word] & 0x0f0f0f0f) + shifts) & 0x0f0f0f0f;
        const two = four | (four >>> 4);
        pairs[word] = (two & 0xff) | ((two >>> 8) & 0xff00);
      }
      i += 4 * count;
      this.#filled += 2 * count;
    }
    const bytes = this.#bytes;
    let at = this.#filled;
    let rest = this.#rest;
    let restBits = this.#restBits;
    for (; i < end; i++) {
      rest |= ((codes[i] + shift) & mask) << restBits;
      restBits += bits;
      if (restBits < 8) continue;
      bytes[at++] = rest;
      rest >>>= 8;
      restBits -= 8;
    }
    this.#filled = at;
    this.#rest = rest;
    this.#restBits = restBits;
  }

  /** Fills the last 32-bit word since the last alignment with zeros. */
  align(): void {
    if (this.#position === 0) return;
    this.#reserve(8);
    const zeros = (32 - this.#position) / 8;
    if (this.#restBits > 0) this.#bytes[this.#filled++] = this.#rest;
    for (let i = 1; i <= zeros; i++) this.#bytes[this.#filled++] = 0;
    this.#rest = 0;
    this.#restBits = 0;
    this.#position = 0;
  }

  /** The whole bytes since the last call, as a copy. @param isLast  also the bits that are no whole byte */
  take(isLast = false): Uint8Array<ArrayBuffer> {
    this.#reserve(1);
    if (isLast && this.#restBits > 0) {
      this.#bytes[this.#filled++] = this.#rest;
      this.#rest = 0;
      this.#restBits = 0;
    }
    const taken = this.#bytes.slice(0, this.#filled);
    this.#filled = 0;
    return taken;
  }

  #reserve(more: number): void {
    if (this.#filled + more <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(2 * this.#bytes.length, this.#filled + more));
    grown.set(this.#bytes.subarray(0, this.#filled));
    this.#bytes = grown;
  }
}
