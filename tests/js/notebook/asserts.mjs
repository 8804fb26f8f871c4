// Tensors and assertions for the tests of the course's functions.

import assert from "node:assert/strict";
import { before } from "node:test";
import { init, torch } from "zeropoint/notebook";
import { assertTensor, decodeTensor } from "../support/vectors.mjs";

before(async () => {
  await init();
});

/** An encoded tensor as a tensor of its dtype. */
export function tensorFrom(encoded) {
  const { data, shape } = decodeTensor(encoded);
  return torch.tensor({ data, shape });
}

export function matches(tensor, encoded, message) {
  assertTensor(tensor.data, tensor.shape, encoded, message);
}

export function raises(call, pythonType, message) {
  const isTypeError = pythonType === "TypeError" || pythonType === "NotImplementedError";
  assert.throws(call, (error) => {
    assert.equal(error.pythonType, pythonType, `${message ?? ""}: ${error.stack}`);
    assert.ok(error instanceof (isTypeError ? TypeError : RangeError), `${message ?? ""}: class`);
    assert.match(error.code, /^ZP_PYTHON_[A-Z_]+_ERROR$/);
    return true;
  });
}

/** Runs a check on every case, and makes sure that there were as many as expected. */
export function forAll(list, count, check) {
  assert.equal(list.length, count, "number of cases");
  for (const one of list) check(one);
}

export const testTensor = () =>
  torch.tensor([
    [191.6, -13.5, 728.6],
    [92.14, 295.5, -184],
    [0, 684.6, 245.5],
  ]);
