// A bar with the share that is done and the time left, with buttons to pause and to stop.

import { useLayoutEffect, useRef } from "preact/hooks";
import { useRedraw } from "../../shell/drawing/hooks.js";
import { bytesText } from "../../shell/drawing/numbers.js";
import { timeText } from "../format.js";
import { Button } from "./parts.js";

/** Why a run was aborted: another one takes its place. */
export const REPLACED = "Replaced.";

/** A pause: work waits while it lasts. */
class Pause {
  #over: Promise<void> | undefined;
  #end = () => {};

  get isPaused() {
    return this.#over !== undefined;
  }

  set isPaused(isPaused: boolean) {
    this.#end();
    this.#over = isPaused ? new Promise((resolve) => (this.#end = resolve)) : undefined;
  }

  /** Fulfilled while there is no pause. */
  async ready() {
    while (this.#over) await this.#over;
  }
}

/** A long call. */
export interface Run {
  signal: AbortSignal;
  pause: Pick<Pause, "ready">;
  onProgress: (progress: { done: number; total: number; name?: string }, stage?: string) => void;
}

/** One run of a long call at a time. */
export class Progress {
  isRunning = false;
  share = 0;
  /** Called after a change. */
  onChange = () => {};
  #announce;
  #controller = new AbortController();
  #pause = new Pause();
  #start = 0;
  #pausedAt = 0;
  #last = 0;
  #stage = "";
  #text = "";

  constructor(announce: (message: string) => void) {
    this.#announce = announce;
  }

  get isPaused() {
    return this.#pause.isPaused;
  }

  get text() {
    return this.isPaused ? `Paused: ${this.#text}` : this.#text;
  }

  /**
   * Starts a run; an earlier one is aborted.
   * @returns what its call takes
   */
  start(): Run {
    this.stop(REPLACED);
    [this.#controller, this.#pause] = [new AbortController(), new Pause()];
    this.#start = performance.now();
    [this.#last, this.share, this.#text, this.isRunning] = [0, 0, "", true];
    this.onChange();
    const { signal } = this.#controller;
    return { signal, pause: this.#pause, onProgress: (...step) => this.#show(...step) };
  }

  /** Aborts the run. */
  stop(reason: string) {
    this.#controller.abort(new DOMException(reason, "AbortError"));
    this.#pause.isPaused = false;
  }

  /** Says that the run has ended. */
  end() {
    this.isRunning = false;
    this.onChange();
  }

  pauseOrContinue() {
    this.#pause.isPaused = !this.isPaused;
    const now = performance.now();
    if (this.isPaused) this.#pausedAt = now;
    else this.#start += now - this.#pausedAt;
    this.onChange();
    this.#announce(this.isPaused ? "Paused." : "Continued.");
  }

  /**
   * @param progress  in bytes
   * @param stage  what is done, where there are several stages; each has its own time left
   */
  #show({ done, total, name = "" }: { done: number; total: number; name?: string }, stage = "") {
    const now = performance.now();
    const isNew = stage !== this.#stage;
    if (isNew) this.#start = now;
    this.#stage = stage;
    // Ten times a second is often enough to read.
    if (now - this.#last < 100 && done < total && !isNew) return;
    this.#last = now;
    this.share = total > 0 ? done / total : 1;
    const seconds = (now - this.#start) / 1000;
    const left = done > 0 ? (seconds * (total - done)) / done : 0;
    const rest = seconds > 1 && done < total ? `, ${timeText(left)} left` : "";
    const step = [stage, `${bytesText(done)} of ${bytesText(total)}${rest}`];
    this.#text = [step.filter(Boolean).join(": "), name].filter(Boolean).join(" · ");
    this.onChange();
  }
}

/** A long call whose result is shown, with its progress. */
export class Job<Result> {
  readonly progress;
  /** A string says why there is none. */
  result: Result | string | undefined;
  readonly announce;
  #draw;

  constructor(draw: () => void, announce: (message: string) => void) {
    this.#draw = draw;
    this.announce = announce;
    this.progress = new Progress(announce);
  }

  show(result: Result | string | undefined) {
    this.result = result;
    this.#draw();
  }
}

type Props = { progress: Progress; class?: string; onFocusLost?: () => void };

/** onFocusLost: called when a run has ended that had the focus. */
export function ProgressBar({ progress, class: own = "", onFocusLost }: Props) {
  const { isRunning, isPaused, share, text } = progress;
  const box = useRef<HTMLDivElement>(null);
  const hadFocus = box.current?.contains(document.activeElement);
  progress.onChange = useRedraw();
  useLayoutEffect(() => {
    if (!isRunning && hadFocus) onFocusLost?.();
  }, [isRunning]);
  return (
    <div ref={box} class={`lab-progress ${own}`} hidden={!isRunning}>
      <progress max={1} value={share} aria-label="Progress" />
      <span class="lab-progress-text">{text}</span>
      <Button action="pause" onClick={() => progress.pauseOrContinue()}>
        {isPaused ? "Continue" : "Pause"}
      </Button>
      <Button action="stop" onClick={() => progress.stop("Stopped.")}>
        Stop
      </Button>
    </div>
  );
}
