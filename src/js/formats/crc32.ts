// CRC-32, the checksum of zip.

/** Remainders for eight bytes at a time. */
const CRC = /* @__PURE__ */ (() => {
  const table = new Int32Array(2048);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    table[byte] = crc;
  }
  for (let i = 256; i < 2048; i++) table[i] = (table[i - 256] >>> 8) ^ table[table[i - 256] & 255];
  return table;
})();

/** CRC-32 of zip and zlib. @param before  the CRC of the bytes before */
export function crc32(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  let i = 0;
  const putBytes = (end: number): void => {
    for (; i < end; i++) crc = CRC[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  };
  // To the first whole word in memory; fewer bytes than two words have none.
  putBytes(bytes.length < 11 ? bytes.length : -bytes.byteOffset & 3);
  const count = (bytes.length - i) >> 2;
  const words = new Int32Array(bytes.buffer, count === 0 ? 0 : bytes.byteOffset + i, count);
  const even = words.length & ~1;
  for (let word = 0; word < even; word += 2) {
    const low = words[word] ^ crc;
    const high = words[word + 1];
    crc =
      CRC[1792 + (low & 255)] ^
      CRC[1536 + ((low >>> 8) & 255)] ^
      CRC[1280 + ((low >>> 16) & 255)] ^
      CRC[1024 + (low >>> 24)] ^
      CRC[768 + (high & 255)] ^
      CRC[512 + ((high >>> 8) & 255)] ^
      CRC[256 + ((high >>> 16) & 255)] ^
      CRC[high >>> 24];
  }
  i += 4 * even;
  putBytes(bytes.length);
  return ~crc >>> 0;
}
