// The size slider: a point of the frontier becomes a plan.

import type { ScaleLogarithmic } from "d3-scale";
import { useCallback, useMemo } from "preact/hooks";
import type { Plan } from "zeropoint/models";
import { axis, levels, linear, lineThrough, logarithmic, ticks } from "../../figures/chart.js";
import { drawing } from "../../figures/parts.js";
import { closest } from "../../shell/dom.js";
import { Drawn } from "../../shell/drawing/drawn.js";
import { Facts } from "../../shell/drawing/facts.js";
import { memo, useWidth } from "../../shell/drawing/hooks.js";
import { bytesText } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import { placeLabels } from "./frontier-labels.js";

const HEIGHT = 270;
/** Charts of fewer pixels have numbers in the place of names, and a list of the names below. */
const NAMED = 640;
const MARGIN = { top: 34, right: 16, bottom: 34, left: 56 };

/** Of the frontier: bytes ascending, error descending. */
type Point = { bytes: number; error: number };

/** One scheme for all layers, or one of llama-quantize's mixes. */
export type Uniform = { name: string; bytes: number; error: number; isPreset?: boolean };

/** Signal to noise of a relative squared error, in dB. */
export const decibels = (error: number) =>
  error > 0 ? -10 * Math.log10(error) : Number.POSITIVE_INFINITY;

export const decibelText = (error: number) =>
  error > 0 ? `${decibels(error).toFixed(1)} dB` : "no error";

/** What the error of a plan is estimated from. */
const ESTIMATES = {
  samples: "estimated from samples of the layers",
  squares: "estimated as if the inputs of a layer were uncorrelated",
};

/** How far the error of a plan is from the least possible one. */
function boundText(gap: number | null) {
  if (gap === null) return "";
  const least = "the least possible error at this size";
  return gap > 0 ? `at most ${(100 * gap).toPrecision(1)} % above ${least}` : least;
}

/**
 * The chart of error against bytes, and on narrow screens the list of its circles.
 * @param width  in pixels
 */
function chart({ points, uniforms, parameters }: Frontier, current: Point, width: number) {
  const shown = points.filter(({ error }) => error > 0);
  const errors = [...shown, ...uniforms.filter(({ error }) => error > 0)].map(({ error }) => error);
  const domain = domainOf(points, uniforms);
  if (errors.length < 2) return [];
  const ends = [MARGIN.left, width - MARGIN.right] as const;
  const bottom = HEIGHT - MARGIN.bottom;
  const x = linear(domain, ends);
  const bits = linear(domain.map((bytes) => (8 * bytes) / parameters) as [number, number], ends);
  const y = logarithmic([Math.min(...errors), Math.max(...errors)], [MARGIN.top, bottom]);
  /** Of decibels. */
  const down = (value: number) => y(10 ** (-value / 10));
  const placeOf = ({ bytes, error }: Point) => ({ x: x(bytes), y: y(error) });
  const line = shown.map(placeOf);
  const isNamed = width >= NAMED;
  const circles = uniforms
    .filter(({ error }) => error > 0)
    .sort((a, b) => a.bytes - b.bytes)
    .map((uniform, i) => ({
      ...placeOf(uniform),
      name: uniform.name,
      isPreset: uniform.isPreset,
      text: isNamed ? uniform.name : String(i + 1),
    }));
  const labels = placeLabels(circles, line, {
    left: MARGIN.left,
    right: width,
    top: 14, // below the ticks of bits
    bottom,
  });
  const marker = current.error > 0 ? y(current.error) : MARGIN.top;
  const hasMixes = circles.some(({ isPreset }) => isPreset);
  const drawn = drawing(
    width,
    HEIGHT,
    `Signal to noise against the size of the file, below in bytes, above in bits per value: the line shows the best plan of each size, each circle one scheme for all layers${hasMixes ? ", each square a mix of llama-quantize" : ""}`,
    ticks(x, x.ticks(isNamed ? 5 : 3), HEIGHT - 12, tickText),
    ticks(bits, bits.ticks(isNamed ? 6 : 3), 10, (value) => `${value} bits`),
    levels(down, decibelTicks(y), ends, (value) => `${value} dB`),
    axis(ends, bottom),
    lineThrough(line, Number, Number, "curve is-quality"),
    circles.map((circle, i) =>
      h(
        "g",
        {
          class: circle.isPreset ? "frontier-uniform is-preset" : "frontier-uniform",
          "data-preset": circle.isPreset && circle.name,
        },
        h("title", {}, circle.name),
        circle.isPreset
          ? h("rect", { x: circle.x - 3.5, y: circle.y - 3.5, width: 7, height: 7 })
          : h("circle", { cx: circle.x, cy: circle.y, r: 3.5 }),
        h("text", { x: labels[i].x, y: labels[i].y, "text-anchor": labels[i].anchor }, circle.text),
      ),
    ),
    h("circle", { class: "frontier-current", cx: x(current.bytes), cy: marker, r: 6 }),
  );
  const key = h(
    "ol",
    { class: "frontier-key" },
    circles.map(({ name }) => h("li", {}, name)),
  );
  return isNamed ? [drawn] : [drawn, key];
}

/** Least and most bytes of the chart and of its slider. */
function domainOf(points: readonly Point[], uniforms: readonly Uniform[]) {
  const sizes = [...points, ...uniforms].map(({ bytes }) => bytes);
  return [Math.min(...sizes), Math.max(...sizes)] as [number, number];
}

