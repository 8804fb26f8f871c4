// Asks the playground's worker for what the page shows. The newest request supersedes those before it.

import { startCalls } from "../shell/calls/client.js";
import { keepFiles } from "../shell/offline/offline.js";
import type { Problem } from "./data/data-panel.js";
import type { Asked, Settings } from "./state.js";
import type { Counts } from "./views/histogram.js";
import type { Evaluation } from "./worker/evaluate.js";
import type { Curves, SchemeRow } from "./worker/sweeps.js";
import type { Abilities } from "./worker/worker.js";
import workerUrl from "./worker/worker.js?worker&url";

/** source: none to keep the data; other: to compare with. */
interface Request {
  source: Asked | undefined;
  settings: Settings;
  other: Settings | undefined;
}

export interface Data {
  values: Float32Array;
  shape: number[];
  histogram: Counts;
}

/** What settings make of the data. */
export interface Shown {
  settings: Settings;
  evaluation: Evaluation;
  /** Values minus restored values. */
  error: Float32Array;
}

interface Handlers {
  ready(abilities: Abilities): void;
  data(data: Data): void;
  result(result: Shown): void;
  other(result: Shown): void;
  curves(curves: Curves): void;
  schemes(rows: SchemeRow[]): void;
  /** The source could not be read. */
  unreadable(problem: Problem): void;
  /** The settings do not apply to the data. */
  error(error: Error): void;
  failed(message: string): void;
}

export class Engine {
  #call;
  #handlers;
  /** Whether the worker computes. */
  #isReady: Promise<boolean>;
  #next: Request | undefined;
  /** The source last requested, kept until it is read, even if a newer request has none. */
  #source: Asked | undefined;
  #controller = new AbortController();
  #isRunning = false;
  #hasData = false;

  constructor(handlers: Handlers) {
    this.#handlers = handlers;
    const call = startCalls(workerUrl, "playground", handlers.failed).call;
    this.#call = call;
    this.#isReady = call("start", undefined).then(
      ({ abilities, files }) => {
        keepFiles([...files, new URL(workerUrl, document.baseURI).href]);
        handlers.ready(abilities);
        return true;
      },
      ({ message }: Error) => {
        handlers.failed(message);
        return false;
      },
    );
  }

  ask(request: Request) {
    this.#next = request;
    this.#source = request.source ?? this.#source;
    this.#controller.abort();
    if (!this.#isRunning) this.#run();
  }

  async #run() {
    this.#isRunning = true;
    if (!(await this.#isReady)) return;
    while (this.#next) {
      const { settings, other } = this.#next;
      this.#next = undefined;
      this.#controller = new AbortController();
      await this.#answer(settings, other, this.#controller.signal);
    }
    this.#isRunning = false;
  }

  /** Computes one thing after another, until a newer request has come. */
  async #answer(settings: Settings, other: Settings | undefined, signal: AbortSignal) {
    const handlers = this.#handlers;
    const call = (command: string, argument: unknown) => this.#call(command, argument, { signal });
    try {
      if (!(await this.#read()) || signal.aborted) return;
      handlers.result(await call("evaluate", settings));
      if (other) handlers.other(await call("evaluate", other));
      handlers.curves(await call("curves", settings));
      handlers.schemes(await call("schemes", settings));
    } catch (error) {
      if (!signal.aborted) handlers.error(error as Error);
    }
  }

  /**
   * Reads the source last requested. A newer request does not end it, as that may be for the same data.
   * @returns whether the worker has data
   */
  async #read(): Promise<boolean> {
    const source = this.#source;
    if (!source) return this.#hasData;
    try {
      const data: Data = await this.#call("read", source);
      this.#hasData = true;
      if (this.#source === source) this.#handlers.data(data);
      return true;
    } catch (error) {
      if (this.#source === source) this.#handlers.unreadable(error as Problem);
      return false;
    } finally {
      if (this.#source === source) this.#source = undefined;
    }
  }
}
