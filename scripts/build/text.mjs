// A binary as text for a string literal: one printable character for each of the most frequent bytes, two for
// each of the others. Compressed, the text is hardly larger than the binary.

/**
 * Printable ASCII without characters that a double-quoted literal or an HTML script has to escape: all minifiers
 * choose the quotes that need the fewest escapes.
 */
export const ALPHABET = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))
  .filter((character) => !'"\\<'.includes(character))
  .join("");

/** The first PAIRS characters begin a pair; each of the others is one byte. */
const PAIRS = 2;
const SINGLES = ALPHABET.length - PAIRS;

/**
 * @param {Uint8Array} binary
 * @returns {[string, string]} the bytes that are one character, ascending, two hexadecimal digits each; and
 *   the text. Of the other bytes, ascending, number i is ALPHABET[i / length] and ALPHABET[i % length].
 */
export function toText(binary) {
  const counts = new Array(256).fill(0);
  for (const byte of binary) counts[byte]++;
  const byCount = [...counts.keys()].sort((a, b) => counts[b] - counts[a]);
  const singles = byCount.slice(0, SINGLES).sort((a, b) => a - b);
  const others = byCount.slice(SINGLES).sort((a, b) => a - b);
  const codes = [];
  for (const [i, byte] of singles.entries()) codes[byte] = ALPHABET[PAIRS + i];
  for (const [i, byte] of others.entries()) {
    codes[byte] = ALPHABET[Math.floor(i / ALPHABET.length)] + ALPHABET[i % ALPHABET.length];
  }
  return [Buffer.from(singles).toString("hex"), Array.from(binary, (byte) => codes[byte]).join("")];
}
