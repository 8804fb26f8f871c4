// Output files as streams: progress, signal, and a check of their size.

import { rangeError } from "../../base/errors.js";
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
  parts: FileParts,
  progress: Progress,
  signal: AbortSignal | undefined,
): OutputFile {
  const { name, size, inputBytes } = parts;
  progress.add(name, inputBytes);
  const stream = (): ReadableStream<Uint8Array> => {
    signal?.throwIfAborted();
    progress.restart(name);
    const advance = (bytes: number, tensor: string): void => progress.advance(name, bytes, tensor);
    return streamOf(checked(where, parts, parts.chunks(advance), signal));
  };
  const file = { name, size, stream };
  const whole = { begin: 0, end: size, chunks: () => parts.chunks(() => {}) };
  SECTIONS.set(file, parts.sections ?? [whole]);
  return file;
}

/** The sections of output files. */
const SECTIONS = /* @__PURE__ */ new WeakMap<OutputFile, readonly Section[]>();

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
}

/** Random access to an output file. */
export class OutputReader {
  readonly #cursors = new Map<Section, Cursor>();

  constructor(
    readonly where: string,
    readonly size: number,
    readonly sections: readonly Section[],
  ) {}

  /** Bytes [offset, offset + length). */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    const end = offset + length;
    for (const section of this.sections) {
      const from = Math.max(offset, section.begin);
      const to = Math.min(end, section.end);
      if (from < to) await this.#fill(section, from, bytes.subarray(from - offset, to - offset));
    }
    return bytes;
  }

  async #fill(section: Section, from: number, out: Uint8Array): Promise<void> {
    let cursor = this.#cursors.get(section);
    if (cursor === undefined || cursor.at > from) {
      await cursor?.chunks.return?.();
      const chunks = section.chunks()[Symbol.asyncIterator]();
      cursor = { chunks, at: section.begin, rest: new Uint8Array(0) };
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

  /** Ends all streams. */
  async close(): Promise<void> {
    for (const { chunks } of this.#cursors.values()) await chunks.return?.();
    this.#cursors.clear();
  }
}

/** Chunks, until the signal is aborted. @throws {RangeError} `ZP_INVALID_BYTES` if they are not of the file's size */
async function* checked(
  where: string,
  { name, size }: FileParts,
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  let written = 0;
  for await (const chunk of chunks) {
    signal?.throwIfAborted();
    written += chunk.length;
    if (written > size) break;
    if (chunk.length > 0) yield chunk;
  }
  if (written === size) return;
  const problem = `${JSON.stringify(name)} must have ${size} bytes, got ${written > size ? "more" : written}`;
  throw rangeError("ZP_INVALID_BYTES", where, problem);
}

/** A stream that asks for a chunk when its reader does. */
function streamOf(chunks: AsyncGenerator<Uint8Array, void, undefined>): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return();
      },
    },
    { highWaterMark: 0 },
  );
}
