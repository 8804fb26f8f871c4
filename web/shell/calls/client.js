// Calls of a worker's commands by name. The worker's end is serve.js.

import { answerWithCore } from "../core/core.js";
import { scriptUrl } from "../trusted.js";

/**
 * Starts a worker whose commands are called.
 * @param {string} url  of its script
 * @param {string} name
 * @param {(message: string) => void} onLost  called if the worker ends by itself
 */
export function startCalls(url, name, onLost) {
  const worker = new Worker(scriptUrl(url), { type: "module", name });
  /** @type {Map<number, { resolve: (value: any) => void, reject: (reason: Error) => void }>} */
  const calls = new Map();
  let last = 0;
  worker.addEventListener("message", ({ data }) => {
    if (data.type === "core") {
      answerWithCore(data);
      return;
    }
    const { id, result, error } = data;
    const call = calls.get(id);
    calls.delete(id);
    if (error === undefined) call?.resolve(result);
    else call?.reject(new Error(error));
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
   * @param {Transferable[]} [transfer]
   * @returns {Promise<any>}
   */
  function call(command, argument, transfer = []) {
    const id = ++last;
    return new Promise((resolve, reject) => {
      calls.set(id, { resolve, reject });
      worker.postMessage({ id, name: command, argument }, transfer);
    });
  }

  return { call, end: () => worker.terminate() };
}
