// The selected element as an equation: how its code came about, its restored value and its error.

import { find } from "../../shell/dom.js";
import { h, type Nested, toDom } from "../../shell/drawing/tree.js";
import type { Settings } from "../state.js";
import type { Evaluation } from "../worker/evaluate.js";
import { indexOf, sliceOf } from "./geometry.js";

interface Element {
  element: number;
  shape: readonly number[];
  value: number;
  code: number | undefined;
  restored: number;
  error: number;
  settings: Settings;
  evaluation: Evaluation;
  limits: { qmin: number; qmax: number };
}

export function inspectorTree() {
  return h(
    "section",
    { class: "play-inspector", "aria-label": "Selected element" },
    h("h2", {}, "One element"),
    h(
      "label",
      { class: "play-field" },
      h("span", {}, "Element"),
      h("input", {
        type: "number",
        name: "element",
        min: 0,
        step: 1,
        value: 0,
        autocomplete: "off",
      }),
      h("span", { class: "play-index" }),
    ),
    h("div", { class: "play-equation scroll-x" }),
    h("p", { class: "visually-hidden", "aria-live": "polite" }),
  );
}

/** A number with enough digits to check the equation, and a true minus sign. */
export function exact(value: number) {
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(6));
  const size = Math.abs(rounded);
  const text =
    size >= 1e7 || size < 1e-4 ? rounded.toExponential().replace("e+", "e") : String(rounded);
  return text.replaceAll("-", "−");
}

const real = (value: number) => h("span", { class: "ink-real" }, exact(value));
const code = (value: number) => h("span", { class: "ink-code" }, exact(value));
const error = (value: number) => h("span", { class: "ink-error" }, exact(value));

export function showElement(section: HTMLElement, element: Element, isSpoken: boolean) {
  const { shape } = element;
  const input = find(section, "input", HTMLInputElement);
  const size = shape.reduce((product, length) => product * length, 1);
  input.max = String(size - 1);
  if (document.activeElement !== input) input.value = String(element.element);
  const index = find(section, ".play-index");
  index.textContent = indexOf(shape, element.element);
  const place = find(section, ".play-equation");
  const steps = element.code === undefined ? blockSteps(element) : linearSteps(element);
  place.replaceChildren(
    toDom(
      h(
        "dl",
        {},
        steps.map(([name, ...lines]) => [
          h("dt", {}, name),
          h(
            "dd",
            {},
            lines.map((one) => h("div", {}, one)),
          ),
        ]),
      ),
    ),
  );
  const spoken = find(section, "[aria-live]");
  if (!isSpoken) return;
  spoken.textContent =
    `Element ${indexOf(shape, element.element)}: value ${exact(element.value)}, ` +
    (element.code === undefined ? "" : `code ${exact(element.code)}, `) +
    `restored ${exact(element.restored)}, error ${exact(element.error)}`;
}

function linearSteps(element: Element): [Nested, ...Nested[]][] {
  const { value, restored, evaluation, settings, limits } = element;
  const q = element.code as number;
  const slice = sliceOf(evaluation.slices, element.element);
  const scale = evaluation.scales[slice] ?? evaluation.scales[0];
  const zero = evaluation.zeroPoints[slice] ?? evaluation.zeroPoints[0] ?? 0;
  const { qmin, qmax } = limits;
  const f = Math.fround;
  const clamp = (inner: Nested) => ["clamp(", inner, ", ", code(qmin), ", ", code(qmax), ")"];
  const isTorch = settings.arithmetic === "torch";
  const isSymmetric = settings.scheme === "symmetric";
  const s = exact(scale);
  let lines: Nested[][];
  let back: Nested[];
  if (evaluation.isOffset) {
    const before = f(f(value - f(zero)) / f(scale));
    lines = [
      clamp("round((value − offset) / scale)"),
      clamp(["round((", real(value), " − ", signed(zero), ") / ", s, ")"]),
      [...clamp(["round(", exact(before), ")"]), " = ", code(q)],
    ];
    back = [s, " · ", bracketedCode(q), " + ", signed(zero), " = ", real(restored)];
  } else {
    const quotient = isTorch ? f(value * f(1 / f(scale))) : f(value / f(scale));
    const before = isTorch ? quotient : f(quotient + zero);
    const plus = isSymmetric && zero === 0 ? "" : [" + ", bracketedCode(zero)];
    lines = isTorch
      ? [
          clamp(["round(value · (1 / scale))", isSymmetric ? "" : " + zero point"]),
          clamp(["round(", real(value), " · ", exact(f(1 / f(scale))), ")", plus]),
          [...clamp(["round(", exact(before), ")", plus]), " = ", code(q)],
        ]
      : [
          clamp(["round(value / scale", isSymmetric ? "" : " + zero point", ")"]),
          clamp(["round(", real(value), " / ", s, plus, ")"]),
          [...clamp(["round(", exact(before), ")"]), " = ", code(q)],
        ];
    const minus =
      isSymmetric && zero === 0 ? bracketedCode(q) : ["(", code(q), " − ", signed(zero), ")"];
    back = [s, " · ", minus, " = ", real(restored)];
  }
  return [
    ["code", ...lines.map((one, i) => [i === 0 ? "" : "= ", ...one])],
    [
      "restored",
      [
        evaluation.isOffset
          ? "scale · code + offset"
          : `scale · ${isSymmetric ? "code" : "(code − zero point)"}`,
      ],
      ["= ", ...back],
    ],
    errorStep(element),
  ];
}

/** A negative number in brackets. */
const signed = (value: number) => (value < 0 ? `(${exact(value)})` : exact(value));

function blockSteps(element: Element): [Nested, ...Nested[]][] {
  const { inner } = element.evaluation.slices;
  const block = Math.floor(element.element / inner);
  return [
    ["block", `${block} of ${element.settings.scheme.toUpperCase()}, ${inner} values`],
    ["restored", [real(element.restored)]],
    errorStep(element),
  ];
}

function errorStep({ value, restored, error: difference }: Element): [Nested, ...Nested[]] {
  return ["error", [real(value), " − ", bracketed(restored), " = ", error(difference)]];
}

const bracketedCode = (value: number) => (value < 0 ? ["(", code(value), ")"] : code(value));

const bracketed = (value: number) => (value < 0 ? ["(", real(value), ")"] : real(value));
