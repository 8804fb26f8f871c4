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

/** Bytes of the longest part that one stream reads. */
const MOST_AHEAD = 2 ** 25;
/** Parts that are known at a time: as many places of a blob can be read in turn. */
const MOST_PARTS = 8;
/** Milliseconds for which a stream is used: browsers see that a file has changed only when they open a stream. */
const MOST_AGE = 1000;

/** A part of a blob that is read front to back. */
interface Part {
  readonly begin: number;
  readonly end: number;
  /** The offset of the next byte. */
  readonly at: number;
  readonly opened: number;
  /** Undefined if all of the part was read. */
  readonly stream: ReadableStreamBYOBReader | undefined;
}

/**
 * Reads a blob into given arrays. The first read of a place opens a stream of what was asked for, and each one that goes
 * on where another one ended a stream of twice as much: browsers take longer to open a stream than to read 1 MiB.
 */
export class BlobReader {
  /** Goes to a stream and comes back with each read; undefined while a read has it. */
  #buffer: ArrayBuffer | undefined;
  #hasByteStreams = true;
  /** The last parts, without those that are being read. */
  #parts: Part[] = [];

  constructor(readonly blob: Blob) {}

  /** Fills an array with the bytes from an offset on. @returns how many there were */
  async readInto(offset: number, out: Uint8Array): Promise<number> {
    let filled = 0;
    while (filled < out.length && offset + filled < this.blob.size) {
      const part = this.#partFrom(offset + filled, out.length - filled);
      if (part === undefined) {
        const bytes = await bytesOfBlob(this.blob, offset + filled, out.length - filled);
        out.set(bytes, filled);
        return filled + bytes.length;
      }
      const read = await this.#readPart(part, out.subarray(filled));
      if (read === 0) break;
      filled += read;
    }
    return filled;
  }

  /** Ends all streams. */
  close(): void {
    for (const part of this.#parts.splice(0)) cancel(part);
  }

  /** Reads as much of a part as there is room for. */
  async #readPart(part: Part, out: Uint8Array): Promise<number> {
    const stream = part.stream as ReadableStreamBYOBReader;
    const most = Math.min(out.length, part.end - part.at);
    let buffer = this.#buffer ?? new ArrayBuffer(BUFFER_BYTES);
    this.#buffer = undefined;
    READING.add(stream);
    try {
      let filled = 0;
      while (filled < most) {
        const length = Math.min(buffer.byteLength, most - filled);
        const { done, value } = await stream.read(new Uint8Array(buffer, 0, length));
        if (value !== undefined) buffer = value.buffer as ArrayBuffer;
        if (done || value === undefined) break;
        out.set(value, filled);
        filled += value.length;
      }
      this.#buffer = buffer;
      this.#keep({ ...part, at: part.at + filled });
      return filled;
    } finally {
      READING.delete(stream);
    }
  }

  /** Takes the part that goes on at an offset, or opens one. @returns undefined if blobs have no byte streams */
  #partFrom(at: number, length: number): Part | undefined {
    const place = this.#parts.findIndex((part) => part.at === at);
    const [before] = place === -1 ? [] : this.#parts.splice(place, 1);
    const opened = performance.now();
    if (before?.stream !== undefined) {
      if (opened - before.opened < MOST_AGE) return before;
      cancel(before);
    }
    const ahead = before === undefined ? 0 : 2 * (before.end - before.begin);
    const end = Math.min(at + Math.max(length, Math.min(ahead, MOST_AHEAD)), this.blob.size);
    const stream = this.#streamOf(at, end);
    return stream && { begin: at, end, at, opened, stream };
  }

  /** Keeps a part for the read that goes on with it. */
  #keep(part: Part): void {
    const isRead = part.at === part.end;
    if (isRead) cancel(part);
    this.#parts.push(isRead ? { ...part, stream: undefined } : part);
    if (this.#parts.length > MOST_PARTS) cancel(this.#parts.shift());
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

/** Ends a part's stream. */
function cancel(part: Part | undefined): void {
  // One that has failed rejects.
  part?.stream?.cancel().catch(() => undefined);
}
