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

/** Names of the files that a model is opened by, those that name others first. */
const MAIN = [/\.index\.json$/, /^model\.json$/, /\.onnx$/, /\.(safetensors|gguf|npz|npy)$/];

/** The file that names the others, or the first of several numbered ones. */
export function mainOf(given: Given): { name: string } {
  if (typeof given === "string")
    return { name: given.replace(/[?#].*$/s, "").replace(/^.*\//s, "") };
  const inOrder = [...given].sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const pattern of MAIN) {
    const found = inOrder.find(({ name }) => pattern.test(name));
    if (found) return found;
  }
  return given[0];
}

/** One of several files of safetensors: the name of the model, the file's number and how many there are. */
const SHARD = /^(.*)-(\d{1,5})-of-(\d{1,5})\.safetensors$/i;

const nameOfShard = (model: string, number: number, [, , own, count]: RegExpExecArray) =>
  `${model}-${String(number).padStart(own.length, "0")}-of-${count}.safetensors`;

/** What a model lacks that was opened by one of its files; empty for a whole one. */
export function missingText(given: Given) {
  const { name } = mainOf(given);
  const found = SHARD.exec(name);
  if (!found || Number(found[3]) < 2) return "";
  const [, model, number, count] = found;
  const names = Array.from({ length: Number(count) }, (_, i) => nameOfShard(model, i + 1, found));
  const there = new Set(typeof given === "string" ? [name] : given.map((file) => file.name));
  const missing = [...names, `${model}.safetensors.index.json`].filter((each) => !there.has(each));
  const list = missing.length > 4 ? [...missing.slice(0, 2), "…", ...missing.slice(-1)] : missing;
  return `File ${Number(number)} of ${Number(count)} of a model, opened alone. Missing: ${list.join(", ")}. Open all files together, or drop their folder.`;
}

/**
 * Files of which each is another model, or a part of one without its index.
 * @param used  the files of the opened model
 */
export function othersIn(given: Given, used: ReadonlySet<File>): File[] {
  if (typeof given === "string") return [];
  const hasIndex = given.some(({ name }) => /\.index\.json$/.test(name));
  const isPart = ({ name }: File) =>
    (hasIndex && SHARD.test(name)) || /-(?!0*1-of)\d+-of-\d+\.gguf$/i.test(name);
  const isMain = ({ name }: File) => MAIN.some((pattern) => pattern.test(name));
  return given.filter((file) => !used.has(file) && isMain(file) && !isPart(file));
}

/** The files without those of the opened model and of the others, but for the chosen one. */
export function filesOf(given: readonly File[], used: ReadonlySet<File>, chosen: File): File[] {
  const others = new Set(othersIn(given, used));
  return given.filter((file) => file === chosen || !(used.has(file) || others.has(file)));
}

/** Files that are a model each. */
const isWhole = (name: string) =>
  /\.(safetensors|gguf|onnx|npz)$/i.test(name) && !/-\d+-of-\d+\.\w+$/.test(name);

/** Splits files that are two models, to be compared. */
export function splitPair(files: readonly File[]): [File[], File[] | undefined] {
  const isPair = files.length === 2 && files.every(({ name }) => isWhole(name));
  return isPair ? [[files[0]], [files[1]]] : [[...files], undefined];
}
