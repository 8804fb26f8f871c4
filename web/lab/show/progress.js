// A bar with the share that is done and the time left.

import { h, toDom } from "../../shell/tree.js";
import { bytesText, timeText } from "../format.js";

/** @param {HTMLElement} parent */
export function createProgress(parent) {
  parent.replaceChildren(
    toDom(h("progress", { max: 1, value: 0, "aria-label": "Progress" })),
    toDom(h("span", { class: "lab-progress-text" })),
  );
  const bar = /** @type {HTMLProgressElement} */ (parent.querySelector("progress"));
  const text = /** @type {HTMLElement} */ (parent.querySelector("span"));
  let start = 0;
  let last = 0;
  parent.hidden = true;
  return {
    start() {
      start = performance.now();
      last = 0;
      bar.value = 0;
      text.textContent = "";
      parent.hidden = false;
    },
    /** @param {{ done: number, total: number, name?: string }} progress  in bytes */
    show({ done, total, name = "" }) {
      const now = performance.now();
      // Ten times a second is often enough to read.
      if (now - last < 100 && done < total) return;
      last = now;
      bar.value = total > 0 ? done / total : 1;
      const seconds = (now - start) / 1000;
      const left = done > 0 ? (seconds * (total - done)) / done : 0;
      const rest = seconds > 1 && done < total ? `, ${timeText(left)} left` : "";
      text.textContent = `${bytesText(done)} of ${bytesText(total)}${rest} ${name && `· ${name}`}`;
    },
    /** @returns {number} seconds since the start */
    end() {
      parent.hidden = true;
      return (performance.now() - start) / 1000;
    },
  };
}
