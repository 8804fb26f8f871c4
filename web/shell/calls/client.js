// Calls of a worker's commands by name, with events, pauses and cancelling. The worker's end is serve.js.

import { answerWithCore } from "../core/core.js";
import { scriptUrl } from "../trusted.js";

/**
 * @typedef {object} CallOptions
 * @property {AbortSignal} [signal]  cancels the call
 * @property {Pause} [pause]  halts the call while it is paused
 * @property {(event: any) => void} [onEvent]  called for each event before the result
 */

/** Whether calls are paused; `change` follows each change. */
export class Pause extends EventTarget {
  #isPaused = false;

  get isPaused() {
    return this.#isPaused;
  }

  /** @param {boolean} isPaused */
  set isPaused(isPaused) {
    this.#isPaused = isPaused;
    this.dispatchEvent(new Event("change"));
  }
}

/**
 * Starts a worker whose commands are called.
 * @param {string} url  of its script
 * @param {string} name
 * @param {(message: string) => void} onLost  called if the worker ends by itself
 */
export function startCalls(url, name, onLost) {
  const worker = new Worker(scriptUrl(url), { type: "module", name });
  /** @type {Map<number, { resolve: (value: any) => void, reject: (reason: Error) => void, onEvent?: (event: any) => void }>} */
  const calls = new Map();
  let last = 0;
  worker.addEventListener("message", ({ data }) => {
    if (data.type === "core") {
      answerWithCore(data);
      return;
    }
    const { id, event, result, error } = data;
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
   * @param {string} command
   * @param {unknown} argument
   * @param {CallOptions} [options]
   * @returns {Promise<any>}
   */
  function call(command, argument, { signal, pause, onEvent } = {}) {
    const id = ++last;
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const cancel = () => {
        worker.postMessage({ id, cancel: true });
        calls.get(id)?.reject(/** @type {AbortSignal} */ (signal).reason);
        calls.delete(id);
      };
      const halt = () => worker.postMessage({ id, isPaused: pause?.isPaused });
      signal?.addEventListener("abort", cancel, { once: true });
      pause?.addEventListener("change", halt);
      const settle = (/** @type {(value: any) => void} */ way) => (/** @type {any} */ value) => {
        signal?.removeEventListener("abort", cancel);
        pause?.removeEventListener("change", halt);
        way(value);
      };
      calls.set(id, { resolve: settle(resolve), reject: settle(reject), onEvent });
      worker.postMessage({ id, name: command, argument });
    });
  }

  return { call, end: () => worker.terminate() };
}
