// Progress on standard error: one line that changes on a terminal, a line from time to time in a pipe.

import { showBytes, showTime } from "../units.js";
import { printable, shorten, widthOf } from "./terminal.js";

/** Progress of a job. */
export interface Done {
  /** Bytes of input. */
  readonly done: number;
  readonly total: number;
  /** The current tensor. */
  readonly name?: string | undefined;
}

const TERMINAL_SECONDS = 0.1;
const PIPE_SECONDS = 10;

/** The progress of one job. */
export class Progress {
  readonly #start = performance.now();
  readonly #stream = process.stderr;
  #last = this.#start;
  /** Work that an interrupted run had finished before. */
  #from: number | undefined;
  #isShown = false;

  /**
   * @param title  such as "analyzing model.safetensors"
   * @param isQuiet  whether nothing is printed
   */
  constructor(
    readonly title: string,
    readonly isQuiet: boolean,
  ) {}

  get seconds(): number {
    return (performance.now() - this.#start) / 1000;
  }

  /** Shows the state, if enough time has passed since the last one. */
  readonly update = (state: Done): void => {
    const now = performance.now();
    this.#from ??= state.done;
    const width = widthOf(this.#stream);
    const interval = width === undefined ? PIPE_SECONDS : TERMINAL_SECONDS;
    if (this.isQuiet || now - this.#last < 1000 * interval) return;
    this.#last = now;
    const line = this.#line(state);
    if (width === undefined) this.#stream.write(`${line}\n`);
    else this.#stream.write(`\r\u001b[K${shorten(line, width - 1)}`);
    this.#isShown = width !== undefined;
  };

  #line({ done, total, name }: Done): string {
    const share = total > 0 ? Math.min(1, done / total) : 1;
    const rate = (done - (this.#from ?? 0)) / this.seconds;
    const left = rate > 0 ? `${showTime(Math.max(0, total - done) / rate)} left` : "";
    const percent = `${Math.floor(100 * share)} %`;
    const parts = [`${this.title}: ${percent}`, `${showBytes(rate)}/s`, left, name ?? ""];
    return printable(parts.filter(Boolean).join(", "));
  }

  /** Clears the line on a terminal, so that other text may follow. */
  clear(): void {
    if (this.#isShown) this.#stream.write("\r\u001b[K");
    this.#isShown = false;
  }

  /** Prints a last line. */
  finish(text: string): void {
    this.clear();
    if (!this.isQuiet) this.#stream.write(`${printable(text)}\n`);
  }
}
