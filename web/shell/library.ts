// The library in a worker, with `zeropoint/models` and `zeropoint/torch`: one connection, which all views share.

import workerUrl from "zeropoint/models-worker.js?worker&url";
import { type Connection, connect } from "zeropoint/worker";
import { coreModule } from "./core/core.js";
import { scriptUrl } from "./trusted.js";

export type Library = Connection<"models" | "torch">;

let connecting: Promise<Library> | undefined;

/** The connection, which starts with the first call. */
export function library(): Promise<Library> {
  connecting ??= connectLibrary("library");
  connecting.catch(() => {
    connecting = undefined;
  });
  return connecting;
}

/**
 * A connection of its own. Dispose of it, which ends its worker.
 * @param name  of the worker
 */
export const connectLibrary = (name: string): Promise<Library> =>
  connect({
    entries: ["models", "torch"],
    wasm: coreModule,
    worker: () => new Worker(scriptUrl(workerUrl), { type: "module", name }) as any,
  });
