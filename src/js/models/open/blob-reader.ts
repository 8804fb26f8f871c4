// Reads of a browser's blobs without a new buffer for each: browsers collect such buffers so late that about 100 MB of
// them pile up while a large file is read.

/** Bytes that are asked for at a time. */
const BUFFER_BYTES = 2 ** 19;

/** Bytes [offset, offset + length) in a new buffer. */
export async function bytesOfBlob(blob: Blob, offset: number, length: number): Promise<Uint8Array> {
  return new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer());
}

/**
 * Streams that are being read. Chromium 156 collects a stream of a blob that nothing else refers to, even if a read of it
 * is pending, and the read then never ends.
 */
const READING = /* @__PURE__ */ new Set<ReadableStreamBYOBReader>();

/** Reads a blob into given arrays. */
export class BlobReader {
  /** Goes to a stream and comes back with each read; undefined while a read has it. */
  #buffer: ArrayBuffer | undefined;
  #hasByteStreams = true;

  constructor(readonly blob: Blob) {}

  /** Fills an array with the bytes from an offset on. @returns how many there were */
  async readInto(offset: number, out: Uint8Array): Promise<number> {
    if (out.length === 0) return 0;
    const stream = this.#streamOf(offset, offset + out.length);
    if (stream === undefined) {
      const bytes = await bytesOfBlob(this.blob, offset, out.length);
      out.set(bytes);
      return bytes.length;
    }
    let buffer = this.#buffer ?? new ArrayBuffer(BUFFER_BYTES);
    this.#buffer = undefined;
    READING.add(stream);
    try {
      let filled = 0;
      while (filled < out.length) {
        const length = Math.min(buffer.byteLength, out.length - filled);
        const { done, value } = await stream.read(new Uint8Array(buffer, 0, length));
        if (value !== undefined) buffer = value.buffer as ArrayBuffer;
        if (done || value === undefined) break;
        out.set(value, filled);
        filled += value.length;
      }
      this.#buffer = buffer;
      await stream.cancel();
      return filled;
    } finally {
      READING.delete(stream);
    }
  }

  /** @returns undefined if the browser has no byte streams of blobs */
  #streamOf(begin: number, end: number): ReadableStreamBYOBReader | undefined {
    if (!this.#hasByteStreams) return undefined;
    try {
      return this.blob.slice(begin, end).stream().getReader({ mode: "byob" });
    } catch {
      this.#hasByteStreams = false;
      return undefined;
    }
  }
}
