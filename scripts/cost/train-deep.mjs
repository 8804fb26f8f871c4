// Trains a network of 25 layers for the lab, whose rows are blocks of 256 values, as GGUF's mixes need them.
//
// An image is a state of 256 values: 14 x 14 means of 2 x 2 pixels in a frame of 16 x 16. Each of 24 layers reads the
// whole state and adds ReLU(weight . (gain * state) + bias) to one row of 16 values; the last layer reads ten digits from
// it. Arithmetic as in train.mjs: the weights are the same on every engine.
//
// Every third layer has gains, as normalization gives them to the layers of language models: factors of its inputs, far
// apart, by which the columns of its weights are divided. They are powers of two, so the network computes what it did without
// them; but its weights are no longer alike, and what a scheme costs differs from layer to layer.

import { LEVELS, PIXELS } from "./digits.mjs";
import { createParameter, createRandom, DIGITS, descend, shuffle, softmax } from "./train.mjs";

/** Side of a state, and values that a layer adds. */
export const SIDE = 16;
export const STATE = SIDE * SIDE;
export const LAYERS = 24;

const SEED = 7;
const EPOCHS = 4;
const BATCH = 32;
const LEARNING_RATE = 0.03;
const WEIGHT_DECAY = 0.0005;
/** Layers from one with gains to the next, and the standard deviation of the gains' exponents. */
const GAINS_EVERY = 3;
const GAINS_SPREAD = 2;
/** Half of the digits are enough for this network. */
const TRAINED_EVERY = 2;

/** @typedef {import("./train.mjs").Layer & { gain: Float32Array | undefined }} DeepLayer */

/** The row of the state that a layer adds to; those in the middle come first. @param {number} layer */
export const rowOf = (layer) => (layer + 7) % SIDE;

/**
 * The first states of images: multiples of 1/64, exact in float16.
 * @param {Uint8Array} codes  PIXELS an image
 * @returns {Float64Array[]}
 */
export function statesOf(codes) {
  return Array.from({ length: codes.length / PIXELS }, (_, image) => {
    const state = new Float64Array(STATE);
    for (let pixel = 0; pixel < PIXELS; pixel++) {
      const [y, x] = [Math.floor(pixel / 28) >> 1, (pixel % 28) >> 1];
      state[(y + 1) * SIDE + x + 1] += codes[image * PIXELS + pixel] / (4 * LEVELS);
    }
    return state;
  });
}

/**
 * @param {import("./digits.mjs").Digits} digits
 * @returns {DeepLayer[]}  24 with a weight of shape [16, 256], and one of shape [10, 256]
 */
export function trainDeep({ codes, labels }, seed = SEED) {
  const random = createRandom(seed);
  const states = statesOf(codes);
  const layers = Array.from({ length: LAYERS + 1 }, (_, i) => {
    const outputs = i < LAYERS ? SIDE : DIGITS;
    // Uniform in +-sqrt(3 / inputs).
    const reach = Math.sqrt(3 / STATE);
    const values = Float64Array.from({ length: outputs * STATE }, () => (2 * random() - 1) * reach);
    return {
      weight: createParameter(values, WEIGHT_DECAY),
      bias: createParameter(new Float64Array(outputs), 0),
    };
  });
  const order = Array.from(labels, (_, i) => i).filter((i) => i % TRAINED_EVERY === 0);
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    shuffle(order, random);
    const rate = LEARNING_RATE * (1 - epoch / EPOCHS);
    for (let first = 0; first < order.length; first += BATCH) {
      const batch = order.slice(first, first + BATCH);
      for (const i of batch) addGradient(layers, states[i], labels[i]);
      for (const { weight, bias } of layers) {
        descend(weight, rate, batch.length);
        descend(bias, rate, batch.length);
      }
    }
  }
  return layers.map(({ weight, bias }, i) => {
    const gain = i % GAINS_EVERY === 1 ? randomGains(random) : undefined;
    return {
      gain,
      weight: Float32Array.from(weight.values, (value, at) => value / (gain?.[at % STATE] ?? 1)),
      bias: Float32Array.from(bias.values),
    };
  });
}

/** Powers of two, whose exponents are about normally distributed. */
function randomGains(random) {
  const normal = () => Array.from({ length: 12 }, random).reduce((sum, value) => sum + value) - 6;
  return Float32Array.from({ length: STATE }, () => 2 ** Math.round(GAINS_SPREAD * normal()));
}

/**
 * Runs the layers, and keeps the states that they read and their sums for the gradient.
 * @param {{ weight: Float64Array | Float32Array, bias: Float64Array | Float32Array, gain?: Float32Array }[]} layers
 * @param {Float64Array} image
 */
function forward(layers, image) {
  const reads = [];
  const sums = [];
  let state = image;
  layers.forEach(({ weight, bias, gain }, i) => {
    reads.push(state);
    const input = gain === undefined ? state : state.map((value, j) => value * gain[j]);
    const sum = new Float64Array(bias.length);
    for (let row = 0, at = 0; row < sum.length; row++, at += STATE) {
      let value = bias[row];
      for (let j = 0; j < STATE; j++) value += weight[at + j] * input[j];
      sum[row] = value;
    }
    sums.push(sum);
    if (i === LAYERS) return;
    state = Float64Array.from(state);
    const first = SIDE * rowOf(i);
    for (let row = 0; row < SIDE; row++) if (sum[row] > 0) state[first + row] += sum[row];
  });
  return { reads, sums };
}

/**
 * What the weight of each layer is multiplied with, gains included.
 * @param {DeepLayer[]} layers
 * @param {Float64Array[]} images
 * @returns {Float32Array[]}  [images, 256] for each layer
 */
export function inputsOf(layers, images) {
  const reads = images.map((image) => forward(layers, image).reads);
  return layers.map(({ gain }, i) => {
    const rows = reads.flatMap((read) => [...read[i]]);
    return Float32Array.from(rows, (value, at) => value * (gain?.[at % STATE] ?? 1));
  });
}

/** Adds the gradient of cross-entropy of one image to the batch's. */
function addGradient(layers, image, label) {
  const { reads, sums } = forward(
    layers.map(({ weight, bias }) => ({ weight: weight.values, bias: bias.values })),
    image,
  );
  const scores = sums[LAYERS];
  softmax(scores);
  scores[label] -= 1;
  const stateGradient = new Float64Array(STATE);
  for (let i = LAYERS; i >= 0; i--) {
    const { weight, bias } = layers[i];
    const read = reads[i];
    // Taken before this layer adds to the gradient of its own row.
    const gradient =
      i === LAYERS
        ? scores
        : sums[i].map((sum, row) => (sum > 0 ? stateGradient[SIDE * rowOf(i) + row] : 0));
    const { gradient: weightGradient, values } = weight;
    for (let row = 0, at = 0; row < gradient.length; row++, at += STATE) {
      const value = gradient[row];
      if (value === 0) continue;
      bias.gradient[row] += value;
      for (let j = 0; j < STATE; j++) weightGradient[at + j] += value * read[j];
      for (let j = 0; j < STATE; j++) stateGradient[j] += value * values[at + j];
    }
  }
}

/**
 * The share of digits that a network reads rightly.
 * @param {DeepLayer[]} layers
 * @param {import("./digits.mjs").Digits} digits
 */
export function deepAccuracy(layers, { codes, labels }) {
  const right = statesOf(codes).filter((image, i) => {
    const scores = forward(layers, image).sums[LAYERS];
    return scores.indexOf(Math.max(...scores)) === labels[i];
  });
  return right.length / labels.length;
}
