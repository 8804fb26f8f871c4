// The compiled core, which the page and its workers share: fetched once and compiled once.

import { messageOf } from "../message-of.js";

/** The addresses of the builds that exist. */
const ADDRESSES: Record<string, string> = Object.fromEntries(
  Object.entries(
    import.meta.glob("../../../dist/wasm/*.wasm", {
      query: "?url",
      import: "default",
      eager: true,
    }),
  ).map(([path, address]) => [path.slice(path.lastIndexOf("/") + 1), String(address)]),
);

const modules = new Map<string, Promise<WebAssembly.Module>>();

/**
 * A build of the core, for `init({ wasm: coreModule })`.
 * @param file  such as "relaxed.wasm"
 */
export function coreModule(file: string) {
  const found = modules.get(file);
  if (found) return found;
  const compiling = compile(file);
  modules.set(file, compiling);
  compiling.catch(() => modules.delete(file));
  return compiling;
}

async function compile(file: string) {
  if (!Object.hasOwn(ADDRESSES, file)) throw new Error(`the page has no ${file}`);
  const response = await fetch(ADDRESSES[file]);
  if (!response.ok) throw new Error(`${response.url} answers ${response.status}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** Answers a worker's request for a build, see worker-core.ts. */
export async function answerWithCore({ file, port }: { file: string; port: MessagePort }) {
  try {
    port.postMessage({ module: await coreModule(file) });
  } catch (error) {
    port.postMessage({ reason: messageOf(error) });
  }
}
