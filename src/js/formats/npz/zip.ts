// Zip archives: signatures, methods, checksums, and streams through a compressor.
// Source: APPNOTE.TXT 6.3 (zip).

export const LOCAL = 0x04034b50;
export const CENTRAL = 0x02014b50;
export const END = 0x06054b50;
export const END64 = 0x06064b50;
export const LOCATOR64 = 0x07064b50;
export const DESCRIPTOR = 0x08074b50;
export const STORED = 0;
export const DEFLATED = 8;

/** Compressed bytes that are inflated at a time. They expand a thousand times at most. */
const PIECE_BYTES = 2 ** 14;

/** The chunks of a stream behind a compressor or decompressor, as fast as they are read. */
export async function* through(
  chunks: AsyncIterable<Uint8Array>,
  stream: CompressionStream | DecompressionStream,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = transform(chunks, stream);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(ignore);
  }
}

const ignore = (): void => {};

/** Node's module zlib, also in Deno and Bun. */
interface Zlib {
  inflateRawSync(bytes: Uint8Array, options: { readonly maxOutputLength: number }): Uint8Array;
}

/**
 * Inflates a few bytes at once: streams take longer to be made than that.
 * @param most  bytes of the result
 * @returns undefined in engines without zlib
 */
export function inflateNow(bytes: Uint8Array, most: number): Uint8Array | undefined {
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (name: string) => Zlib | undefined };
  };
  const zlib = process?.getBuiltinModule?.("node:zlib");
  return zlib?.inflateRawSync(bytes, { maxOutputLength: Math.max(1, most) });
}

/** Feeds a transform piece by piece, as fast as it is read. */
function transform(
  chunks: AsyncIterable<Uint8Array>,
  stream: CompressionStream | DecompressionStream,
): ReadableStreamDefaultReader<Uint8Array> {
  const writer = stream.writable.getWriter();
  const reader = stream.readable.getReader();
  writer.closed.catch(ignore);
  reader.closed.catch(ignore);
  const feed = async (): Promise<void> => {
    try {
      for await (const chunk of chunks) {
        for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
          await writer.ready;
          await writer.write(chunk.slice(at, at + PIECE_BYTES));
        }
      }
      await writer.close();
    } catch (error) {
      // The reader sees the same error: of the source, or of the transform itself.
      await writer.abort(error);
    }
  };
  feed().catch(ignore);
  return reader;
}
