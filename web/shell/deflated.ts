// Bytes as text of an address: deflated, then base64 with the letters that addresses allow.

export async function deflatedText(bytes: Uint8Array) {
  const packed = await through(bytes, new CompressionStream("deflate-raw"));
  const text = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/**
 * @param most  bytes that it may hold
 * @throws {Error} if it is damaged or holds more
 */
export function inflatedBytes(text: string, most: number) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const packed = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  return through(packed, new DecompressionStream("deflate-raw"), most);
}

/** @param most  bytes; more are refused */
async function through(
  bytes: Uint8Array,
  stream: CompressionStream | DecompressionStream,
  most: number = Number.POSITIVE_INFINITY,
) {
  const writer = stream.writable.getWriter();
  const written = writer.write(bytes as any).then(() => writer.close());
  written.catch(() => {}); // reading fails with the same error
  const parts = [];
  let size = 0;
  const reader = stream.readable.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > most) {
      await reader.cancel();
      throw new RangeError(`the data is longer than ${most} bytes`);
    }
    parts.push(part.value);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
