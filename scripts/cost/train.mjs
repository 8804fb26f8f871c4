// Trains the network: 784 pixels, 64 hidden units with ReLU, 10 digits.
//
// Cross-entropy, stochastic gradient descent with momentum and weight decay. All arithmetic is + - * / and
// sqrt on float64 in a fixed order: JavaScript engines agree on every bit of these operations, but not of
// Math.exp, so the weights are the same on every engine.

import { LEVELS, PIXELS } from "./digits.mjs";

const HIDDEN = 64;
export const DIGITS = 10;

const SEED = 42;
const EPOCHS = 8;
const BATCH = 32;
const LEARNING_RATE = 0.1;
const MOMENTUM = 0.9;
const WEIGHT_DECAY = 0.0005;

/**
 * @typedef {object} Layer
 * @property {Float32Array} weight  [outputs][inputs]
 * @property {Float32Array} bias    [outputs]
 */

/**
 * @param {import("./digits.mjs").Digits} digits
 * @returns {Layer[]}
 */
export function train({ codes, labels }) {
  const random = createRandom(SEED);
  const images = inkedPixels(codes);
  const network = createNetwork(images, random);
  const order = Array.from(labels, (_, i) => i);
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    shuffle(order, random);
    const rate = LEARNING_RATE * (1 - epoch / EPOCHS);
    for (let start = 0; start < order.length; start += BATCH) {
      const batch = order.slice(start, start + BATCH);
      for (const i of batch) addGradient(network, images[i], labels[i]);
      for (const parameter of Object.values(network.parameters)) {
        descend(parameter, rate, batch.length);
      }
    }
  }
  return layersOf(network);
}

/** Xorshift, G. Marsaglia 2003: numbers in [0, 1). */
export function createRandom(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

export function shuffle(list, random) {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [list[i], list[j]] = [list[j], list[i]];
  }
}

/** Sparse images: four fifths of all pixels are paper (0) and contribute nothing, so only the rest is listed. */
function inkedPixels(codes) {
  const scale = Math.fround(1 / (LEVELS - 1));
  return Array.from({ length: codes.length / PIXELS }, (_, i) => {
    const image = codes.subarray(i * PIXELS, (i + 1) * PIXELS);
    const places = Uint16Array.from(image.keys()).filter((at) => image[at] > 0);
    return { places, values: Float64Array.from(places, (at) => Math.fround(image[at] * scale)) };
  });
}

function createNetwork(images, random) {
  const isInked = new Uint8Array(PIXELS);
  for (const { places } of images) for (const at of places) isInked[at] = 1;
  // Uniform in +-sqrt(6 / inputs). Weights of a pixel without ink in any digit never change, so they start at 0.
  const start = (length, reach, isUsed) =>
    createParameter(
      Float64Array.from({ length }, (_, i) => {
        const value = (2 * random() - 1) * reach;
        return isUsed(i) ? value : 0;
      }),
      WEIGHT_DECAY,
    );
  return {
    parameters: {
      // Layout [pixel][hidden]: the weights of one pixel are contiguous.
      firstWeight: start(
        PIXELS * HIDDEN,
        Math.sqrt(6 / PIXELS),
        (i) => isInked[Math.floor(i / HIDDEN)],
      ),
      firstBias: createParameter(new Float64Array(HIDDEN), 0),
      // [digit][hidden]
      secondWeight: start(DIGITS * HIDDEN, Math.sqrt(6 / HIDDEN), () => true),
      secondBias: createParameter(new Float64Array(DIGITS), 0),
    },
    hidden: new Float64Array(HIDDEN),
    hiddenGradient: new Float64Array(HIDDEN),
    outputs: new Float64Array(DIGITS),
  };
}

export function createParameter(values, decay) {
  const { length } = values;
  return { values, decay, gradient: new Float64Array(length), speed: new Float64Array(length) };
}

/** Forward pass of one image, then its gradient, added to the batch's gradient. */
function addGradient({ parameters, hidden, hiddenGradient, outputs }, { places, values }, label) {
  const { firstWeight, firstBias, secondWeight, secondBias } = parameters;

  hidden.set(firstBias.values);
  for (let p = 0; p < places.length; p++) {
    const row = places[p] * HIDDEN;
    for (let k = 0; k < HIDDEN; k++) hidden[k] += values[p] * firstWeight.values[row + k];
  }
  for (let k = 0; k < HIDDEN; k++) if (hidden[k] < 0) hidden[k] = 0;
  for (let digit = 0; digit < DIGITS; digit++) {
    let sum = secondBias.values[digit];
    for (let k = 0; k < HIDDEN; k++) sum += hidden[k] * secondWeight.values[digit * HIDDEN + k];
    outputs[digit] = sum;
  }

  // Gradient of cross-entropy: the probabilities, minus 1 at the label.
  softmax(outputs);
  outputs[label] -= 1;

  hiddenGradient.fill(0);
  for (let digit = 0; digit < DIGITS; digit++) {
    const row = digit * HIDDEN;
    secondBias.gradient[digit] += outputs[digit];
    for (let k = 0; k < HIDDEN; k++) {
      secondWeight.gradient[row + k] += outputs[digit] * hidden[k];
      hiddenGradient[k] += outputs[digit] * secondWeight.values[row + k];
    }
  }
  for (let k = 0; k < HIDDEN; k++) {
    if (hidden[k] === 0) hiddenGradient[k] = 0;
    firstBias.gradient[k] += hiddenGradient[k];
  }
  for (let p = 0; p < places.length; p++) {
    const row = places[p] * HIDDEN;
    for (let k = 0; k < HIDDEN; k++) firstWeight.gradient[row + k] += values[p] * hiddenGradient[k];
  }
}

export function softmax(values) {
  let largest = values[0];
  for (const value of values) if (value > largest) largest = value;
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    values[i] = exponential(values[i] - largest);
    sum += values[i];
  }
  for (let i = 0; i < values.length; i++) values[i] /= sum;
}

/** e^x = (e^(x / 1024))^1024 for x <= 0, to five digits unless the result is close to 0. */
function exponential(x) {
  if (x < -700) return 0;
  const part = x / 1024;
  let power = 1 + part * (1 + (part / 2) * (1 + part / 3));
  for (let i = 0; i < 10; i++) power *= power;
  return power;
}

/** One step along the mean gradient of a batch; clears the gradient for the next batch. */
export function descend({ values, gradient, speed, decay }, rate, batchSize) {
  for (let i = 0; i < values.length; i++) {
    speed[i] = MOMENTUM * speed[i] + gradient[i] / batchSize + decay * values[i];
    values[i] -= rate * speed[i];
  }
  gradient.fill(0);
}

/** @returns {Layer[]} */
function layersOf({ parameters: { firstWeight, firstBias, secondWeight, secondBias } }) {
  const transposed = Float32Array.from({ length: HIDDEN * PIXELS }, (_, i) => {
    const unit = Math.floor(i / PIXELS);
    const pixel = i % PIXELS;
    return firstWeight.values[pixel * HIDDEN + unit];
  });
  return [
    { weight: transposed, bias: Float32Array.from(firstBias.values) },
    {
      weight: Float32Array.from(secondWeight.values),
      bias: Float32Array.from(secondBias.values),
    },
  ];
}
