// The selected element as an equation: how its code came about, its restored value and its error.

import { type ComponentChildren, Fragment } from "preact";
import { useRef } from "preact/hooks";
import { memo } from "../../shell/drawing/hooks.js";
import { keepReachable } from "../../shell/scrollable.js";
import type { Data, Result } from "../engine.js";
import { limitsOf } from "../state.js";
import { indexOf, sliceOf } from "./geometry.js";

interface Props {
  data: Data | undefined;
  result: Result | undefined;
  element: number;
  spoken: string;
  onSelect: (element: number) => void;
}

export const Inspector = memo(({ data, result, element, spoken, onSelect }: Props) => {
  const input = useRef<HTMLInputElement>(null);
  const isTyping = input.current !== null && document.activeElement === input.current;
  return (
    <section class="play-inspector" aria-label="Selected element">
      <h2>One element</h2>
      <label class="play-field">
        <span>Element</span>
        <input
          ref={input}
          type="number"
          name="element"
          min={0}
          max={data && data.values.length - 1}
          step={1}
          autocomplete="off"
          value={isTyping ? undefined : String(element)}
          onInput={({ currentTarget: { value, validity } }) => {
            if (value !== "" && validity.valid) onSelect(Number(value));
          }}
        />
        <span class="play-index">{data && indexOf(data.shape, element)}</span>
      </label>
      <div class="play-equation scroll-x" ref={keepReachable}>
        {data && result && <Equation data={data} result={result} element={element} />}
      </div>
      <p class="visually-hidden" aria-live="polite">
        {spoken}
      </p>
    </section>
  );
});

/** A number with enough digits to check the equation, and a true minus sign. */
export function exact(value: number) {
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(6));
  const size = Math.abs(rounded);
  const text =
    size >= 1e7 || size < 1e-4 ? rounded.toExponential().replace("e+", "e") : String(rounded);
  return text.replaceAll("-", "−");
}

const real = (value: number) => <span class="ink-real">{exact(value)}</span>;
const code = (value: number) => <span class="ink-code">{exact(value)}</span>;

export function spokenElement(data: Data, { evaluation, error }: Result, element: number) {
  const { codes, restored } = evaluation;
  return (
    `Element ${indexOf(data.shape, element)}: value ${exact(data.values[element])}, ` +
    (codes ? `code ${exact(codes[element])}, ` : "") +
    `restored ${exact(restored[element])}, error ${exact(error[element])}`
  );
}

/** A step's name and its lines. */
type Step = [name: string, ...lines: ComponentChildren[]];

function Equation({ data, result, element }: { data: Data; result: Result; element: number }) {
  const { codes, restored } = result.evaluation;
  const [value, back] = [data.values[element], restored[element]];
  const steps = codes
    ? linearSteps(result, element, value, codes[element], back)
    : blockSteps(result, element, back);
  const difference = <span class="ink-error">{exact(result.error[element])}</span>;
  steps.push(["error", [real(value), " − ", bracketed(back, real), " = ", difference]]);
  return (
    <dl>
      {steps.map(([name, ...lines]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>
            {lines.map((line) => (
              <div>{line}</div>
            ))}
          </dd>
        </Fragment>
      ))}
    </dl>
  );
}

function linearSteps(
  { settings, evaluation }: Result,
  element: number,
  value: number,
  q: number,
  restored: number,
): Step[] {
  const slice = sliceOf(evaluation.slices, element);
  const scale = evaluation.scales[slice] ?? evaluation.scales[0];
  const zero = evaluation.zeroPoints[slice] ?? evaluation.zeroPoints[0] ?? 0;
  const { qmin, qmax } = limitsOf(settings);
  const f = Math.fround;
  const clamp = (...inner: ComponentChildren[]) => (
    <>
      clamp({inner}, {code(qmin)}, {code(qmax)})
    </>
  );
  const s = exact(scale);
  if (evaluation.isOffset) {
    const before = f(f(value - f(zero)) / f(scale));
    return [
      [
        "code",
        clamp("round((value − offset) / scale)"),
        ["= ", clamp("round((", real(value), " − ", signed(zero), ") / ", s, ")")],
        ["= ", clamp("round(", exact(before), ")"), " = ", code(q)],
      ],
      [
        "restored",
        "scale · code + offset",
        ["= ", s, " · ", bracketed(q, code), " + ", signed(zero), " = ", real(restored)],
      ],
    ];
  }
  const isTorch = settings.arithmetic === "torch";
  const isSymmetric = settings.scheme === "symmetric";
  const quotient = isTorch ? f(value * f(1 / f(scale))) : f(value / f(scale));
  const isPlain = isSymmetric && zero === 0;
  const plus = isPlain ? "" : [" + ", bracketed(zero, code)];
  const zeroPoint = isSymmetric ? "" : " + zero point";
  const minus = isPlain ? bracketed(q, code) : ["(", code(q), " − ", signed(zero), ")"];
  const lines = isTorch
    ? [
        clamp("round(value · (1 / scale))", zeroPoint),
        clamp("round(", real(value), " · ", exact(f(1 / f(scale))), ")", plus),
        [clamp("round(", exact(quotient), ")", plus), " = ", code(q)],
      ]
    : [
        clamp("round(value / scale", zeroPoint, ")"),
        clamp("round(", real(value), " / ", s, plus, ")"),
        [clamp("round(", exact(f(quotient + zero)), ")"), " = ", code(q)],
      ];
  return [
    ["code", ...lines.map((line, i) => (i === 0 ? line : ["= ", line]))],
    [
      "restored",
      `scale · ${isSymmetric ? "code" : "(code − zero point)"}`,
      ["= ", s, " · ", minus, " = ", real(restored)],
    ],
  ];
}

function blockSteps({ settings, evaluation }: Result, element: number, restored: number): Step[] {
  const { inner } = evaluation.slices;
  const block = Math.floor(element / inner);
  return [
    ["block", `${block} of ${settings.scheme.toUpperCase()}, ${inner} values`],
    ["restored", real(restored)],
  ];
}

/** A negative number in brackets. */
const signed = (value: number) => (value < 0 ? `(${exact(value)})` : exact(value));

const bracketed = (value: number, write: (value: number) => ComponentChildren) =>
  value < 0 ? ["(", write(value), ")"] : write(value);
