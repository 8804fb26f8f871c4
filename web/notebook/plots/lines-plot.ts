// The argument of plotLines, checked and copied so that a worker can send it to the page.

/** NaN in y is a gap. */
export type Series = { name: string; x: Float64Array; y: Float64Array };

/** A level is a value to compare with, and `within` how far from it a value does not differ. */
export type LinesPlot = {
  kind: "lines";
  title: string;
  x: string;
  y: string;
  series: Series[];
  level?: { name: string; y: number; within: number } | undefined;
};

const SERIES_LIMIT = 24;
const USE = "plotLines takes { title, x, y, series: [{ name, points: [[x, y], …] }, …], level? }";

export function linesPlot(plot: any): LinesPlot {
  if (typeof plot !== "object" || plot === null || Array.isArray(plot)) {
    throw new TypeError(`${USE}, got ${kindOf(plot)}`);
  }
  const { title = "", x = "x", y = "y", series, level } = plot;
  if (!Array.isArray(series) || series.length === 0) {
    throw new TypeError(
      `plotLines: series must be a list of { name, points: [[x, y], …] }, got ${kindOf(series)}`,
    );
  }
  if (series.length > SERIES_LIMIT) {
    throw new RangeError(`plotLines: there can be ${SERIES_LIMIT} series, got ${series.length}`);
  }
  return {
    kind: "lines",
    title: String(title),
    x: String(x),
    y: String(y),
    series: series.map(copied),
    level: level === undefined || level === null ? undefined : copiedLevel(level),
  };
}

function copied(one: any, i: number): Series {
  const name = String(one?.name ?? `series ${i + 1}`);
  const points = one?.points;
  if (typeof points?.[Symbol.iterator] !== "function" || typeof points === "string") {
    throw new TypeError(
      `plotLines: points of ${name} must be a list of [x, y], got ${kindOf(points)}`,
    );
  }
  const list = Array.from(points);
  const series = { name, x: new Float64Array(list.length), y: new Float64Array(list.length) };
  for (const [at, point] of list.entries()) {
    if (!Array.isArray(point) || point.length !== 2) {
      throw new TypeError(`plotLines: point ${at} of ${name} must be [x, y], got ${kindOf(point)}`);
    }
    const [a, b] = [numberOf(point[0]), numberOf(point[1] ?? Number.NaN)];
    if (!Number.isFinite(a) || Math.abs(b) === Number.POSITIVE_INFINITY) {
      throw new RangeError(
        `plotLines: points of ${name} must be finite, or NaN in y for a gap, got [${a}, ${b}]`,
      );
    }
    series.x[at] = a;
    series.y[at] = b;
  }
  return series;
}

function copiedLevel({ name = "level", y, within = 0 }: any) {
  if (!Number.isFinite(y) || !(within >= 0)) {
    throw new RangeError(
      `plotLines: level must be { name, y, within? } with finite numbers, got y = ${y}, within = ${within}`,
    );
  }
  return { name: String(name), y: Number(y), within: Number(within) };
}

/** A number, or a tensor of one element. */
const numberOf = (value: any) => Number(typeof value?.item === "function" ? value.item() : value);

function kindOf(value: unknown) {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
