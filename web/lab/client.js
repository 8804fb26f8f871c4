// The lab's worker: calls by name, with events and cancelling.

import { scriptUrl } from "../shell/trusted.js";
import workerUrl from "./lab-worker.js?worker&url";

/**
 * @typedef {object} CallOptions
 * @property {AbortSignal} [signal]  cancels the call
 * @property {(event: any) => void} [onEvent]  called for each event before the result
 */

/**
 * Starts the worker that holds the opened model.
 * @param {(message: string) => void} onLost  called if the worker ends by itself
 */
export function startLab(onLost) {
  const worker = new Worker(scriptUrl(workerUrl), { type: "module", name: "lab" });
  /** @type {Map<number, { resolve: (value: any) => void, reject: (reason: Error) => void, onEvent?: (event: any) => void }>} */
  const calls = new Map();
  let last = 0;
  worker.addEventListener("message", ({ data: { id, event, result, error } }) => {
    const call = calls.get(id);
    if (!call) return;
    if (event !== undefined) {
      call.onEvent?.(event);
      return;
    }
    calls.delete(id);
    if (error === undefined) call.resolve(result);
    else call.reject(Object.assign(new Error(error.message), error));
  });
  worker.addEventListener("error", (event) => {
    event.preventDefault();
    const message = event.message || "it could not be loaded";
    for (const { reject } of calls.values()) reject(new Error(message));
    calls.clear();
    onLost(message);
  });

  /**
   * @param {string} name  of a function in commands.js
   * @param {unknown} argument
   * @param {CallOptions} [options]
   * @returns {Promise<any>}
   */
  function call(name, argument, { signal, onEvent } = {}) {
    const id = ++last;
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const cancel = () => {
        worker.postMessage({ id, cancel: true });
        calls.delete(id);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", cancel, { once: true });
      const settle = (/** @type {(value: any) => void} */ way) => (/** @type {any} */ value) => {
        signal?.removeEventListener("abort", cancel);
        way(value);
      };
      calls.set(id, { resolve: settle(resolve), reject: settle(reject), onEvent });
      worker.postMessage({ id, name, argument });
    });
  }

  return { call, end: () => worker.terminate() };
}
