// The work of a connection's worker: starts the library and runs calls from messages.

import type { WasmModule } from "../base/platform.js";
import { describe, Server } from "./library/server.js";
import { createInstance, type FurtherEntries } from "./library/zeropoint.js";
import { errorData, errorOf, type Reply, type Request } from "./messages/messages.js";

interface Port {
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  addEventListener(type: "message", listener: (event: { data: Request }) => void): void;
  start?(): void;
}

const scope = globalThis as unknown as Port & {
  process?: { getBuiltinModule?: (name: string) => { readonly parentPort: Port | null } };
};
const port = scope.process?.getBuiltinModule?.("node:worker_threads").parentPort ?? scope;
const post = (reply: Reply, transfer: readonly ArrayBuffer[] = []): void =>
  port.postMessage(reply, transfer);

type File = Extract<Request, { kind: "file" }>;

let server: Server | undefined;
const requested: ((file: File) => void)[] = [];

/** A file of the core, from the thread that started this one. */
async function requestFile(file: string): Promise<ArrayBuffer | WasmModule> {
  const { bytes, error } = await new Promise<File>((resolve) => {
    post({ kind: "need", request: requested.push(resolve) - 1, file });
  });
  if (bytes === undefined) throw errorOf(error as NonNullable<typeof error>);
  return bytes;
}

/**
 * Takes the messages of the thread that started this worker.
 * @param further  the entries that the script has in addition to those of every script
 */
export function serve(further: FurtherEntries): void {
  const start = async (request: Extract<Request, { kind: "start" }>): Promise<void> => {
    const { build, threads, module, entries } = request;
    try {
      const options = { build, threads, wasm: module ?? requestFile };
      const zp = await createInstance(undefined, options, further);
      server = new Server(zp, post, true);
      post({ kind: "ready", ...describe(zp, entries, further) });
    } catch (error) {
      post({ kind: "failed", error: errorData(error) });
    }
  };
  port.addEventListener("message", ({ data }) => {
    // Pages and development servers may send messages of their own.
    if (data?.kind === "start") start(data);
    else if (data?.kind === "file") requested[data.request]?.(data);
    else server?.receive(data);
  });
  port.start?.();
  post({ kind: "loaded" });
}
