// Makes the page's illustrations live: the same drawings as in the built page, redrawn as their
// controls and their width change.

import { figures } from "./figures/index.js";
import { makeScrollable } from "./scrollable.js";
import { toDom } from "./tree.js";

/** @type {Promise<typeof import("zeropoint")> | undefined} */
let loading;

/** Starts zeropoint in the page, when the first illustration is shown. */
function loadZeropoint() {
  loading ??= import("zeropoint").then(async (zeropoint) => {
    await zeropoint.init();
    return zeropoint;
  });
  return loading;
}

/** @param {HTMLElement} view */
export async function showFigures(view) {
  const waiting = /** @type {NodeListOf<HTMLElement>} */ (
    view.querySelectorAll("[data-figure]:not([data-live])")
  );
  if (waiting.length === 0) return;
  for (const element of waiting) {
    element.dataset.live = "";
    delete element.dataset.failed;
  }
  try {
    const zeropoint = await loadZeropoint();
    for (const element of waiting) makeLive(element, zeropoint);
  } catch {
    // The built drawings stay, without controls; a cell that runs reports what is wrong.
    loading = undefined;
    for (const element of waiting) {
      delete element.dataset.live;
      element.dataset.failed = "";
    }
  }
}

/**
 * @param {HTMLElement} element
 * @param {typeof import("zeropoint")} zeropoint
 */
function makeLive(element, zeropoint) {
  const figure = figures[element.dataset.figure ?? ""];
  const drawing = /** @type {HTMLElement} */ (element.querySelector(".figure-drawing"));
  const form = element.querySelector("form");
  let width = 0;

  const draw = () => {
    if (width === 0) return;
    drawing.replaceChildren(toDom(figure.draw(readControls(form), zeropoint, width)));
    makeScrollable(drawing);
  };

  form?.addEventListener("input", draw);
  for (const player of form?.querySelectorAll(".player") ?? []) {
    connectPlayer(/** @type {HTMLElement} */ (player));
  }
  form?.addEventListener("submit", (event) => event.preventDefault());
  if (form) form.hidden = false;
  new ResizeObserver(() => {
    const available = Math.round(Math.min(drawing.clientWidth, 840));
    if (available === width || available === 0) return;
    width = available;
    draw();
  }).observe(drawing);
}

const BEAT = 900; // milliseconds between two steps

/**
 * Buttons that move a range control: on by one, or on and on. Nothing moves before it is asked to;
 * those who prefer no motion get the single steps only.
 * @param {HTMLElement} player
 */
function connectPlayer(player) {
  const range = /** @type {HTMLInputElement} */ (
    player.closest("form")?.querySelector(`input[name="${player.dataset.moves}"]`)
  );
  const [play, step] = /** @type {HTMLButtonElement[]} */ ([...player.querySelectorAll("button")]);
  const text = /** @type {HTMLElement} */ (play.querySelector("span"));
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;

  const pause = () => {
    clearInterval(timer);
    timer = undefined;
    delete player.dataset.playing;
    text.textContent = "Play";
  };
  const move = () => {
    const isAtEnd = Number(range.value) >= Number(range.max);
    range.value = isAtEnd ? range.min : String(Number(range.value) + 1);
    range.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const beat = () => {
    // Another notebook is shown, or the page is in the background.
    if (player.offsetParent === null || document.hidden) pause();
    else move();
    if (range.value === range.max) pause();
  };

  play.addEventListener("click", () => {
    if (timer !== undefined) {
      pause();
      return;
    }
    timer = setInterval(beat, BEAT);
    player.dataset.playing = "";
    text.textContent = "Pause";
    move();
  });
  step.addEventListener("click", () => {
    pause();
    move();
  });
  const respectMotion = () => {
    pause();
    play.hidden = calm.matches;
  };
  calm.addEventListener("change", respectMotion);
  respectMotion();
}

/**
 * @param {HTMLFormElement | null} form
 * @returns {Record<string, string>}
 */
function readControls(form) {
  if (!form) return {};
  for (const output of form.querySelectorAll("output")) {
    const input = form.querySelector(`input[name="${output.name}"]`);
    output.value = /** @type {HTMLInputElement} */ (input).value;
  }
  return /** @type {Record<string, string>} */ (Object.fromEntries(new FormData(form)));
}
