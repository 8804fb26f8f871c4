// The core of a build without the package around it, for what happens inside its heap.

/**
 * @param {(options: object) => Promise<any>} start  what dist/core/<build>.js exports
 * @param {BufferSource} [binary]  its WebAssembly, where that is a file of its own
 */
export function startCore(start, binary) {
  if (binary === undefined) return start({});
  return new Promise((resolve, reject) => {
    const instantiateWasm = (imports, receive) => {
      WebAssembly.instantiate(binary, imports).then(
        ({ instance }) => receive(instance),
        (error) => reject(error),
      );
      return {};
    };
    start({ instantiateWasm }).then(resolve, reject);
  });
}
