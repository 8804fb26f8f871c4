// Rounding half to even.

// Adding and then subtracting 2^52 removes the fraction and rounds half to even.
const WHOLE = 2 ** 52;

/** Rounds half to even; keeps the sign of 0, NaN and infinities. */
export function roundHalfEven(value: number): number {
  const magnitude = Math.abs(value);
  if (!(magnitude < WHOLE)) return value;
  const rounded = magnitude + WHOLE - WHOLE;
  return value < 0 || Object.is(value, -0) ? -rounded : rounded;
}
