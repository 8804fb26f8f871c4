// A square of paper to draw a digit on, by pointer or by keys; the drawing as an image of the digits' size and place.

import { toDigit } from "./to-digit.js";

/** Pixels of the paper on each side. */
const SIDE = 280;
const PEN = 22;
/** Pixels that an arrow key moves the pen. */
const STEP = 14;

/**
 * @param {HTMLElement} element  holds what pad-tree.js makes
 * @param {object} use
 * @param {(pixels: Float32Array | undefined) => void} use.onChange  gets 784 values from 0 to 1; undefined for empty
 *   paper
 * @param {(label: number, number: number) => Promise<Uint8Array>} use.take  gives any digit of the data, another one for
 *   each number: 784 codes from 0 (paper) to 15 (ink)
 * @param {(message: string) => void} use.onProblem  if no digit can be taken
 */
export function connectPad(element, { onChange, take, onProblem }) {
  const canvas = /** @type {HTMLCanvasElement} */ (element.querySelector(".pad"));
  canvas.width = SIDE;
  canvas.height = SIDE;
  const context = /** @type {CanvasRenderingContext2D} */ (
    canvas.getContext("2d", { willReadFrequently: true })
  );
  context.lineWidth = PEN;
  context.lineCap = "round";
  context.lineJoin = "round";
  /** Where the pen was last. @type {[number, number] | undefined} */
  let last;
  /** The pen of the keys. */
  let [x, y] = [SIDE / 2, SIDE / 2];
  let isDown = false;

  /** @param {Float32Array | undefined} pixels */
  const change = (pixels) => {
    element.classList.toggle("has-ink", pixels !== undefined);
    onChange(pixels);
  };
  const report = () => change(toDigit(context.getImageData(0, 0, SIDE, SIDE).data, SIDE));
  const lineTo = (/** @type {number} */ toX, /** @type {number} */ toY) => {
    const [fromX, fromY] = last ?? [toX, toY];
    context.strokeStyle = "#000";
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.lineTo(toX, toY);
    context.stroke();
    last = [toX, toY];
  };
  const placeOf = (/** @type {PointerEvent} */ event) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return /** @type {const} */ ([
      ((event.clientX - left) / width) * SIDE,
      ((event.clientY - top) / height) * SIDE,
    ]);
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    last = undefined;
    lineTo(...placeOf(event));
    report();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!canvas.hasPointerCapture(event.pointerId)) return;
    for (const each of event.getCoalescedEvents?.() ?? [event]) lineTo(...placeOf(each));
    report();
  });
  for (const type of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(type, () => {
      last = undefined;
    });
  }

  const showPen = () => {
    canvas.style.setProperty("--pen-x", String(x / SIDE));
    canvas.style.setProperty("--pen-y", String(y / SIDE));
    canvas.parentElement?.classList.toggle("is-down", isDown);
  };
  canvas.addEventListener("keydown", (event) => {
    const [dx, dy] = MOVES[event.key] ?? [0, 0];
    const isPen = event.key === " " || event.key === "Enter";
    if (event.ctrlKey || event.metaKey || event.altKey || !(dx || dy || isPen)) return;
    event.preventDefault();
    if (isPen) isDown = !isDown;
    const inside = (/** @type {number} */ value) => Math.min(SIDE - PEN, Math.max(PEN, value));
    last = isDown ? [x, y] : undefined;
    [x, y] = [inside(x + STEP * dx), inside(y + STEP * dy)];
    if (isDown) {
      lineTo(x, y);
      report();
    }
    last = undefined;
    showPen();
  });
  canvas.addEventListener("blur", () => {
    isDown = false;
    showPen();
  });

  element.querySelector("[data-action='clear']")?.addEventListener("click", () => {
    context.clearRect(0, 0, SIDE, SIDE);
    [x, y, last, isDown] = [SIDE / 2, SIDE / 2, undefined, false];
    showPen();
    change(undefined);
  });
  let number = 0;
  element.querySelector(".pad-take")?.addEventListener("click", async ({ target }) => {
    const label = /** @type {Element} */ (target).closest("button")?.dataset.label;
    if (label === undefined) return;
    try {
      // A prime distance: neighbours in the data are of one writer.
      number += 97;
      const codes = await take(Number(label), number);
      context.clearRect(0, 0, SIDE, SIDE);
      const size = SIDE / 28;
      for (const [i, code] of codes.entries()) {
        if (code === 0) continue;
        context.fillStyle = `rgb(0 0 0 / ${code / 15})`;
        context.fillRect((i % 28) * size, Math.floor(i / 28) * size, size, size);
      }
      change(Float32Array.from(codes, (code) => code / 15));
    } catch (error) {
      onProblem(/** @type {Error} */ (error).message);
    }
  });
}

/** Steps of the arrow keys, to the right and down. @type {Record<string, [number, number]>} */
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
