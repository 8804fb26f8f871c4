// Texts of vectors: one for each row.

/**
 * Reads texts: a list in JSON, or lines.
 * @param {string} name  of the file
 * @param {string} content
 * @returns {string[]}
 */
export function readTexts(name, content) {
  if (!/\.json$/i.test(name)) {
    const lines = content.split(/\r?\n/);
    if (lines.at(-1) === "") lines.pop();
    return lines;
  }
  /** @type {unknown} */
  let list;
  try {
    list = JSON.parse(content);
  } catch (error) {
    throw new Error(`${name} is not JSON: ${/** @type {Error} */ (error).message}`);
  }
  if (!Array.isArray(list)) throw new Error(`${name} must be a list with a text for each vector`);
  return list.map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
}

/**
 * The first rows whose text has a part, in any case; or whose number it is.
 * @param {readonly string[]} texts
 * @param {string} part
 * @param {number} most
 */
export function rowsWith(texts, part, most) {
  const wanted = part.trim().toLowerCase();
  const found = [];
  for (let row = 0; row < texts.length && found.length < most; row++) {
    if (String(row) === wanted || texts[row].toLowerCase().includes(wanted)) found.push(row);
  }
  return found;
}
