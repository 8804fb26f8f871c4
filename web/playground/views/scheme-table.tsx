// A table of schemes with their size and error on the same data, to sort and to choose from.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { memo } from "../../shell/drawing/hooks.js";
import { countText, formatNumber } from "../../shell/drawing/numbers.js";
import { keepReachable } from "../../shell/scrollable.js";
import { type Settings, writeSettings } from "../state.js";
import type { SchemeRow } from "../worker/sweeps.js";
import { decibels } from "./curves.js";

type Column = {
  name: string;
  title: string;
  value: (row: SchemeRow) => number | string;
  text: (row: SchemeRow) => string;
  isGreatFirst?: boolean;
};

const SQNR: Column = {
  name: "sqnr",
  title: "SQNR, dB",
  value: ({ metrics }) => metrics.sqnr,
  text: ({ metrics }) => decibels(metrics.sqnr),
  isGreatFirst: true,
};

const COLUMNS: Column[] = [
  { name: "name", title: "Scheme", value: ({ name }) => name, text: ({ name }) => name },
  {
    name: "bits",
    title: "Bits a value",
    value: ({ bitsPerValue }) => bitsPerValue,
    text: ({ bitsPerValue }) => bitsPerValue.toFixed(2),
  },
  {
    name: "bytes",
    title: "Bytes",
    value: ({ bytes }) => bytes,
    text: ({ bytes }) => countText(bytes),
  },
  SQNR,
  {
    name: "mse",
    title: "Mean squared error",
    value: ({ metrics }) => metrics.mse,
    text: ({ metrics }) => formatNumber(metrics.mse),
  },
  {
    name: "max",
    title: "Largest error",
    value: ({ metrics }) => metrics.max,
    text: ({ metrics }) => formatNumber(metrics.max),
  },
];

interface Props {
  rows: SchemeRow[];
  settings: Settings;
  onChoose: (settings: Settings) => void;
}

export const SchemeTable = memo(({ rows, settings, onChoose }: Props) => {
  const [{ by, isReversed }, setOrder] = useState({ by: SQNR, isReversed: false });
  const sign = (by.isGreatFirst ? -1 : 1) * (isReversed ? -1 : 1);
  const sorted = useMemo(() => {
    const best = Math.max(...rows.map(({ metrics }) => metrics.sqnr).filter(Number.isFinite), 1);
    return rows
      .map((row) => ({
        row,
        text: writeSettings(row.settings),
        share: Math.max(0, Math.min(1, row.metrics.sqnr / best)),
      }))
      .sort(({ row: a }, { row: b }) => {
        const [x, y] = [by.value(a), by.value(b)];
        return sign * (x < y ? -1 : x > y ? 1 : 0);
      });
  }, [rows, by, sign]);
  const current = writeSettings(settings);
  // Browsers without moveBefore take the focus from a row that gets another place.
  const body = useRef<HTMLTableSectionElement>(null);
  const { activeElement } = document;
  const focused = body.current?.contains(activeElement) ? activeElement : null;
  useLayoutEffect(() => {
    if (focused instanceof HTMLElement && focused !== document.activeElement)
      focused.focus({ preventScroll: true });
  });
  return (
    <div class="play-schemes-place">
      {rows.length > 0 && (
        <div class="scroll-x" ref={keepReachable}>
          <table class="play-schemes">
            <caption>
              Codes packed at their bits, 4 bytes a scale, 1 byte a zero point, in the course’s
              arithmetic
            </caption>
            <thead>
              <tr>
                {COLUMNS.map((column) => {
                  const isBy = column === by;
                  const order = sign > 0 ? "ascending" : "descending";
                  return (
                    <th key={column.name} scope="col" aria-sort={isBy ? order : undefined}>
                      <button
                        type="button"
                        data-sort={column.name}
                        onClick={() => setOrder({ by: column, isReversed: isBy && !isReversed })}
                      >
                        {column.title}
                        <span class="sort-mark" aria-hidden="true">
                          {isBy && (sign > 0 ? "↑" : "↓")}
                        </span>
                      </button>
                    </th>
                  );
                })}
              </tr>
            </thead>
            <tbody ref={body}>
              {sorted.map(({ row, text, share }) => (
                <Row
                  key={row.name}
                  row={row}
                  share={share}
                  isCurrent={text === current}
                  onChoose={onChoose}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
});

interface RowProps {
  row: SchemeRow;
  /** Of the best row's SQNR. */
  share: number;
  isCurrent: boolean;
  onChoose: (settings: Settings) => void;
}

const Row = memo(({ row, share, isCurrent, onChoose }: RowProps) => (
  <tr data-chosen={isCurrent ? "" : undefined}>
    {COLUMNS.map((column) =>
      column.name === "name" ? (
        <th scope="row">
          <button
            type="button"
            data-row={row.name}
            aria-current={isCurrent ? "true" : undefined}
            onClick={() => onChoose(row.settings)}
          >
            {row.name}
          </button>
        </th>
      ) : (
        <td data-column={column.name}>
          {column === SQNR && (
            <svg
              class="sqnr-bar"
              viewBox="0 0 100 4"
              preserveAspectRatio="none"
              aria-hidden="true"
              focusable="false"
            >
              <rect width={Math.round(100 * share)} height={4} />
            </svg>
          )}
          {column.text(row)}
        </td>
      ),
    )}
  </tr>
));
