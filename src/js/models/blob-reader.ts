// Reads of a browser's blobs without a new buffer for each: browsers collect such buffers so late that about 100 MB of
// them pile up while a large file is read.

/** Positions of a blob that are read on from, at most. */
const MOST_CURSORS = 4;

/** Bytes that a cursor asks for at a time. */
const BUFFER_BYTES = 2 ** 19;

/** Bytes [offset, offset + length) in a new buffer. */
export async function bytesOfBlob(blob: Blob, offset: number, length: number): Promise<Uint8Array> {
  return new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer());
}

/** A position of a blob, and the stream of the bytes from there on. */
interface Cursor {
  readonly stream: ReadableStreamBYOBReader;
  at: number;
  /** Goes to the stream and comes back with each read. */
  buffer: ArrayBuffer;
}

/** Reads a blob into given arrays. Reads that go on where an earlier one ended share its stream. */
export class BlobReader {
  /** Cursors that no read uses, the one used last at the end. */
  #idle: Cursor[] = [];
  #hasByteStreams = true;

  constructor(readonly blob: Blob) {}

  /** Fills an array with the bytes from an offset on. @returns how many there were */
  async readInto(offset: number, out: Uint8Array): Promise<number> {
    if (out.length === 0) return 0;
    const cursor = await this.#cursorAt(offset);
    if (cursor === undefined) {
      const bytes = await bytesOfBlob(this.blob, offset, out.length);
      out.set(bytes);
      return bytes.length;
    }
    let filled = 0;
    while (filled < out.length) {
      const { buffer } = cursor;
      const length = Math.min(buffer.byteLength, out.length - filled);
      const { done, value } = await cursor.stream.read(new Uint8Array(buffer, 0, length));
      if (done || value === undefined) return filled;
      cursor.buffer = value.buffer as ArrayBuffer;
      out.set(value, filled);
      filled += value.length;
      cursor.at += value.length;
    }
    this.#idle.push(cursor);
    return filled;
  }

  /** @returns undefined if the browser has no byte streams of blobs */
  async #cursorAt(offset: number): Promise<Cursor | undefined> {
    const found = this.#idle.findIndex(({ at }) => at === offset);
    if (found >= 0) return this.#idle.splice(found, 1)[0];
    let buffer: ArrayBuffer | undefined;
    if (this.#idle.length >= MOST_CURSORS) {
      const oldest = this.#idle.shift() as Cursor;
      buffer = oldest.buffer;
      await oldest.stream.cancel();
    }
    const stream = this.#streamAt(offset);
    return stream && { stream, at: offset, buffer: buffer ?? new ArrayBuffer(BUFFER_BYTES) };
  }

  #streamAt(offset: number): ReadableStreamBYOBReader | undefined {
    if (!this.#hasByteStreams) return undefined;
    try {
      return this.blob.slice(offset).stream().getReader({ mode: "byob" });
    } catch {
      this.#hasByteStreams = false;
      return undefined;
    }
  }

  /** Ends all streams. */
  async close(): Promise<void> {
    const ended = this.#idle.map(({ stream }) => stream.cancel());
    this.#idle = [];
    await Promise.all(ended);
  }
}
