// The library on the calling thread, for connections without a worker; loaded when it is needed.

import { embedded } from "../core/embedded.js";
import type { InitOptions } from "../core/init.js";
import { describe, Server } from "./library/server.js";
import { createInstance } from "./library/zeropoint.js";
import type { Library, Post, Reply, Request } from "./messages/messages.js";
import { pause } from "./turns.js";
import type { EntryName } from "./types.js";

/** An instance of the library on this thread that takes messages. */
export async function startHere(
  options: InitOptions,
  entries: readonly EntryName[],
  receive: Post<Reply>,
): Promise<{ readonly library: Library; send(request: Request): void; end(): void }> {
  const further = entries.includes("models") ? { models: await import("./library/models.js") } : {};
  const zp = await createInstance(embedded, options, further);
  const server = new Server(zp, receive, false);
  return {
    library: describe(zp, entries, further),
    // Not within the caller's own turn, as with a worker.
    send: (request) => void pause().then(() => server.receive(request)),
    end: () => zp.dispose(),
  };
}
