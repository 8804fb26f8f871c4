// A worker's end of client.ts: runs commands by their names. A call { id, name, argument } is answered by its result
// or error; { id } alone ends it.

/** The buffers that go over with a result, in place of copies. */
const moved = new WeakMap<object, Transferable[]>();

/** Marks a result whose buffers go over to the page, and are empty in the worker from then on. */
export function moving<Result extends object>(result: Result, buffers: Transferable[]): Result {
  moved.set(result, buffers);
  return result;
}

/** Answers the calls of the page that started this worker. A command's signal says that its result is not wanted. */
export function serveCalls(
  commands: Record<string, (argument: any, signal: AbortSignal) => unknown>,
) {
  const running = new Map<number, AbortController>();
  self.addEventListener("message", async ({ data: { id, name, argument } }) => {
    if (name === undefined) {
      running.get(id)?.abort();
      return;
    }
    const controller = new AbortController();
    running.set(id, controller);
    try {
      const result = await commands[name](argument, controller.signal);
      const transfer = moved.get(Object(result)) ?? [];
      postMessage({ id, result }, { transfer });
    } catch (error) {
      // Fields by name: others may be of a kind that no message has, and the call would never be answered.
      const { name, message, line, column } = error as Error & { line?: number; column?: number };
      postMessage({ id, error: { name, message: String(message), line, column } });
    } finally {
      running.delete(id);
    }
  });
}
