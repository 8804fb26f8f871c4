// Module workers, as browsers and Node make them.

/** A worker that has not answered after so many milliseconds never will. */
export const START_LIMIT = 10_000;

/** A worker as browsers and Node both have it. */
export interface AnyWorker {
  postMessage(message: unknown, transfer: readonly ArrayBuffer[]): void;
  terminate(): unknown;
  /** Node's alone: a worker that is not referenced does not keep the process alive. */
  ref?(): void;
  unref?(): void;
  addEventListener?(type: string, listener: (event: unknown) => void): void;
  on?(type: string, listener: (event: unknown) => void): void;
}

/** What makes workers. */
export type WorkerConstructor = new (address: URL, options?: WorkerSettings) => AnyWorker;

/** How a worker is made; Node alone knows `execArgv`. */
interface WorkerSettings {
  readonly type: "module";
  readonly execArgv?: readonly string[];
}

interface NodeProcess {
  readonly versions?: { readonly node?: string };
  readonly type?: string;
  getBuiltinModule?(name: string): { readonly Worker: WorkerConstructor } | undefined;
}

/** Node's worker, and that of all who have Node's. */
function nodeWorker(): WorkerConstructor | undefined {
  const { process } = globalThis as { process?: NodeProcess };
  // Electron's pages have Node's modules and the browser's workers.
  if (process?.versions?.node === undefined || process.type === "renderer") return undefined;
  return process.getBuiltinModule?.("node:worker_threads")?.Worker;
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(address: string): string },
  ): { createScriptURL(address: string): URL };
}

let policy: ReturnType<TrustedTypes["createPolicy"]> | undefined;

/** The browser's worker, through a policy where a page may demand one. */
function webWorker(): WorkerConstructor | undefined {
  const { Worker, trustedTypes } = globalThis as {
    Worker?: WorkerConstructor;
    trustedTypes?: TrustedTypes;
  };
  if (Worker === undefined || trustedTypes === undefined) return Worker;
  const Native = Worker;
  policy ??= trustedTypes.createPolicy("zeropoint", { createScriptURL: (address) => address });
  const trusted = policy;
  return class {
    constructor(address: URL, options?: WorkerSettings) {
      // biome-ignore lint/correctness/noConstructorReturn: stands for the constructor it calls
      return new Native(trusted.createScriptURL(address.href), options);
    }
  } as WorkerConstructor;
}

/**
 * The constructor of workers here. Whoever uses it calls it `Worker` and writes
 * `new Worker(new URL("./name.js", import.meta.url), { type: "module" })`, which is what bundlers
 * look for.
 */
export function workerConstructor(): WorkerConstructor | undefined {
  return nodeWorker() ?? webWorker();
}

/** Listens to a worker. */
export function listen(worker: AnyWorker, type: string, listener: (event: unknown) => void): void {
  if (worker.on) worker.on(type, listener);
  else worker.addEventListener?.(type, listener);
}

/** Listens for what ends a worker before its time. @param lose  is told why */
export function listenForEnd(worker: AnyWorker, lose: (why: string) => void): void {
  for (const type of ["error", "messageerror"]) {
    listen(worker, type, (event) => {
      (event as Partial<Event>).preventDefault?.();
      lose(messageOf(event));
    });
  }
  if (worker.on) listen(worker, "exit", (code) => lose(`it ended with ${code}`));
}

/** What an error event of a browser or an error of Node's says. */
function messageOf(event: unknown): string {
  const { message } = event as { message?: unknown };
  return typeof message === "string" && message !== "" ? message : "its script did not load";
}
