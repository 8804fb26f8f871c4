// A worker's end of client.js: runs commands by their names; { id, name, argument } in, a result or an error out.

/**
 * Answers the calls of the page that started this worker.
 * @param {Record<string, (argument: any) => unknown>} commands
 */
export function serveCalls(commands) {
  self.addEventListener("message", async ({ data: { id, name, argument } }) => {
    try {
      postMessage({ id, result: await commands[name](argument) });
    } catch (error) {
      postMessage({ id, error: String(/** @type {Error} */ (error).message) });
    }
  });
}
