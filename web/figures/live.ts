// Makes the page's illustrations live: the drawings of the built page, drawn again when a control changes.

import { find } from "../shell/dom.js";
import { toDom } from "../shell/drawing/tree.js";
import { makeScrollable } from "../shell/scrollable.js";
import { connectLinked } from "./link-elements.js";
import { connectCells } from "./point-at-cells.js";
import { connectPrediction } from "./prediction.js";
import { connectScrubs } from "./scrub.js";
import { connectSetters } from "./set-controls.js";

let loading: ReturnType<typeof load> | undefined;

/** Starts zeropoint in the page, when the first control is used. */
async function load() {
  const [zeropoint, torch, { figures }, { coreModule }] = await Promise.all([
    import("zeropoint"),
    import("zeropoint/torch"),
    import("./index.js"),
    import("../shell/core/core.js"),
  ]);
  await zeropoint.init({ wasm: coreModule });
  return { zeropoint: { ...zeropoint, ...torch }, figures };
}

export function showFigures(view: HTMLElement) {
  const waiting = view.querySelectorAll<HTMLElement>("[data-figure]:not([data-live])");
  for (const element of waiting) {
    element.dataset.live = "";
    makeLive(element);
  }
}

function makeLive(element: HTMLElement) {
  const drawing = find(element, ".figure-drawing");
  const form = element.querySelector("form");
  if (!form) return;
  let width = 0;
  const scrubs = connectScrubs(drawing, form);
  const setters = connectSetters(drawing, form);
  const links = connectLinked(drawing);
  const cells = connectCells(drawing, async (kind, index) => {
    loading ??= load();
    try {
      const { zeropoint, figures } = await loading;
      const figure = figures[element.dataset.figure ?? ""];
      return figure.detail?.(readControls(form), zeropoint, kind, index);
    } catch {
      loading = undefined;
      return undefined;
    }
  });
  const mark = () => {
    scrubs.mark();
    setters.mark();
    links.mark();
    cells.mark();
  };
  if (drawing.querySelector("[data-scrub], [data-set], [data-linked], [data-cells]")) {
    // Only one of the built drawings can take part. Another room has another drawn; until then this one stays. Grids of
    // cells and bits fit every room.
    if (!drawing.querySelector("[data-cells], [data-set]")) width = roomOf(drawing);
    for (const built of [...drawing.children]) {
      if (getComputedStyle(built).display === "none") built.remove();
      else built.removeAttribute("class");
    }
    mark();
  }
  connectPrediction(element);

  const draw = async () => {
    const values = readControls(form);
    loading ??= load();
    try {
      const { zeropoint, figures } = await loading;
      const figure = figures[element.dataset.figure ?? ""];
      if (!drawing.querySelector("[data-cells], [data-set]")) width = roomOf(drawing);
      const focused = nameOf(drawing.querySelector(":is([data-scrub], [data-set]):focus"));
      const isTableOpen = drawing.querySelector("details[open]") !== null;
      drawing.replaceChildren(toDom(figure.draw(values, zeropoint, width)));
      drawing.querySelector("details")?.toggleAttribute("open", isTableOpen);
      makeScrollable(drawing);
      mark();
      if (!focused) return;
      for (const each of drawing.querySelectorAll("[data-scrub], [data-set]")) {
        if (nameOf(each) === focused && each instanceof HTMLElement)
          each.focus({ preventScroll: true });
      }
    } catch {
      // The built drawing stays, without controls; a cell that runs reports the reason.
      loading = undefined;
      form.hidden = true;
      element.dataset.failed = "";
      element.dataset.predicted = "";
    }
  };

  form.addEventListener("input", draw);
  for (const player of form.querySelectorAll<HTMLElement>(".player")) connectPlayer(form, player);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  // The built page has a drawing for wide and one for narrow screens: until a control is used, they serve.
  new ResizeObserver(() => {
    const room = roomOf(drawing);
    if (width > 0 && room > 0 && room !== width) draw();
  }).observe(drawing);
}

/** What identifies an element that sets a control when it is drawn anew. */
const nameOf = (element: Element | null) =>
  ["data-scrub", "data-key", "data-to"].map((name) => element?.getAttribute(name)).find(Boolean);

const roomOf = (drawing: HTMLElement) => Math.round(Math.min(drawing.clientWidth, 840));

const BEAT = 900; // milliseconds between two steps

/**
 * Buttons that move a range control: by one step, or continuously. Nothing moves before a click; with
 * prefers-reduced-motion only single steps are offered.
 */
function connectPlayer(form: HTMLFormElement, player: HTMLElement) {
  const range = find(form, `input[name="${player.dataset.moves}"]`, HTMLInputElement);
  const [play, step] = player.querySelectorAll("button");
  const text = find(play, "span");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let timer: ReturnType<typeof setInterval> | undefined;

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

function readControls(form: HTMLFormElement): Record<string, string> {
  for (const output of form.querySelectorAll("output")) {
    const input = find(form, `input[name="${output.name}"]`, HTMLInputElement);
    output.value = input.value.replace("-", "−");
  }
  return Object.fromEntries(new FormData(form)) as Record<string, string>;
}
