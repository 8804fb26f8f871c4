// Stands in for what our tests read with node:fs: files of the repository, by their addresses. What
// else node:fs has is Node's alone.

/**
 * @param {URL} address
 * @param {string} type  what to take the answer for
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
  // A text whose characters end in the bytes.
  const text = get(address, "text/plain; charset=x-user-defined");
  return Uint8Array.from(text, (character) => character.charCodeAt(0) & 0xff);
}

/** The files in a folder and in those below it. @param {URL} address */
export function readdirSync(address) {
  const list = new URL(`/list${address.pathname}`, address);
  return JSON.parse(get(list, "application/json"));
}
