// Replaces the parts of node:fs/promises that the tests use: reads files of the repository by their addresses.

/** @param {URL} address @param {"utf8"} [encoding] */
export async function readFile(address, encoding) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address.href}: ${response.status}`);
  return encoding === "utf8" ? response.text() : new Uint8Array(await response.arrayBuffer());
}
