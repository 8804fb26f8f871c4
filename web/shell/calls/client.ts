// Calls of a worker's commands by name. The worker's end is serve.ts.

import { answerWithCore } from "../core/core.js";
import { scriptUrl } from "../trusted.js";

interface CallOptions {
  /** Buffers of the argument that go over to the worker, in place of copies. */
  transfer?: Transferable[];
  /** Ends the call with the signal's reason; the worker's command gets a signal of its own. */
  signal?: AbortSignal;
}

/**
 * Starts a worker whose commands are called.
 * @param url  of its script
 * @param name  what it computes for, in messages
 * @param onLost  called if the worker ends by itself
 */
export function startCalls(url: string, name: string, onLost: (message: string) => void) {
  const worker = new Worker(scriptUrl(url), { type: "module", name });
  const calls = new Map<
    number,
    { resolve: (value: any) => void; reject: (reason: Error) => void }
  >();
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
    else call?.reject(Object.assign(new Error(error.message), error));
  });
  worker.addEventListener("error", (event) => {
    event.preventDefault();
    const message = `The ${name}'s worker ended: ${event.message || "it could not be loaded"}`;
    for (const { reject } of calls.values()) reject(new Error(message));
    calls.clear();
    onLost(message);
  });

  function call(
    command: string,
    argument: unknown,
    { transfer = [], signal }: CallOptions = {},
  ): Promise<any> {
    const id = ++last;
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      calls.set(id, { resolve, reject });
      worker.postMessage({ id, name: command, argument }, transfer);
      signal?.addEventListener("abort", () => {
        if (!calls.delete(id)) return;
        worker.postMessage({ id });
        reject(signal.reason);
      });
    });
  }

  return { call, end: () => worker.terminate() };
}
