// The file of digits and the code that reads it; loaded with the first download that needs them.

import address from "../../build/cost/digits.bin?url";
import reader from "../../scripts/cost/file.mjs?raw";
import { digitsCode } from "./digits-code.js";

/** @param library  the specifier of zeropoint */
export async function digitsOf(library: string) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the digits could not be loaded: ${response.status}`);
  return digitsCode(reader, new Uint8Array(await response.arrayBuffer()), library);
}
