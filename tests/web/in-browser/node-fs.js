// Replaces the parts of node:fs that the tests use: reads files of the repository by their addresses. Other
// functions of node:fs throw NodeOnly.

/**
 * @param {URL} address
 * @param {string} type  MIME type that overrides the response's
 */
function get(address, type) {
  const request = new XMLHttpRequest();
  request.open("GET", address.href, false);
  request.overrideMimeType(type);
  request.send();
  if (request.status !== 200) throw new Error(`${address.href}: ${request.status}`);
  return request.responseText;
}

/** @param {URL} address @param {"utf8"} [encoding] */
export function readFileSync(address, encoding) {
  if (encoding === "utf8") return get(address, "text/plain; charset=utf-8");
  // This charset keeps each byte in the low 8 bits of a character.
  const text = get(address, "text/plain; charset=x-user-defined");
  return Uint8Array.from(text, (character) => character.charCodeAt(0) & 0xff);
}

/** The files in a folder and its subfolders. @param {URL} address */
export function readdirSync(address) {
  const list = new URL(`/list${address.pathname}`, address);
  return JSON.parse(get(list, "application/json"));
}
