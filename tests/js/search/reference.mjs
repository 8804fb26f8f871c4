// Exact scores by BigInt: float32 vectors as integers, and scores rounded once to double.

/** float32 as an integer times 2^-149. */
export function integerOf(value) {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0];
  const exponent = (bits >>> 23) & 0xff;
  const fraction = BigInt(bits & 0x7fffff);
  const magnitude = exponent === 0 ? fraction : (fraction | 0x800000n) << BigInt(exponent - 1);
  return bits >>> 31 ? -magnitude : magnitude;
}

/** floor(sqrt(n)). */
function rootOf(n) {
  if (n < 2n) return n;
  let x = 1n << BigInt((n.toString(16).length * 4 + 2) >> 1);
  for (;;) {
    const next = (x + n / x) >> 1n;
    if (next >= x) return x;
    x = next;
  }
}

/** sqrt(numerator / denominator), rounded once to double. */
function roundedRoot(numerator, denominator) {
  if (numerator === 0n) return 0;
  // More bits than a double has, and one that says whether any others are set.
  const missing = denominator.toString(2).length - numerator.toString(2).length;
  const shift = Math.ceil((Math.max(missing, -1000) + 140) / 2);
  const twice = BigInt(2 * Math.max(shift, 0));
  const shifted = numerator << twice;
  const quotient = shifted / denominator;
  const root = rootOf(quotient);
  const isExact = root * root === quotient && quotient * denominator === shifted;
  return Number(2n * root + (isExact ? 0n : 1n)) * 2 ** -(Number(twice) / 2 + 1);
}

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0n);

/** The score of float32 vectors, given as integers; larger is nearer. */
export function exactScore(query, row, metric) {
  if (metric === "dot") return Number(dot(query, row)) * 2 ** -298;
  if (metric === "euclidean") {
    const difference = query.map((value, i) => value - row[i]);
    return -roundedRoot(dot(difference, difference), 1n) * 2 ** -149;
  }
  const product = dot(query, row);
  const norms = dot(query, query) * dot(row, row);
  if (norms === 0n || product === 0n) return 0;
  const size = roundedRoot(product * product, norms);
  return product < 0n ? -size : size;
}

/** Positions of rows, nearest first, ties by position. */
export function nearest(scores) {
  const order = scores.map((_, i) => i);
  return order.sort((a, b) => scores[b] - scores[a] || a - b);
}
