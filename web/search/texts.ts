// Texts of vectors: one for each row.

import { messageOf } from "../shell/message-of.js";

/**
 * Reads texts: a list in JSON, or lines.
 * @param name  of the file
 */
export function readTexts(name: string, content: string): string[] {
  if (!/\.json$/i.test(name)) {
    const lines = content.split(/\r?\n/);
    if (lines.at(-1) === "") lines.pop();
    return lines;
  }
  let list: unknown;
  try {
    list = JSON.parse(content);
  } catch (error) {
    throw new Error(`${name} is not JSON: ${messageOf(error)}`);
  }
  if (!Array.isArray(list)) throw new Error(`${name} must be a list with a text for each vector`);
  return list.map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
}

/** The first rows whose text has a part, in any case; or whose number it is. */
export function rowsWith(texts: readonly string[], part: string, most: number) {
  const wanted = part.trim().toLowerCase();
  const found = [];
  for (let row = 0; row < texts.length && found.length < most; row++) {
    if (String(row) === wanted || texts[row].toLowerCase().includes(wanted)) found.push(row);
  }
  return found;
}
