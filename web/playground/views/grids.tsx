// Value, code, restored value and error of every element, in grids that share one selection. A grid is a
// canvas; its table has the numbers.

import type { Ref, TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { memo, useWidth } from "../../shell/drawing/hooks.js";
import { formatNumber } from "../../shell/drawing/numbers.js";
import type { Data, Result } from "../engine.js";
import type { Playground } from "../playground.js";
import { colorsOf } from "./colors.js";
import { indexOf, layoutOf } from "./geometry.js";
import { extremesOf } from "./levels.js";
import { type Cells, cellsOf, elementOf, hasStrokes, type Panel, paintGrid } from "./paint-grid.js";
import { ClosedTable, PagedTable } from "./table.js";

interface Props {
  data: Data;
  /** Of the settings to compare with. */
  a: Result | undefined;
  b: Result;
  selected: number;
  /** The element that is marked. */
  element: number;
  isDark: boolean;
  playground: Playground;
}

/** The grids of all elements, with one selection. */
export const Grids = memo(({ data, a, b, selected, element, isDark, playground }: Props) => {
  const { values, shape } = data;
  const [box, room] = useWidth();
  const panels = useMemo(() => panelsOf(data, a, b), [data, a, b]);
  const layout = useMemo(() => layoutOf(shape), [shape]);
  const cells = useMemo(() => cellsOf(layout, room), [layout, room, devicePixelRatio]);
  const pressKey = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const { columns } = layout;
    const size = values.length;
    const row = selected - (selected % columns);
    const places: Record<string, number> = {
      ArrowLeft: selected - 1,
      ArrowRight: selected + 1,
      ArrowUp: selected - columns,
      ArrowDown: selected + columns,
      Home: row,
      End: Math.min(size, row + columns) - 1,
      PageUp: selected % columns,
      PageDown: size - 1 - ((size - 1 - selected) % columns),
    };
    const to = places[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    playground.select(Math.max(0, Math.min(size - 1, to)), true);
  };
  return (
    <>
      <div class="play-grids" data-small={layout.columns <= 4 ? "" : undefined}>
        {panels.map((panel, i) => (
          <Grid
            key={panel.name}
            panel={panel}
            cells={room < 20 ? undefined : cells}
            colors={colorsOf(panel.meaning, isDark)}
            element={element}
            box={i === 0 ? box : null}
            onKeyDown={pressKey}
            playground={playground}
          />
        ))}
      </div>
      <p class="play-note" hidden={!panels.some((panel) => hasStrokes(panel, cells))}>
        A stroke marks a negative number.
      </p>
      <ElementsTable panels={panels} shape={shape} />
    </>
  );
});

function panelsOf({ values, histogram }: Data, a: Result | undefined, b: Result): Panel[] {
  const { settings, evaluation } = b;
  const { codes, restored, metrics } = evaluation;
  const ends = { least: histogram.low, greatest: histogram.high };
  const back = extremesOf(restored);
  const worst = Math.max(metrics.max, a?.evaluation.metrics.max ?? 0);
  const errorOf = (name: string, { error, evaluation: { metrics: m } }: Result): Panel => ({
    name,
    meaning: "error",
    data: error,
    least: -worst,
    greatest: worst,
    note: `largest ${formatNumber(m.max)}`,
  });
  const panels: Panel[] = [{ name: "Value", meaning: "real", data: values, ...ends }];
  if (codes) {
    // Not the dtype's limits, for which the colours of few codes would hardly differ.
    const colors = { ...extremesOf(codes), isBySize: settings.scheme === "symmetric" };
    panels.push({ name: "Code", meaning: "code", data: codes, ...colors });
  }
  const note = `${formatNumber(back.least)} to ${formatNumber(back.greatest)}`;
  panels.push({ name: "Restored", meaning: "real", data: restored, ...ends, note });
  panels.push(errorOf(a ? "Error of B" : "Error", b));
  if (a) panels.push(errorOf("Error of A", a));
  return panels;
}

interface GridProps {
  panel: Panel;
  /** Undefined before the room is known. */
  cells: Cells | undefined;
  colors: Uint8ClampedArray;
  element: number;
  box: Ref<HTMLDivElement>;
  onKeyDown: (event: TargetedKeyboardEvent<HTMLElement>) => void;
  playground: Playground;
}

/** One canvas and its marker. */
function Grid({ panel, cells, colors, element, box, onKeyDown, playground }: GridProps) {
  const { name, data, least, greatest, note, isBySize } = panel;
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    if (canvas.current && cells) paintGrid(canvas.current, panel, cells, colors);
  }, [data, least, greatest, isBySize, cells, colors]);
  /** The element at a place of the screen; undefined beyond the end. */
  const elementAt = ({ clientX, clientY }: MouseEvent) => {
    if (!cells || !canvas.current) return undefined;
    const { rows, columns, width, height, across, down } = cells;
    const { left, top } = canvas.current.getBoundingClientRect();
    const [j, i] = [Math.floor((clientX - left) / width), Math.floor((clientY - top) / height)];
    if (i < 0 || j < 0 || i * down >= rows || j * across >= columns) return undefined;
    const found = elementOf(data, cells, i, j);
    return found < 0 ? undefined : found;
  };
  const point = (event: TargetedPointerEvent<HTMLElement>) => {
    if (event.pointerType !== "touch") playground.hover(elementAt(event));
  };
  const select = (event: MouseEvent) => {
    const at = elementAt(event);
    if (at !== undefined) playground.select(at, true);
  };
  return (
    <figure class="play-grid">
      <figcaption>
        <strong>{name}</strong>{" "}
        <span class="play-range">
          {note ?? `${formatNumber(least)} to ${formatNumber(greatest)}`}
          {cells && cells.across * cells.down > 1 && `, largest of ${cells.down} × ${cells.across}`}
        </span>
      </figcaption>
      <div
        ref={box}
        class="play-canvas"
        tabindex={0}
        role="application"
        aria-label={`${name}: arrow keys select an element`}
        onPointerMove={point}
        onPointerLeave={() => playground.hover(undefined)}
        onClick={select}
        onKeyDown={onKeyDown}
      >
        <canvas ref={canvas} aria-hidden="true" />
        {cells && <div class="play-marker" style={markerStyle(cells, element)} />}
      </div>
    </figure>
  );
}

function markerStyle({ columns, width, height, across, down }: Cells, element: number) {
  const i = Math.floor(Math.floor(element / columns) / down);
  const j = Math.floor((element % columns) / across);
  return {
    transform: `translate(${j * width}px, ${i * height}px)`,
    width: `${Math.max(width, 5)}px`,
    height: `${Math.max(height, 5)}px`,
  };
}

const ElementsTable = memo(({ panels, shape }: { panels: Panel[]; shape: readonly number[] }) => (
  <div class="play-table">
    <ClosedTable name="all elements">
      {() => (
        <PagedTable
          data={{
            caption: "Each element with its code",
            rows: panels[0].data.length,
            columns: panels.length,
            rowName: (row) => indexOf(shape, row),
            columnName: (column) => panels[column].name,
            cell: (row, column) => formatNumber(panels[column].data[row]),
          }}
        />
      )}
    </ClosedTable>
  </div>
));
