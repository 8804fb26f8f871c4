// Runs the lab's commands off the page's thread: { id, name, argument } in, events and one result or error out.

import * as commands from "./commands.js";

/** @type {Map<number, AbortController>} */
const running = new Map();

self.addEventListener("message", async ({ data: { id, name, argument, cancel } }) => {
  if (cancel) {
    running.get(id)?.abort();
    return;
  }
  const controller = new AbortController();
  running.set(id, controller);
  const emit = (/** @type {unknown} */ event) => postMessage({ id, event });
  try {
    const command = /** @type {Record<string, Function>} */ (commands)[name];
    postMessage({ id, result: await command(argument, { signal: controller.signal, emit }) });
  } catch (thrown) {
    const { message, code, offset, expected, found } = /** @type {any} */ (thrown);
    postMessage({ id, error: { message: String(message), code, offset, expected, found } });
  } finally {
    running.delete(id);
  }
});
