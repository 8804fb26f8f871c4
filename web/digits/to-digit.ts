// A drawing as an image like those of MNIST: the ink within 20 by 20 pixels, its centre of mass in the middle of 28 by 28.
// Source: LeCun, Cortes, Burges, "The MNIST database of handwritten digits".

const [IMAGE, BOX] = [28, 20];

/**
 * @param data  red, green, blue and opacity of each pixel; the ink is the opacity
 * @param side  pixels in a row
 * @returns 784 values from 0 (paper) to 1 (ink); undefined for empty paper
 */
export function toDigit(data: Uint8ClampedArray, side: number): Float32Array | undefined {
  const inkAt = (x: number, y: number) => data[4 * (y * side + x) + 3];
  let [left, top, right, bottom] = [side, side, -1, -1];
  let [sum, sumX, sumY] = [0, 0, 0];
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const ink = inkAt(x, y);
      if (ink === 0) continue;
      [left, right] = [Math.min(left, x), Math.max(right, x)];
      [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
      sum += ink;
      sumX += ink * (x + 0.5);
      sumY += ink * (y + 0.5);
    }
  }
  if (sum === 0) return undefined;
  // The larger side of the ink fills the box; a dot is not enlarged to fill it.
  const step = Math.max(right + 1 - left, bottom + 1 - top, side / 4) / BOX;
  const [x0, y0] = [sumX / sum - (IMAGE / 2) * step, sumY / sum - (IMAGE / 2) * step];
  const pixels = new Float32Array(IMAGE * IMAGE);
  for (let row = 0; row < IMAGE; row++) {
    for (let column = 0; column < IMAGE; column++) {
      const value = mean(inkAt, side, x0 + column * step, y0 + row * step, step);
      pixels[row * IMAGE + column] = value / 255;
    }
  }
  return pixels;
}

/**
 * The mean of the ink in a square, part of whose area may be beyond the paper.
 * @param step  the square's side
 */
function mean(
  inkAt: (x: number, y: number) => number,
  side: number,
  x: number,
  y: number,
  step: number,
) {
  let sum = 0;
  const [endX, endY] = [Math.min(x + step, side), Math.min(y + step, side)];
  for (let j = Math.max(0, Math.floor(y)); j < endY; j++) {
    const height = Math.min(j + 1, endY) - Math.max(j, y);
    for (let i = Math.max(0, Math.floor(x)); i < endX; i++) {
      sum += inkAt(i, j) * height * (Math.min(i + 1, endX) - Math.max(i, x));
    }
  }
  return sum / (step * step);
}
