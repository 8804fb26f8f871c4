// Where written files go: to the place that the reader chose, or to the origin's private file system, or to memory
// where there is none, as in private windows.

import { bytesText } from "../../shell/drawing/numbers.js";

/** Takes the bytes of a file, front to back. */
interface Sink {
  write: (chunk: Uint8Array) => Promise<void>;
  finish: () => Promise<File>;
  /** Leaves nothing behind. */
  abandon: () => Promise<void>;
}

export async function sinkOf(
  file: { name: string; size: number },
  chosen: FileSystemFileHandle | undefined,
): Promise<Sink> {
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

async function streamSink(
  handle: FileSystemFileHandle,
  remove: () => Promise<void>,
): Promise<Sink> {
  const stream = await handle.createWritable();
  return {
    async write(chunk) {
      await stream.write(chunk as any);
      // Frees the chunk at once: browsers let tens of megabytes of them pile up before they collect them.
      (chunk.buffer as any).transfer?.(0);
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

function memorySink(name: string): Sink {
  /** Blobs, which browsers may move to the disk. */
  const parts: Blob[] = [];
  return {
    async write(chunk) {
      parts.push(new Blob([chunk as any]));
    },
    finish: async () => new File(parts, name),
    async abandon() {
      parts.length = 0;
    },
  };
}

async function checkRoom(size: number) {
  const { quota, usage } = await navigator.storage.estimate();
  if (quota === undefined || usage === undefined || size <= quota - usage) return;
  throw new Error(
    `the file needs ${bytesText(size)}, and the browser lets this page keep ${bytesText(quota - usage)} more`,
  );
}

/** Locks are held as long as their page lives. */
const lockOf = (folder: string) => `zeropoint-lab-${folder}`;

const own = crypto.randomUUID();
let opening: Promise<FileSystemDirectoryHandle> | undefined;

/** The folder of this page. Files of pages that are closed are removed: their download links have ended, too. */
function privateFolder() {
  opening ??= openFolder();
  return opening;
}

async function openFolder() {
  const root = await navigator.storage.getDirectory();
  const all = (await root.getDirectoryHandle("lab", { create: true })) as any;
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
  return (await all.getDirectoryHandle(own, { create: true })) as FileSystemDirectoryHandle;
}
