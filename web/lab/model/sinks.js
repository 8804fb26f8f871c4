// Where written files go: to the place that the reader chose, or to the origin's private file system, or to memory
// where there is none, as in private windows.

import { bytesText } from "../../shell/drawing/numbers.js";

/**
 * @typedef {object} Sink  takes the bytes of a file, front to back
 * @property {(chunk: Uint8Array) => Promise<void>} write
 * @property {() => Promise<File>} finish
 * @property {() => Promise<void>} abandon  leaves nothing behind
 */

/**
 * @param {{ name: string, size: number }} file
 * @param {FileSystemFileHandle | undefined} chosen
 * @returns {Promise<Sink>}
 */
export async function sinkOf(file, chosen) {
  if (chosen) return streamSink(chosen, async () => {});
  const folder = await privateFolder().catch(() => undefined);
  if (!folder || !("createWritable" in FileSystemFileHandle.prototype))
    return memorySink(file.name);
  await checkRoom(file.size);
  // Entries of folders may not have every name that a file has.
  const name = encodeURIComponent(file.name);
  const handle = await folder.getFileHandle(name, { create: true });
  const sink = await streamSink(handle, () => folder.removeEntry(name));
  return { ...sink, finish: async () => new File([await sink.finish()], file.name) };
}

/**
 * @param {FileSystemFileHandle} handle
 * @param {() => Promise<void>} remove
 * @returns {Promise<Sink>}
 */
async function streamSink(handle, remove) {
  const stream = await handle.createWritable();
  return {
    async write(chunk) {
      await stream.write(/** @type {any} */ (chunk));
      // Frees the chunk at once: browsers let tens of megabytes of them pile up before they collect them.
      /** @type {any} */ (chunk.buffer).transfer?.(0);
    },
    async finish() {
      await stream.close();
      return await handle.getFile();
    },
    async abandon() {
      await stream.abort();
      await remove();
    },
  };
}

/** @param {string} name @returns {Sink} */
function memorySink(name) {
  /** Blobs, which browsers may move to the disk. @type {Blob[]} */
  const parts = [];
  return {
    async write(chunk) {
      parts.push(new Blob([/** @type {any} */ (chunk)]));
    },
    finish: async () => new File(parts, name),
    async abandon() {
      parts.length = 0;
    },
  };
}

/** @param {number} size */
async function checkRoom(size) {
  const { quota, usage } = await navigator.storage.estimate();
  if (quota === undefined || usage === undefined || size <= quota - usage) return;
  throw new Error(
    `the file needs ${bytesText(size)}, and the browser lets this page keep ${bytesText(quota - usage)} more`,
  );
}

/** Locks are held as long as their page lives. @param {string} folder */
const lockOf = (folder) => `zeropoint-lab-${folder}`;

const own = crypto.randomUUID();
/** @type {Promise<FileSystemDirectoryHandle> | undefined} */
let opening;

/** The folder of this page. Files of pages that are closed are removed: their download links have ended, too. */
function privateFolder() {
  opening ??= openFolder();
  return opening;
}

async function openFolder() {
  const root = await navigator.storage.getDirectory();
  const all = /** @type {any} */ (await root.getDirectoryHandle("lab", { create: true }));
  await new Promise((held) =>
    navigator.locks.request(lockOf(own), () => {
      held(undefined);
      return new Promise(() => {});
    }),
  );
  const { held = [] } = await navigator.locks.query();
  const living = new Set(held.map(({ name }) => name));
  const names = [];
  for await (const name of all.keys()) names.push(name);
  for (const name of names) {
    if (!living.has(lockOf(name))) await all.removeEntry(name, { recursive: true }).catch(() => {});
  }
  return /** @type {FileSystemDirectoryHandle} */ (
    await all.getDirectoryHandle(own, { create: true })
  );
}
