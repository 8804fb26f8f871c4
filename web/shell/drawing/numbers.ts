// Numbers as the drawings and tables of the page write them.

/** Four digits are enough for a cell of a heat map. */
export function formatNumber(value: number) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "−inf";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text =
    Number.isInteger(value) && size < 1e6
      ? String(size)
      : size >= 1e5 || size < 1e-3
        ? size.toExponential(1).replace("e+", "e").replace("e-", "e−")
        : String(Number(size.toPrecision(4)));
  return value < 0 ? `−${text}` : text;
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** Bytes in decimal units, as file managers and hubs show them. */
export function bytesText(bytes: number) {
  let unit = 0;
  let value = bytes;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(value < 99.95 ? 1 : 0)} ${UNITS[unit]}`;
}

/** An integer with its digits in groups of three. `toLocaleString` loads tables for 20 ms first. */
export const countText = (count: number) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

/** A count with its noun in the singular or plural. */
export const nounText = (count: number, noun: string) =>
  `${countText(count)} ${noun}${count === 1 ? "" : "s"}`;

/**
 * A time of a few digits.
 * @param time  milliseconds
 */
export function millisecondsText(time: number) {
  if (time >= 999.5) return `${(time / 1000).toFixed(1)}\u00a0s`;
  return `${time >= 9.95 ? time.toFixed(0) : time.toFixed(time < 0.095 ? 2 : 1)}\u00a0ms`;
}
