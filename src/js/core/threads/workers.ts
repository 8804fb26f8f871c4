// Module workers, as browsers and Node make them.

/** Seconds after which a worker without an answer counts as failed. */
export const START_LIMIT = 10;

/**
 * Calls a function once this thread has been free for some seconds. A thread that was blocked for longer
 * finds its timers due and the worker's answer behind them: a blocked second does not count.
 * @returns a function that stops the countdown
 */
export function afterFreeSeconds(seconds: number, late: () => void): () => void {
  let left = seconds;
  // Each second is counted from the end of the one before, however long the thread was blocked.
  const tick = (): void => {
    if (--left === 0) late();
    else timer = setTimeout(tick, 1000);
  };
  let timer = setTimeout(tick, 1000);
  return () => clearTimeout(timer);
}

/** The interface of workers in browsers and Node. */
export interface AnyWorker {
  postMessage(message: unknown, transfer: readonly ArrayBuffer[]): void;
  terminate(): unknown;
  /** Node's alone: a worker that is not referenced does not keep the process alive. */
  ref?(): void;
  unref?(): void;
  addEventListener?(type: string, listener: (event: unknown) => void): void;
  on?(type: string, listener: (event: unknown) => void): void;
}

/** A constructor of workers. */
type WorkerConstructor = new (address: URL, options?: WorkerSettings) => AnyWorker;

/** Options of a worker; `execArgv` is for Node only. */
interface WorkerSettings {
  readonly type: "module";
  readonly execArgv?: readonly string[];
}

interface NodeProcess {
  readonly versions?: { readonly node?: string };
  readonly type?: string;
  getBuiltinModule?(name: string): { readonly Worker: WorkerConstructor } | undefined;
}

/** Node's worker, also in engines with Node's modules. */
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

/** The browser's worker, with a Trusted Types policy, which a page may require. */
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
 * The constructor of workers on this platform. Callers must name it `Worker` and write
 * `new Worker(new URL("./name.js", import.meta.url), { type: "module" })`, the pattern that bundlers
 * detect.
 */
export function workerConstructor(): WorkerConstructor | undefined {
  return nodeWorker() ?? webWorker();
}

/** Listens to a worker. */
export function listen(worker: AnyWorker, type: string, listener: (event: unknown) => void): void {
  if (worker.on) worker.on(type, listener);
  else worker.addEventListener?.(type, listener);
}

/** Listens for events that end a worker early. @param lose  called with the reason */
export function listenForEnd(worker: AnyWorker, lose: (why: string) => void): void {
  for (const type of ["error", "messageerror"]) {
    listen(worker, type, (event) => {
      (event as Partial<Event>).preventDefault?.();
      lose(messageOf(event));
    });
  }
  if (worker.on) listen(worker, "exit", (code) => lose(`it ended with ${code}`));
}

/** The message of a browser's error event or of a Node error. */
function messageOf(event: unknown): string {
  const { message } = event as { message?: unknown };
  return typeof message === "string" && message !== "" ? message : "its script did not load";
}
