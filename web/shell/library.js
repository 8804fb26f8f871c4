// The library in a worker, with `zeropoint/models` and `zeropoint/torch`: one connection, which all views share.

import workerUrl from "zeropoint/models-worker.js?worker&url";
import { connect } from "zeropoint/worker";
import { coreModule } from "./core/core.js";
import { scriptUrl } from "./trusted.js";

/** @typedef {import("zeropoint/worker").Connection<"models" | "torch">} Library */

/** @type {Promise<Library> | undefined} */
let connecting;

/** The connection, which starts with the first call. @returns {Promise<Library>} */
export function library() {
  connecting ??= connect({
    entries: ["models", "torch"],
    wasm: coreModule,
    worker: () =>
      /** @type {any} */ (new Worker(scriptUrl(workerUrl), { type: "module", name: "library" })),
  });
  connecting.catch(() => {
    connecting = undefined;
  });
  return connecting;
}
