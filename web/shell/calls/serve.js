// A worker's end of client.js: runs commands by their names; { id, name, argument } in, events and one result or error out.

import { Gate } from "./gate.js";

/**
 * @typedef {object} Context
 * @property {AbortSignal} signal
 * @property {(event: any) => void} emit
 * @property {(event: any) => void} report  emits events of progress, of which a few a second are enough
 * @property {() => Promise<void>} ready  waits while the call is paused
 */

/** Milliseconds between two events of progress. */
const REPORT = 50;

/**
 * Answers the calls of the page that started this worker.
 * @param {Record<string, any>} commands  functions of an argument and a `Context`
 */
export function serveCalls(commands) {
  /** @type {Map<number, { controller: AbortController, gate: Gate }>} */
  const running = new Map();
  self.addEventListener("message", async ({ data: { id, name, argument, cancel, isPaused } }) => {
    if (cancel) {
      running.get(id)?.controller.abort();
      running.get(id)?.gate.set(false);
      return;
    }
    if (isPaused !== undefined) {
      running.get(id)?.gate.set(isPaused);
      return;
    }
    const [controller, gate] = [new AbortController(), new Gate()];
    running.set(id, { controller, gate });
    const emit = (/** @type {unknown} */ event) => postMessage({ id, event });
    let last = 0;
    const report = (/** @type {unknown} */ event) => {
      const now = performance.now();
      if (now - last < REPORT) return;
      last = now;
      emit(event);
    };
    const { signal } = controller;
    try {
      const context = { signal, emit, report, ready: () => gate.ready() };
      postMessage({ id, result: await commands[name](argument, context) });
    } catch (thrown) {
      const { message, code, offset, expected, found } = /** @type {any} */ (thrown);
      postMessage({ id, error: { message: String(message), code, offset, expected, found } });
    } finally {
      running.delete(id);
    }
  });
}
