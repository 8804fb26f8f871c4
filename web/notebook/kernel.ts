// The page's end of the worker that runs a notebook's cells.

import { answerWithCore } from "../shell/core/core.js";
import { messageOf } from "../shell/message-of.js";
import { keepFiles } from "../shell/offline/offline.js";
import { scriptUrl } from "../shell/trusted.js";
import type { Grade } from "./exercises/grade.js";
import { Inbox } from "./messages.js";
import type { Plot as HeatMaps } from "./plots/heat-map.js";
import type { LinesPlot } from "./plots/lines-plot.js";
import type { CellError } from "./worker/cell-error.js";
import type { CellNames } from "./worker/names.js";
import workerUrl from "./worker/worker.js?worker&url";

export type Plot = HeatMaps | LinesPlot;

/** An error that came when the cell had ended. */
export type Output =
  | { kind: "text"; text: string }
  | { kind: "plot"; plot: Plot }
  | { kind: "error"; error: CellError };

type CheckResult = { passed: boolean; message?: string };

/** names: none if the code has no grammar; grade: of an exercise that ran without an error. */
export type Outcome = {
  result?: string | undefined;
  error?: CellError | undefined;
  checks: CheckResult[];
  names?: CellNames | undefined;
  grade?: Grade | undefined;
};

type Pending = {
  resolve: (outcome: Outcome) => void;
  reject: (error: Error) => void;
  onOutput: (output: Output) => void;
};

const REASON_LIMIT = 1000; // characters

/** Thrown if a run ended without an outcome: it was stopped, or the worker has ended. */
export class KernelGone extends Error {
  wasStopped: boolean;
  constructor(message: string, wasStopped: boolean) {
    super(message);
    this.name = "KernelGone";
    this.wasStopped = wasStopped;
  }
}

/** One worker, started when the first cell runs. */
export class Kernel {
  #worker: Worker | undefined;
  #ready: Promise<void> | undefined;
  #refuse: ((error: Error) => void) | undefined;
  #pending = new Map<number, Pending>();
  #runs = 0;
  /** Receives the output of the last run, also after its end: timers and promises may outlive it. */
  #showLast = (_: Output) => {};

  #takeModule = (_: string) => {};

  get isAlive() {
    return this.#worker !== undefined;
  }

  /** @param cell  exercise: the id of the task that grades its function */
  async run({
    label,
    source,
    checks,
    exercise,
    onOutput,
  }: {
    label: string;
    source: string;
    checks: string[];
    exercise?: string;
    onOutput: (output: Output) => void;
  }): Promise<Outcome> {
    this.#ready ??= this.#start();
    await this.#ready;
    const worker = this.#worker;
    if (!worker) throw new KernelGone("The run was stopped.", true);
    const run = ++this.#runs;
    return new Promise((resolve, reject) => {
      this.#pending.set(run, { resolve, reject, onOutput });
      this.#showLast = onOutput;
      worker.postMessage({ type: "run", run, label, source, checks, exercise });
    });
  }

  /** The cells of a notebook as one ES module. */
  async toModule(title: string, cells: { label: string; source: string }[]): Promise<string> {
    this.#ready ??= this.#start();
    await this.#ready;
    return new Promise((resolve) => {
      this.#takeModule = resolve;
      const codes = cells.map(({ label, source }) => ({ label, source }));
      this.#worker?.postMessage({ type: "export", title, cells: codes });
    });
  }

  /** Ends the worker at once, endless loops included. The next run starts a fresh one. */
  stop() {
    this.#end(new KernelGone("The run was stopped.", true));
  }

  #start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#refuse = reject;
      const fail = (reason: string) => this.#end(new KernelGone(reason, false));
      try {
        const worker = new Worker(scriptUrl(workerUrl), { type: "module", name: "cells" });
        this.#worker = worker;
        const inbox = new Inbox();
        worker.postMessage({ type: "token", token: inbox.token });
        worker.addEventListener("message", ({ data }) => {
          try {
            this.#receive(inbox.take(data), resolve, fail);
          } catch (error) {
            fail(messageOf(error));
          }
        });
        worker.addEventListener("messageerror", () =>
          fail("The worker sent something unreadable."),
        );
        worker.addEventListener("error", (event) => {
          event.preventDefault();
          const isStarting = this.#refuse !== undefined;
          // A cell can throw an error of any length.
          const reason = String(event.message ?? "").slice(0, REASON_LIMIT);
          fail(
            isStarting
              ? `The worker that runs the cells could not be loaded. ${reason}`.trim()
              : `The worker that runs the cells failed: ${reason || "no reason given"}`,
          );
        });
      } catch (error) {
        fail(`The worker that runs the cells could not be started: ${messageOf(error)}`);
      }
    });
  }

  /** @param data  checked; undefined for a message to ignore */
  #receive(data: any, ready: () => void, fail: (reason: string) => void) {
    if (data?.type === "ready") {
      this.#refuse = undefined;
      keepFiles([...data.files, new URL(workerUrl, document.baseURI).href]);
      ready();
    } else if (data?.type === "core") {
      answerWithCore(data);
    } else if (data?.type === "failed") {
      fail(`zeropoint could not start: ${data.message}`);
    } else if (data?.type === "output") {
      const pending = this.#pending.get(data.run);
      if (pending) pending.onOutput(data.output);
      else if (data.run === this.#runs) this.#showLast(data.output);
    } else if (data?.type === "module") {
      this.#takeModule(data.text);
    } else if (data?.type === "done") {
      const pending = this.#pending.get(data.run);
      this.#pending.delete(data.run);
      pending?.resolve(data);
    }
  }

  #end(reason: KernelGone) {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#ready = undefined;
    this.#refuse?.(reason);
    this.#refuse = undefined;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(reason);
  }
}
