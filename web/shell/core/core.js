// The compiled core, which the page and its workers share: fetched once and compiled once.

import { keepFiles } from "../offline/offline.js";

/** The addresses of the builds that exist. @type {Record<string, string>} */
const ADDRESSES = Object.fromEntries(
  Object.entries(
    import.meta.glob("../../../dist/wasm/*.wasm", {
      query: "?url",
      import: "default",
      eager: true,
    }),
  ).map(([path, address]) => [path.slice(path.lastIndexOf("/") + 1), String(address)]),
);

/** @type {Map<string, Promise<WebAssembly.Module>>} */
const modules = new Map();

/**
 * A build of the core, for `init({ wasm: coreModule })`.
 * @param {string} file  such as "relaxed.wasm"
 */
export function coreModule(file) {
  const found = modules.get(file);
  if (found) return found;
  const compiling = compile(file);
  modules.set(file, compiling);
  compiling.catch(() => modules.delete(file));
  return compiling;
}

/** @param {string} file */
async function compile(file) {
  if (!Object.hasOwn(ADDRESSES, file)) throw new Error(`the page has no ${file}`);
  const response = await fetch(ADDRESSES[file]);
  if (!response.ok) throw new Error(`${response.url} answers ${response.status}`);
  keepFiles([response.url]);
  return WebAssembly.compile(await response.arrayBuffer());
}

/**
 * Answers a worker's request for a build, see worker-core.js.
 * @param {{ file: string, port: MessagePort }} request
 */
export async function answerWithCore({ file, port }) {
  try {
    port.postMessage({ module: await coreModule(file) });
  } catch (error) {
    port.postMessage({ reason: /** @type {Error} */ (error).message });
  }
}
