// Ranges of the file at an address: whether an answer has the bytes that were asked for, and no more of them.

/** What an answer of status 206 says that it has. */
export interface ContentRange {
  /** Offset of the first byte. */
  readonly from: number;
  /** Bytes. */
  readonly length: number;
  /** Bytes of the whole file; undefined if the server does not know. */
  readonly total: number | undefined;
}

/** @returns undefined if the answer does not say it, or is not one range of a file */
export function contentRange({ status, headers }: Response): ContentRange | undefined {
  if (status !== 206) return undefined;
  const text = headers.get("content-range") ?? "";
  const found = /^bytes (\d+)-(\d+)\/(\d+|\*)$/i.exec(text.trim());
  if (found === null) return undefined;
  const [from, to] = [Number(found[1]), Number(found[2])];
  const total = found[3] === "*" ? undefined : Number(found[3]);
  const end = total ?? Number.MAX_SAFE_INTEGER;
  if (!Number.isSafeInteger(end) || from > to || to >= end) return undefined;
  return { from, length: to - from + 1, total };
}

/**
 * The body of an answer, decompressed, as far as it was asked for.
 * @returns the bytes; how many there were, if fewer came; undefined if more did, of which no more than a chunk is read
 */
export async function bodyOfLength(
  body: AsyncIterable<Uint8Array>,
  length: number,
): Promise<Uint8Array | number | undefined> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  for await (const chunk of body) {
    if (chunk.length > length - filled) return undefined;
    bytes.set(chunk, filled);
    filled += chunk.length;
  }
  return filled === length ? bytes : filled;
}
