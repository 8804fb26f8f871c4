// Opens files that belong together.

/**
 * Opens the file that names the others.
 * @param {import("../../shell/library.js").Library} zp
 * @param {File[]} given
 * @param {(path: string) => string} missing  the message for a file that is not there
 */
export function openFiles(zp, given, missing) {
  return zp.openModel(mainOf(given), {
    externalData: (path) => {
      const name = path.split("/").at(-1);
      const found = given.find((file) => file.name === name);
      if (!found) throw new Error(missing(path));
      return found;
    },
  });
}

/** The file that names the others, or the first of several numbered ones. @param {File[]} given */
export function mainOf(given) {
  const inOrder = [...given].sort((a, b) => (a.name < b.name ? -1 : 1));
  const order = [/\.index\.json$/, /^model\.json$/, /\.onnx$/, /\.(safetensors|gguf|npz|npy)$/];
  for (const pattern of order) {
    const found = inOrder.find(({ name }) => pattern.test(name));
    if (found) return found;
  }
  return given[0];
}
