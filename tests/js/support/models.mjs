// A small model, its weights and batches, for the tests of layers and models.

import { init, tensor } from "zeropoint";
import { Linear, ReLU, Sequential, Tanh } from "zeropoint/torch";
import { Random } from "./asserts.mjs";

await init();

export const random = new Random(77);

export const floats = (shape, deviation = 1) => {
  const size = shape.reduce((product, length) => product * length, 1);
  return tensor(random.normal(size, deviation), shape);
};

/** A model as people have them: three linear layers and what goes between. */
export const weights = {
  fc1: floats([16, 8]),
  bias1: floats([16]),
  fc2: floats([12, 16]),
  fc3: floats([4, 12]),
  bias3: floats([4]),
};

export const makeModel = () =>
  new Sequential({
    fc1: new Linear(weights.fc1, { bias: weights.bias1 }),
    relu: new ReLU(),
    fc2: new Linear(weights.fc2),
    tanh: new Tanh(),
    fc3: new Linear(weights.fc3, { bias: weights.bias3 }),
  });

export const batches = Array.from({ length: 5 }, () => floats([6, 8]));

export const x = floats([10, 8]);
