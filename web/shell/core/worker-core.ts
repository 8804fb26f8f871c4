// A worker's end of core.ts: asks the page for a compiled build.

/** Taken before the worker of the cells removes it. */
const post: (message: any, transfer: Transferable[]) => void = (
  globalThis as any
).postMessage?.bind(globalThis);

/**
 * For `init({ wasm: pageCore })` in a worker whose page answers messages of the type "core".
 * @param file  such as "relaxed.wasm"
 */
export function pageCore(file: string): Promise<WebAssembly.Module> {
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
