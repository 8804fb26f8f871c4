// The module that cells import from "./digits.js": the digits and the trained network of notebook 6.

import address from "../../../build/cost/digits.bin?url";
import { type Digits, decode } from "../../../scripts/cost/file.mjs";

/** Cells have none. */
const request = globalThis.fetch?.bind(globalThis);

export async function loadDigits(): Promise<Digits> {
  const response = await request(address);
  if (!response.ok) {
    throw new Error(`the digits could not be loaded: ${response.status} ${response.statusText}`);
  }
  return decode(new Uint8Array(await response.arrayBuffer()));
}
