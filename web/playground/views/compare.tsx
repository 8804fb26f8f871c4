// A against B: the size and the errors of two settings on the same data.

import { useRef } from "preact/hooks";
import { memo } from "../../shell/drawing/hooks.js";
import { countText, formatNumber } from "../../shell/drawing/numbers.js";
import { keepReachable } from "../../shell/scrollable.js";
import type { Result } from "../engine.js";
import type { Playground } from "../playground.js";
import { isBlock, type Settings } from "../state.js";
import type { Evaluation } from "../worker/evaluate.js";
import { decibels } from "./curves.js";

const RANGES = {
  minmax: "",
  mse: ", least squared error",
  histogram: ", histogram observer",
  ends: ", ends by hand",
  qparams: ", qparams by hand",
};

export function describe(settings: Settings) {
  if (isBlock(settings)) return settings.scheme.toUpperCase();
  const { granularity, bits, scheme, isUnsigned, range, arithmetic } = settings;
  const unit = {
    tensor: "per tensor",
    channel: `per channel of axis ${settings.axis}`,
    group: `per group of ${settings.groupSize}`,
  }[granularity];
  const how = range === "percentile" ? `, percentile ${settings.percentile}` : RANGES[range];
  const name = {
    symmetric: "symmetric",
    affine: "affine",
    float: "affine with a float zero point",
  }[scheme];
  const who = arithmetic === "torch" ? "PyTorch: " : "";
  return `${who}${bits === 1 ? "1 bit" : `${bits} bits`}${isUnsigned ? " unsigned" : ""}, ${name}, ${unit}${how}`;
}

/** Each with its name, value, text, and whether more or less is better. */
export const ERRORS: [
  string,
  (evaluation: Evaluation) => number,
  (value: number) => string,
  1 | -1,
][] = [
  ["Bytes", ({ bytes }) => bytes, countText, -1],
  ["SQNR, dB", ({ metrics }) => metrics.sqnr, decibels, 1],
  ["Mean squared error", ({ metrics }) => metrics.mse, formatNumber, -1],
  ["Mean absolute error", ({ metrics }) => metrics.mae, formatNumber, -1],
  ["Largest error", ({ metrics }) => metrics.max, formatNumber, -1],
  ["Cosine", ({ metrics }) => metrics.cosine, (value) => value.toFixed(6), 1],
];

interface Props {
  /** Of the settings to compare with. */
  a: Result | undefined;
  b: Result | undefined;
  hasOther: boolean;
  playground: Playground;
}

export const Summary = memo(({ a, b, hasOther, playground }: Props) => {
  const keep = useRef<HTMLButtonElement>(null);
  const drop = () => {
    keep.current?.focus();
    playground.drop();
  };
  return (
    <section class="play-summary" aria-label="Errors">
      <div class="play-metrics-place scroll-x" ref={keepReachable}>
        {b && <Metrics a={a} b={b} />}
      </div>
      <p class="play-buttons">
        <button
          ref={keep}
          type="button"
          class="button"
          data-action="keep"
          onClick={playground.keep}
        >
          {hasOther ? "Replace A" : "Keep as A"}
        </button>
        {hasOther && (
          <>
            <button type="button" class="button" data-action="swap" onClick={playground.swap}>
              Swap A and B
            </button>
            <button type="button" class="button" data-action="drop" onClick={drop}>
              Drop A
            </button>
          </>
        )}
      </p>
    </section>
  );
});

function Metrics({ a, b }: { a: Result | undefined; b: Result }) {
  return (
    <table class="play-metrics">
      <caption>
        {a ? (
          <>
            <span>
              <b>A </b>
              {describe(a.settings)}
            </span>
            <span>
              <b>B </b>
              {describe(b.settings)}
            </span>
          </>
        ) : (
          describe(b.settings)
        )}
      </caption>
      {a && (
        <thead>
          <tr>
            <td />
            <th scope="col">A</th>
            <th scope="col">B</th>
            <th scope="col">Better</th>
          </tr>
        </thead>
      )}
      <tbody>
        {ERRORS.map(([name, read, text, sign]) => {
          const mine = read(b.evaluation);
          const theirs = a && read(a.evaluation);
          const better = mine === theirs ? "equal" : sign * (mine - (theirs ?? 0)) > 0 ? "B" : "A";
          return (
            <tr key={name}>
              <th scope="row">{name}</th>
              {theirs !== undefined && <td>{text(theirs)}</td>}
              <td>{text(mine)}</td>
              {theirs !== undefined && <td>{better}</td>}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
