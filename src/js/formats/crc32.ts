// CRC-32, the checksum of zip, and of output files that are made twice.

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
