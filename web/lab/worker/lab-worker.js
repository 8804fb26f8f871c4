// Runs the lab's commands off the page's thread: { id, name, argument } in, events and one result or error out.

import * as commands from "./commands.js";
import { Gate } from "./gate.js";

/** Milliseconds between two events of progress. */
const REPORT = 50;

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
    const command = /** @type {Record<string, Function>} */ (commands)[name];
    const context = { signal, emit, report, ready: () => gate.ready() };
    postMessage({ id, result: await command(argument, context) });
  } catch (thrown) {
    const { message, code, offset, expected, found } = /** @type {any} */ (thrown);
    postMessage({ id, error: { message: String(message), code, offset, expected, found } });
  } finally {
    running.delete(id);
  }
});
