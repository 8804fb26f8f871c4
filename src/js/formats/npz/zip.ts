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

/** Remainders for four bytes at a time. */
const CRC = /* @__PURE__ */ (() => {
  const table = new Int32Array(1024);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    table[byte] = crc;
  }
  for (let i = 256; i < 1024; i++) table[i] = (table[i - 256] >>> 8) ^ table[table[i - 256] & 255];
  return table;
})();

/** CRC-32 of zip and zlib. @param before  the CRC of the bytes before */
export function crc32(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  let i = 0;
  for (; i + 4 <= bytes.length; i += 4) {
    crc ^= bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
    crc =
      CRC[768 + (crc & 255)] ^
      CRC[512 + ((crc >>> 8) & 255)] ^
      CRC[256 + ((crc >>> 16) & 255)] ^
      CRC[crc >>> 24];
  }
  for (; i < bytes.length; i++) crc = CRC[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}
