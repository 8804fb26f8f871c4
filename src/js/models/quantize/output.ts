// Output files as streams: progress, signal, and a check of their size.

import { checkInteger } from "../../base/check.js";
import { rangeError } from "../../base/errors.js";
import { CHUNK_BYTES } from "../../formats/source.js";
import { streamOf } from "../byte-stream.js";
import type { Advance } from "../weights/slabs.js";
import { Checksum } from "./checksum.js";
import type { FileParts, OutputFile, QuantizeProgress, Section } from "./types.js";

/** Progress over all files of a job; a file that is streamed again starts again. */
export class Progress {
  readonly #done = new Map<string, number>();
  #total = 0;

  constructor(readonly report: ((progress: QuantizeProgress) => void) | undefined) {}

  add(file: string, inputBytes: number): void {
    this.#done.set(file, 0);
    this.#total += inputBytes;
  }

  restart(file: string): void {
    this.#done.set(file, 0);
  }

  advance(file: string, bytes: number, name: string): void {
    this.#done.set(file, (this.#done.get(file) as number) + bytes);
    if (this.report === undefined) return;
    let done = 0;
    for (const each of this.#done.values()) done += each;
    this.report({ done, total: this.#total, name });
  }
}

/** An output file of its parts. */
export function outputFile(
  where: string,
  { name, size, sections: parts }: FileParts,
  progress: Progress,
  signal: AbortSignal | undefined,
  checkUnchanged: (where: string) => Promise<void>,
  onEnd: () => void,
): OutputFile {
  const sections = placed(parts);
  progress.add(
    name,
    parts.reduce((sum, { inputBytes }) => sum + inputBytes, 0),
  );
  const stream = (begin = 0): ReadableStream<Uint8Array> => {
    signal?.throwIfAborted();
    checkInteger(where, "begin", begin, 0, 0, size);
    progress.restart(name);
    const advance = (bytes: number, tensor: string): void => progress.advance(name, bytes, tensor);
    const chunks = chunksFrom(sections, begin, advance);
    const end = async (caller: string): Promise<void> => {
      await checkUnchanged(caller);
      onEnd();
    };
    return streamOf(checked(where, name, size - begin, chunks, signal, end));
  };
  const file = { name, size, stream };
  SECTIONS.set(file, sections);
  return file;
}

/** A section of bytes that are in memory. */
export const bytesSection = (bytes: Uint8Array): Section => ({
  byteLength: bytes.length,
  inputBytes: 0,
  async *chunks() {
    yield bytes;
  },
});

/** A section and its place in the file. */
interface PlacedSection extends Section {
  readonly begin: number;
  readonly end: number;
  /** Checksum of its bytes as a stream gave them last; undefined if none has given all of them. */
  streamed: number | undefined;
}

function placed(sections: readonly Section[]): PlacedSection[] {
  let begin = 0;
  return sections.map((section) => {
    const end = begin + section.byteLength;
    const own = { ...section, begin, end, streamed: undefined };
    begin = end;
    return own;
  });
}

/**
 * Bytes from an offset on. Sections before it are not made; of the one that it is in, the first bytes are dropped.
 * Chunks are copies: a reader may transfer them, and sections give parts of a model in memory, or of arrays that they
 * keep.
 */
async function* chunksFrom(
  sections: readonly PlacedSection[],
  begin: number,
  advance: Advance,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const section of sections) {
    if (section.end <= begin) {
      if (section.inputBytes > 0) advance(section.inputBytes, "");
      continue;
    }
    let skipped = Math.max(0, begin - section.begin);
    const checksum = new Checksum();
    for await (const chunk of section.chunks(advance)) {
      // Before the reader of the stream may transfer it.
      checksum.add(chunk);
      const from = Math.min(skipped, chunk.length);
      skipped -= from;
      yield new Uint8Array(chunk.subarray(from));
    }
    section.streamed = checksum.value;
  }
}

/** The sections of output files. */
const SECTIONS = /* @__PURE__ */ new WeakMap<OutputFile, readonly PlacedSection[]>();

/**
 * The bytes of an output file, made when they are asked for. Reads of each section that go forward continue where the
 * last one ended; others make the section again.
 * @returns undefined if the file is not one of quantizeModel
 */
export function readOutput(where: string, file: OutputFile): OutputReader | undefined {
  const sections = SECTIONS.get(file);
  return sections && new OutputReader(where, file.size, sections);
}

/** A section that is being read. */
interface Cursor {
  readonly chunks: AsyncIterator<Uint8Array>;
  /** Offset of `rest` in the file. */
  at: number;
  rest: Uint8Array;
  /** Of the section's bytes up to the end of `rest`. */
  readonly checksum: Checksum;
}

/** Random access to an output file, by one read at a time. */
export class OutputReader {
  readonly #cursors = new Map<PlacedSection, Cursor>();
  /** Sections that were made from beginning to end, and whether all of their bytes are those that were streamed. */
  readonly #made = new Map<PlacedSection, boolean>();

  constructor(
    readonly where: string,
    readonly size: number,
    readonly sections: readonly PlacedSection[],
  ) {}

  /** Bytes [offset, offset + length). */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    const end = offset + length;
    for (let i = this.#firstAfter(offset); i < this.sections.length; i++) {
      const section = this.sections[i];
      if (section.begin >= end) break;
      const from = Math.max(offset, section.begin);
      const to = Math.min(end, section.end);
      if (from < to) await this.#fill(section, from, bytes.subarray(from - offset, to - offset));
    }
    return bytes;
  }

  /** The index of the first section that ends after an offset. A file has a section for each tensor. */
  #firstAfter(offset: number): number {
    let [low, high] = [0, this.sections.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.sections[middle].end > offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  async #fill(section: PlacedSection, from: number, out: Uint8Array): Promise<void> {
    let cursor = this.#cursors.get(section);
    if (cursor === undefined || cursor.at > from) {
      await cursor?.chunks.return?.();
      const chunks = section.chunks(() => {})[Symbol.asyncIterator]();
      cursor = { chunks, at: section.begin, rest: new Uint8Array(0), checksum: new Checksum() };
      this.#cursors.set(section, cursor);
    }
    for (let filled = 0; filled < out.length; ) {
      if (cursor.rest.length === 0) {
        const { done, value } = await cursor.chunks.next();
        if (done) {
          const problem = `a section must have ${section.end - section.begin} bytes, got ${cursor.at - section.begin}`;
          throw rangeError("ZP_INVALID_BYTES", this.where, problem);
        }
        cursor.rest = value;
        cursor.checksum.add(value);
        if (cursor.at + value.length === section.end) {
          const isEqual = cursor.checksum.value === section.streamed;
          this.#made.set(section, isEqual && this.#made.get(section) !== false);
        }
      }
      const skipped = Math.min(cursor.rest.length, from + filled - cursor.at);
      const part = cursor.rest.subarray(skipped, skipped + out.length - filled);
      out.set(part, filled);
      filled += part.length;
      cursor.at += skipped + part.length;
      cursor.rest = cursor.rest.subarray(skipped + part.length);
    }
    if (cursor.at === section.end) {
      this.#cursors.delete(section);
      await cursor.chunks.return?.();
    }
  }

  /** Whether all bytes of the file have been streamed once. */
  get isStreamed(): boolean {
    return this.sections.every(({ streamed }) => streamed !== undefined);
  }

  /** The first byte [begin, end) range that differs from the bytes that were streamed. Makes sections that were not read. */
  async difference(): Promise<{ readonly begin: number; readonly end: number } | undefined> {
    for (const section of this.sections) {
      for (let at = section.begin; !this.#made.has(section) && at < section.end; ) {
        const length = Math.min(CHUNK_BYTES, section.end - at);
        await this.read(at, length);
        at += length;
      }
      if (this.#made.get(section) === false) return section;
    }
    return undefined;
  }

  /** Ends all streams. */
  async close(): Promise<void> {
    for (const { chunks } of this.#cursors.values()) await chunks.return?.();
    this.#cursors.clear();
  }
}

/**
 * Chunks, until the signal is aborted.
 * @throws {RangeError} `ZP_INVALID_BYTES` if they are not of the size
 * @throws {Error} `ZP_LOAD_FAILED` at the end, if the model's files have changed while they were read
 */
async function* checked(
  where: string,
  name: string,
  size: number,
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
  checkUnchanged: (where: string) => Promise<void>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let written = 0;
  for await (const chunk of chunks) {
    signal?.throwIfAborted();
    written += chunk.length;
    if (written > size) break;
    if (chunk.length > 0) yield chunk;
  }
  await checkUnchanged(where);
  if (written === size) return;
  const problem = `${JSON.stringify(name)} must have ${size} bytes, got ${written > size ? "more" : written}`;
  throw rangeError("ZP_INVALID_BYTES", where, problem);
}
