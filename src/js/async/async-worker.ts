// The worker of the asynchronous functions: performs tasks, one after the other, on a core of its own.

import type { Binary, Core } from "../core.js";
import { errorData, Performer, type Task, transferOf } from "./tasks.js";
import { startHere } from "./worker-core.js";

/** What the worker is told. */
type Message = { readonly start: Binary } | { readonly id: number; readonly task: Task };

interface Port {
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  addEventListener(type: "message", listener: (event: { data: Message }) => void): void;
  start?(): void;
}

const scope = globalThis as unknown as Port & {
  process?: { getBuiltinModule?: (name: string) => { readonly parentPort: Port | null } };
};
const port = scope.process?.getBuiltinModule?.("node:worker_threads").parentPort ?? scope;
const performer = new Performer();
let core: Promise<Core> | undefined;

port.addEventListener("message", async ({ data }) => {
  if ("start" in data) {
    core = startHere(data.start);
    core.then(
      () => port.postMessage({ ready: true }),
      (error) => port.postMessage({ failed: errorData(error).message }),
    );
    return;
  }
  const { id, task } = data;
  const own = (await core) as Core;
  // What was copied here goes back, to be filled again.
  const spare = transferOf(task);
  try {
    const outcome = performer.perform(own, task);
    const results = transferOf({ ...outcome, ...outcome.chosen });
    port.postMessage({ id, spare, outcome }, [...spare, ...results]);
  } catch (error) {
    port.postMessage({ id, spare, error: errorData(error) }, spare);
  }
});
port.start?.();
