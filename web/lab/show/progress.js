// A bar with the share that is done and the time left, with buttons to pause and to stop.

import { bytesText } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { timeText } from "../format.js";

/** Why a run was aborted: another one takes its place. */
export const REPLACED = "Replaced.";

/** A pause: work waits while it lasts. */
class Pause {
  /** @type {Promise<void> | undefined} */
  #over;
  #end = () => {};

  get isPaused() {
    return this.#over !== undefined;
  }

  /** @param {boolean} isPaused */
  set isPaused(isPaused) {
    this.#end();
    this.#over = isPaused ? new Promise((resolve) => (this.#end = resolve)) : undefined;
  }

  /** Fulfilled while there is no pause. */
  async ready() {
    while (this.#over) await this.#over;
  }
}

/**
 * @typedef {object} Run  a long call
 * @property {AbortSignal} signal
 * @property {Pick<Pause, "ready">} pause
 * @property {(progress: { done: number, total: number, name?: string }, stage?: string) => void} onProgress
 */

/**
 * One run of a long call at a time.
 * @param {HTMLElement} parent
 * @param {{ announce: (message: string) => void }} context
 */
export function createProgress(parent, { announce }) {
  const button = (/** @type {string} */ action, /** @type {string} */ text) =>
    h("button", { type: "button", class: "button", "data-action": action }, text);
  parent.replaceChildren(
    toDom(h("progress", { max: 1, value: 0, "aria-label": "Progress" })),
    toDom(h("span", { class: "lab-progress-text" })),
    toDom(button("pause", "Pause")),
    toDom(button("stop", "Stop")),
  );
  const bar = /** @type {HTMLProgressElement} */ (parent.querySelector("progress"));
  const text = /** @type {HTMLElement} */ (parent.querySelector("span"));
  const pauseButton = /** @type {HTMLElement} */ (parent.querySelector("[data-action='pause']"));
  let controller = new AbortController();
  let pause = new Pause();
  let start = 0;
  let pausedAt = 0;
  let last = 0;
  let stage = "";
  let shown = "";
  parent.hidden = true;

  /** Ends a run. @param {string} reason */
  const abort = (reason) => {
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
    /** Starts a run; an earlier one is aborted. @returns {Run} what its call takes */
    start() {
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
     * @param {{ done: number, total: number, name?: string }} progress  in bytes
     * @param {string} [newStage]  what is done, where there are several stages; each has its own time left
     */
    show({ done, total, name = "" }, newStage = "") {
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
    /** Another text without a share. @param {string} message */
    say(message) {
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
