// A bar with the share that is done and the time left, with buttons to pause and to stop.

import { find } from "../../shell/dom.js";
import { bytesText } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { timeText } from "../format.js";

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
export function createProgress(
  parent: HTMLElement,
  { announce }: { announce: (message: string) => void },
) {
  const button = (action: string, text: string) =>
    h("button", { type: "button", class: "button", "data-action": action }, text);
  parent.replaceChildren(
    toDom(h("progress", { max: 1, value: 0, "aria-label": "Progress" })),
    toDom(h("span", { class: "lab-progress-text" })),
    toDom(button("pause", "Pause")),
    toDom(button("stop", "Stop")),
  );
  const bar = find(parent, "progress", HTMLProgressElement);
  const text = find(parent, "span");
  const pauseButton = find(parent, "[data-action='pause']");
  let controller = new AbortController();
  let pause = new Pause();
  let start = 0;
  let pausedAt = 0;
  let last = 0;
  let stage = "";
  let shown = "";
  parent.hidden = true;

  /** Ends a run. */
  const abort = (reason: string) => {
    controller.abort(new DOMException(reason, "AbortError"));
    pause.isPaused = false;
  };
  const draw = () => {
    text.textContent = pause.isPaused ? `Paused: ${shown}` : shown;
    pauseButton.textContent = pause.isPaused ? "Continue" : "Pause";
  };
  pauseButton.addEventListener("click", () => {
    pause.isPaused = !pause.isPaused;
    const now = performance.now();
    if (pause.isPaused) pausedAt = now;
    else start += now - pausedAt;
    draw();
    announce(pause.isPaused ? "Paused." : "Continued.");
  });
  parent.querySelector("[data-action='stop']")?.addEventListener("click", () => abort("Stopped."));

  const self = {
    /**
     * Starts a run; an earlier one is aborted.
     * @returns what its call takes
     */
    start(): Run {
      abort(REPLACED);
      [controller, pause] = [new AbortController(), new Pause()];
      start = performance.now();
      last = 0;
      bar.value = 0;
      shown = "";
      draw();
      parent.hidden = false;
      return { signal: controller.signal, pause, onProgress: self.show };
    },
    stop: abort,
    /**
     * @param progress  in bytes
     * @param newStage  what is done, where there are several stages; each has its own time left
     */
    show(
      { done, total, name = "" }: { done: number; total: number; name?: string },
      newStage = "",
    ) {
      const now = performance.now();
      const isNew = newStage !== stage;
      if (isNew) start = now;
      stage = newStage;
      // Ten times a second is often enough to read.
      if (now - last < 100 && done < total && !isNew) return;
      last = now;
      bar.value = total > 0 ? done / total : 1;
      const seconds = (now - start) / 1000;
      const left = done > 0 ? (seconds * (total - done)) / done : 0;
      const rest = seconds > 1 && done < total ? `, ${timeText(left)} left` : "";
      const step = [stage, `${bytesText(done)} of ${bytesText(total)}${rest}`];
      shown = [step.filter(Boolean).join(": "), name].filter(Boolean).join(" · ");
      draw();
    },
    /** Another text without a share. */
    say(message: string) {
      shown = message;
      draw();
    },
    /** @returns whether the focus was in it */
    end() {
      const hadFocus = parent.contains(document.activeElement);
      parent.hidden = true;
      return hadFocus;
    },
  };
  return self;
}
