// A worker's end of core.js: asks the page for a compiled build.

/** Taken before the worker of the cells removes it. @type {(message: any, transfer: Transferable[]) => void} */
const post = /** @type {any} */ (globalThis).postMessage?.bind(globalThis);

/**
 * For `init({ wasm: pageCore })` in a worker whose page answers messages of the type "core".
 * @param {string} file  such as "relaxed.wasm"
 * @returns {Promise<WebAssembly.Module>}
 */
export function pageCore(file) {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve, reject) => {
    port1.addEventListener("message", ({ data }) => {
      port1.close();
      if (data.module) resolve(data.module);
      else reject(new Error(data.reason));
    });
    port1.addEventListener("messageerror", () => reject(new Error("the core cannot be shared")));
    port1.start();
    post({ type: "core", file, port: port2 }, [port2]);
  });
}