/** A tick of the axis of bytes, without zeros behind the point. */
const tickText = (value: number) => bytesText(value).replace(/\.0\b/, "");

/** Multiples of 10 dB within the scale. */
function decibelTicks(y: ScaleLogarithmic<number, number>) {
  const [high, low] = y.domain().map(decibels);
  const ticks = [];
  for (let value = Math.ceil(low / 10) * 10; value <= high; value += 10) ticks.push(value);
  return ticks;
}

/** Keys of the slider, by the share of all points that they go. */
const STEPS: Record<string, number | undefined> = {
  ...{ ArrowLeft: -1e-9, ArrowDown: -1e-9, ArrowRight: 1e-9, ArrowUp: 1e-9 },
  ...{ PageDown: -0.1, PageUp: 0.1, Home: -1, End: 1 },
};

export interface Frontier {
  points: readonly Point[];
  uniforms: readonly Uniform[];
  /** Values of the file. */
  parameters: number;
}

export interface Planned {
  /** preset: its name, if it is a mix of llama-quantize. */
  plan: Plan & { preset?: string };
  /** On the frontier: about the bytes of the files. */
  point: Point;
  /** That the writer makes of the plan. */
  files: readonly { name: string; size: number }[];
  estimate: keyof typeof ESTIMATES | undefined;
}

/**
 * @param whole  bytes of the file as it is
 * @param parameters  its values
 */
function planText({ plan, files, estimate }: Planned, whole: number, parameters: number) {
  const { error, gap, metric, preset } = plan;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const share = `${((100 * bytes) / whole).toFixed(0)} %`;
  const count = files.length === 1 ? "" : ` in ${files.length} files`;
  const parts = [
    `${bytesText(bytes)}${count} (${share} of ${bytesText(whole)})`,
    `${estimate ? "≈ " : ""}${decibelText(error)} in ${metric === "output" ? "outputs" : "weights"}`,
    preset && `${((8 * bytes) / parameters).toFixed(2)} bits per value`,
    estimate ? ESTIMATES[estimate] : !preset && boundText(gap),
  ];
  const name = preset ? `${preset}, llama.cpp's mix: ` : "";
  return `${name}${parts.filter(Boolean).join(", ")}`;
}

interface Props {
  frontier: Frontier;
  planned: Planned;
  /** What was asked for. */
  budget: number | undefined;
  /** Where the slider stands: at the size of the plan, as the chart does, or at a newer choice. */
  size: number;
  /** Bytes of the file as it is. */
  whole: number;
  /** preset: the mix of this size. */
  onBudget: (bytes: number, preset?: string) => void;
}

/** The chart, the slider and the table of the chart's circles and squares. */
export function PlanView({ frontier, planned, budget = 0, size, whole, onBudget }: Props) {
  const { points, uniforms, parameters } = frontier;
  const [box, width] = useWidth();
  const drawn = useMemo(
    () => width > 0 && <Drawn trees={chart(frontier, planned.point, width)} />,
    [frontier, planned, width],
  );
  const [least, most] = domainOf(points, uniforms);
  const text = planText(planned, whole, parameters);
  const choosePreset = useCallback(
    (wanted: string | undefined) => {
      const found = uniforms.find(({ name, isPreset }) => isPreset && name === wanted);
      if (found) onBudget(found.bytes, found.name);
    },
    [uniforms],
  );
  // Keys go from point to point of the frontier, of which there may be few or thousands.
  const step = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined || points.length === 0) return;
    event.preventDefault();
    const last = points.length - 1;
    const now = points.findLastIndex(({ bytes }) => bytes <= budget);
    const far = Math.sign(step) * Math.ceil(Math.abs(step) * last);
    onBudget(points[Math.max(0, Math.min(last, now + far))].bytes);
  };
  return (
    <div class="lab-frontier">
      <div
        ref={box}
        class="frontier-box"
        onClick={(event) => choosePreset(closest(event, "[data-preset]")?.dataset.preset)}
      >
        {drawn}
      </div>
      <label class="budget">
        <span>Size of the quantized file</span>
        <input
          type="range"
          min={least}
          max={most}
          step="any"
          value={size}
          aria-valuetext={text}
          onInput={({ currentTarget: { value } }) =>
            onBudget(Math.max(points[0].bytes, Math.round(Number(value))))
          }
          onKeyDown={step}
        />
        <output class="budget-text">{text}</output>
      </label>
      <details class="frontier-table">
        <summary>
          One scheme for all layers{uniforms.some(({ isPreset }) => isPreset) && ", and mixes"}
        </summary>
        <Uniforms {...{ uniforms, parameters }} choosePreset={choosePreset} />
      </details>
    </div>
  );
}

interface UniformsProps extends Omit<Frontier, "points"> {
  choosePreset: (name: string) => void;
}

const Uniforms = memo(({ uniforms, parameters, choosePreset }: UniformsProps) => (
  <Facts titles={["Scheme", "File, about", "Bits per value", "SQNR"]}>
    {uniforms.map(({ name, bytes, error, isPreset }) => (
      <tr>
        <th scope="row">
          {isPreset ? (
            <button type="button" class="lab-sample" onClick={() => choosePreset(name)}>
              {name}
            </button>
          ) : (
            name
          )}
        </th>
        <td>{bytesText(bytes)}</td>
        <td>{((8 * bytes) / parameters).toFixed(2)}</td>
        <td>{decibelText(error)}</td>
      </tr>
    ))}
  </Facts>
));
