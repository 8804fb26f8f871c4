// A square of paper to draw a digit on, by pointer or by keys; the drawing as an image of the digits' size and place.

import { closest, context2d, find } from "../shell/dom.js";
import { messageOf } from "../shell/message-of.js";
import { toDigit } from "./to-digit.js";

/** Pixels of the paper on each side. */
const SIDE = 280;
const PEN = 22;
/** Pixels that an arrow key moves the pen. */
const STEP = 14;

/**
 * @param element  holds what pad-tree.ts makes
 * @param use.onChange  gets 784 values from 0 to 1; undefined for empty
 *   paper
 * @param use.take  gives any digit of the data, another one for
 *   each number: 784 codes from 0 (paper) to 15 (ink)
 * @param use.onProblem  if no digit can be taken
 */
export function connectPad(
  element: HTMLElement,
  {
    onChange,
    take,
    onProblem,
  }: {
    onChange: (pixels: Float32Array | undefined) => void;
    take: (label: number, number: number) => Promise<Uint8Array>;
    onProblem: (message: string) => void;
  },
) {
  const canvas = find(element, ".pad", HTMLCanvasElement);
  canvas.width = SIDE;
  canvas.height = SIDE;
  const context = context2d(canvas, { willReadFrequently: true });
  context.lineWidth = PEN;
  context.lineCap = "round";
  context.lineJoin = "round";
  /** Where the pen was last. */
  let last: [number, number] | undefined;
  /** The pen of the keys. */
  let [x, y] = [SIDE / 2, SIDE / 2];
  let isDown = false;

  const change = (pixels: Float32Array | undefined) => {
    element.classList.toggle("has-ink", pixels !== undefined);
    onChange(pixels);
  };
  const report = () => change(toDigit(context.getImageData(0, 0, SIDE, SIDE).data, SIDE));
  const lineTo = (toX: number, toY: number) => {
    const [fromX, fromY] = last ?? [toX, toY];
    context.strokeStyle = "#000";
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.lineTo(toX, toY);
    context.stroke();
    last = [toX, toY];
  };
  const placeOf = (event: PointerEvent) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return [
      ((event.clientX - left) / width) * SIDE,
      ((event.clientY - top) / height) * SIDE,
    ] as const;
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
    const inside = (value: number) => Math.min(SIDE - PEN, Math.max(PEN, value));
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
  element.querySelector(".pad-take")?.addEventListener("click", async (event) => {
    const label = closest(event, "button")?.dataset.label;
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
      onProblem(messageOf(error));
    }
  });
}

/** Steps of the arrow keys, to the right and down. */
const MOVES: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
