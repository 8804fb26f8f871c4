// Sums of products far more exact than double precision, to measure rounding errors against.

/** Dekker's product: a · b = high + low, exactly, inside double's range. */
function product(a, b) {
  const high = a * b;
  const [a1, a2] = split(a);
  const [b1, b2] = split(b);
  return [high, a2 * b2 - (high - a1 * b1 - a2 * b1 - a1 * b2)];
}

/** Veltkamp's split into halves of 26 bits. */
function split(value) {
  const scaled = 134217729 * value;
  const high = scaled - (scaled - value);
  return [high, value - high];
}

/** A sum kept as an unevaluated pair of doubles. */
export class ExactSum {
  high = 0;
  low = 0;

  add(term) {
    const sum = this.high + term;
    const part = sum - this.high;
    const error = this.high - (sum - part) + (term - part);
    const low = this.low + error;
    this.high = sum + low;
    this.low = low - (this.high - sum);
  }

  addProduct(a, b) {
    const [high, low] = product(a, b);
    this.add(high);
    this.add(low);
  }

  /** The difference between a number and the sum. */
  distance(number) {
    return Math.abs(number - this.high - this.low);
  }
}
