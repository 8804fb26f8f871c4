// Numbers as the drawings and tables of the page write them.

/**
 * Four digits are enough for a cell of a heat map.
 * @param {number} value
 */
export function formatNumber(value) {
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
