// Modules that are downloaded when they are needed: readers and writers of single formats.

import { loadFailed } from "../core/load.js";

/**
 * Waits for a module. Bundlers make a chunk of each `import()` in the call, and its download may fail.
 * @throws {Error} `ZP_LOAD_FAILED`
 */
export async function loadModule<Exports>(
  where: string,
  loading: Promise<Exports>,
): Promise<Exports> {
  try {
    return await loading;
  } catch (cause) {
    throw loadFailed(where, "a part of zeropoint/models", cause);
  }
}
