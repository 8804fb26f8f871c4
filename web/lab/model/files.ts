// Opens files that belong together.

import type { Library } from "../../shell/library.js";

/** Files of one model, or the address of one. */
export type Given = readonly File[] | string;

/**
 * Opens the file that names the others, or a file by its address, of which only the parts that are needed are fetched.
 * @param missing  the message for a file that is not there
 * @param used  gets the files that the model is in
 */
export function openFiles(
  zp: Library,
  given: Given,
  missing: (path: string) => string,
  used: Set<File> = new Set(),
) {
  if (typeof given === "string") return zp.openModel(ownAddress(given));
  const files = given;
  const main = mainOf(files) as File;
  used.add(main);
  return zp.openModel(main, {
    externalData: (path) => {
      const name = path.split("/").at(-1);
      const found = files.find((file) => file.name === name);
      if (!found) throw new Error(missing(path));
      used.add(found);
      return found;
    },
  });
}

/**
 * An address relative to the page.
 * @throws {Error} for another site, where the page's policy sends nothing to
 */
function ownAddress(address: string) {
  const { href, origin } = new URL(address, document.baseURI);
  if (origin === location.origin) return href;
  throw new Error(
    `this page reads nothing from other sites, such as ${origin}: download the file, then drop it here`,
  );
}

/** The file that names the others, or the first of several numbered ones. */
export function mainOf(given: Given): { name: string } {
  if (typeof given === "string")
    return { name: given.replace(/[?#].*$/s, "").replace(/^.*\//s, "") };
  const inOrder = [...given].sort((a, b) => (a.name < b.name ? -1 : 1));
  const order = [/\.index\.json$/, /^model\.json$/, /\.onnx$/, /\.(safetensors|gguf|npz|npy)$/];
  for (const pattern of order) {
    const found = inOrder.find(({ name }) => pattern.test(name));
    if (found) return found;
  }
  return given[0];
}

/** Files that are a model each. */
const isWhole = (name: string) =>
  /\.(safetensors|gguf|onnx|npz)$/i.test(name) && !/-\d+-of-\d+\.\w+$/.test(name);

/** Splits files that are two models, to be compared. */
export function splitPair(files: readonly File[]): [File[], File[] | undefined] {
  const isPair = files.length === 2 && files.every(({ name }) => isWhole(name));
  return isPair ? [[files[0]], [files[1]]] : [[...files], undefined];
}
