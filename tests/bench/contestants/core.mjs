// The core of a build without the package's facade, for measurements inside its heap.

/**
 * @param {(module: WebAssembly.Module) => Promise<{ bindings: any }>} instantiate  the package's function
 * @param {BufferSource} binary
 */
export async function startCore(instantiate, binary) {
  const { bindings } = await instantiate(await WebAssembly.compile(binary));
  return bindings;
}
