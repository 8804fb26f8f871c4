// Asks the playground's worker for what the page shows. The newest request supersedes those before it.

import { startCalls } from "../shell/calls/client.js";
import { keepFiles } from "../shell/offline/offline.js";
import type { Problem } from "./data/data-panel.js";
import type { Asked, Settings, Source } from "./state.js";
import type { Counts } from "./views/histogram.js";
import type { Evaluation } from "./worker/evaluate.js";
import type { Curves, SchemeRow } from "./worker/sweeps.js";
import type { Abilities } from "./worker/worker.js";
import workerUrl from "./worker/worker.js?worker&url";

export interface Data {
  values: Float32Array;
  shape: number[];
  histogram: Counts;
}

/** What settings make of the data. */
export interface Result {
  settings: Settings;
  evaluation: Evaluation;
  /** Values minus restored values. */
  error: Float32Array;
}

/** The curves of settings, and the shape of their data. */
export interface Sweep {
  curves: Curves;
  settings: Settings;
  shape: readonly number[];
}

/** What the worker answers, each part as soon as it is there. */
export interface Answers {
  abilities: Abilities;
  source: Source;
  /** Why the source could not be read. */
  problem: Problem | undefined;
  /** That of the results. */
  data: Data | undefined;
  result: Result | undefined;
  /** Of the settings to compare with. */
  otherResult: Result | undefined;
  sweep: Sweep | undefined;
  schemes: SchemeRow[];
  /** All of a request is answered. */
  isComplete: boolean;
  /** Why nothing is computed: settings that do not apply to the data, or a lost worker. */
  message: string;
}

export class Engine {
  #call;
  #onAnswer;
  /** Whether the worker computes. */
  #isReady: Promise<boolean>;
  #next: { settings: Settings; other: Settings | undefined } | undefined;
  /** The source last requested, kept until it is read, even if a newer request has none. */
  #source: Asked | undefined;
  #controller = new AbortController();
  #isRunning = false;
  #data: Data | undefined;

  constructor(onAnswer: (answers: Partial<Answers>) => void) {
    this.#onAnswer = onAnswer;
    const fail = (message: string) => onAnswer({ message });
    const call = startCalls(workerUrl, "playground", fail).call;
    this.#call = call;
    this.#isReady = call("start", undefined).then(
      ({ abilities, files }) => {
        keepFiles([...files, new URL(workerUrl, document.baseURI).href]);
        onAnswer({ abilities });
        return true;
      },
      ({ message }: Error) => {
        fail(message);
        return false;
      },
    );
  }

  /**
   * @param other  to compare with
   * @param source  none to keep the data
   */
  ask(settings: Settings, other: Settings | undefined, source?: Asked) {
    this.#next = { settings, other };
    this.#source = source ?? this.#source;
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
    const call = (command: string, argument: unknown) => this.#call(command, argument, { signal });
    try {
      const data = await this.#read();
      if (!data || signal.aborted) return;
      const result: Result = await call("evaluate", settings);
      const otherResult: Result | undefined = other && (await call("evaluate", other));
      this.#onAnswer({ data, result, otherResult, message: "" });
      const curves: Curves = await call("curves", settings);
      this.#onAnswer({ sweep: { curves, settings, shape: data.shape } });
      this.#onAnswer({ schemes: await call("schemes", settings), isComplete: true });
    } catch (error) {
      if (!signal.aborted) this.#onAnswer({ message: (error as Error).message });
    }
  }

  /**
   * Reads the source last requested. A newer request does not end it, as that may be for the same data.
   * @returns the worker's data
   */
  async #read(): Promise<Data | undefined> {
    const source = this.#source;
    if (!source) return this.#data;
    try {
      const data: Data = await this.#call("read", source);
      this.#data = data;
      if (this.#source === source) {
        this.#onAnswer({ source: sourceOf(source, data), problem: undefined });
      }
      return data;
    } catch (error) {
      if (this.#source === source) this.#onAnswer({ problem: error as Problem });
      return undefined;
    } finally {
      if (this.#source === source) this.#source = undefined;
    }
  }
}

/** What is kept of a source once its values are read. */
function sourceOf(asked: Asked, { values, shape }: Data): Source {
  if (asked.kind === "generated" || asked.kind === "given") return asked;
  return { kind: "given", name: asked.kind === "file" ? asked.file.name : "pasted", values, shape };
}
