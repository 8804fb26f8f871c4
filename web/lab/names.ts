// Names of tensors and files, as patterns and for a shell.

/** A pattern that matches a name, and hardly another one. */
export const escapeGlob = (name: string) => name.replace(/[*?{}\\]/g, "?");

/** The name of a file without its ending. */
export const stemOf = (name: string) => name.replace(/(\.safetensors\.index)?\.[^.]*$/, "");

/** An argument of a POSIX shell. A name that begins with a hyphen would be an option. */
export function shellWord(text: string) {
  const word = text.startsWith("-") ? `./${text}` : text;
  return /^[\w./=:@+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * What a job of the lab writes: a file, or a folder for several, whose name ends with a slash.
 * @param name  of the model's file
 * @param count  of files
 */
export const outputName = (name: string, format: string, count: number) =>
  count === 1 ? `${stemOf(name)}-quantized.${format}` : `${stemOf(name)}-quantized/`;
