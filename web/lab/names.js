// Names of tensors and files, as patterns and for a shell.

/** A pattern that matches a name, and hardly another one. @param {string} name */
export const escapeGlob = (name) => name.replace(/[*?{}\\]/g, "?");

/** The name of a file without its ending. @param {string} name */
export const stemOf = (name) => name.replace(/(\.safetensors\.index)?\.[^.]*$/, "");

/**
 * An argument of a POSIX shell. A name that begins with a hyphen would be an option.
 * @param {string} text
 */
export function shellWord(text) {
  const word = text.startsWith("-") ? `./${text}` : text;
  return /^[\w./=:@+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * What a job of the lab writes: a file, or a folder for several, whose name ends with a slash.
 * @param {string} name  of the model's file
 * @param {string} format
 * @param {number} count  of files
 */
export const outputName = (name, format, count) =>
  count === 1 ? `${stemOf(name)}-quantized.${format}` : `${stemOf(name)}-quantized/`;
