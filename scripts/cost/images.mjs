// The file of images that the page searches: all 10,000 digits of digits.mjs. Gzip; inside, without padding:
//
//   digits  10000 x 784 codes of 4 bits, as pack() packs them; 10000 labels of a byte

import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { init, pack } from "zeropoint";
import { root } from "../process/run.mjs";
import { PIXELS, readDigits } from "./digits.mjs";
import { GREY } from "./file.mjs";

const file = join(root, "build", "cost", "images.bin");

/** Writes the file, unless it is newer than its sources. */
export async function makeImages() {
  const sources = [import.meta.url, new URL("digits.mjs", import.meta.url)];
  const time = Math.max(...sources.map((source) => statSync(fileURLToPath(source)).mtimeMs));
  if (existsSync(file) && statSync(file).mtimeMs > time) return;
  await init();
  const { codes, labels } = readDigits();
  const packed = pack({ ...GREY, data: codes, shape: [labels.length, PIXELS] });
  writeFileSync(file, gzipSync(Buffer.concat([packed, labels]), { level: 9 }));
}
