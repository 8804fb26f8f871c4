// Assertions and options for the tests of observers.

import assert from "node:assert/strict";
import { init } from "zeropoint";
import { assertTensor, decodeTensor, sameBits } from "../support/vectors.mjs";

await init();

export const OPTION_NAMES = {
  dtype: "dtype",
  qscheme: "qscheme",
  reduce_range: "reduceRange",
  quant_min: "quantMin",
  quant_max: "quantMax",
  eps: "eps",
  averaging_constant: "averagingConstant",
  ch_axis: "chAxis",
  bins: "bins",
};

/** Python's keyword arguments as options. */
export function optionsOf(args) {
  const known = Object.entries(args).filter(([name]) => name in OPTION_NAMES);
  return Object.fromEntries(known.map(([name, value]) => [OPTION_NAMES[name], value]));
}

/** Asserts that zero points are PyTorch's, of the same dtype. */
function assertZeroPoint({ data, shape, dtype }, expected) {
  assert.deepEqual([...shape], expected.shape);
  if (expected.t === "f32") {
    assertTensor(data, shape, expected, "zero point");
    return;
  }
  assert.equal(dtype, expected.t);
  assert.deepEqual([...data], expected.data);
}

export function assertQParams({ scale, zeroPoint }, expected) {
  assertTensor(scale.data, scale.shape, expected.scale, "scale");
  assertZeroPoint(zeroPoint, expected.zero_point);
}

/** Equal bits, but a zero may have either sign: that of a minimum of zeros is not defined. */
export function assertRange({ data, shape }, expected, message) {
  assert.deepEqual([...shape], expected.shape, message);
  const wanted = decodeTensor(expected).data;
  assert.equal(data.length, wanted.length);
  for (let i = 0; i < data.length; i++) {
    assert.ok(sameBits(data[i] + 0, wanted[i] + 0), `${message}: ${data[i]}, not ${wanted[i]}`);
  }
}

/** An observer that has been to JSON and back. */
export function restored(observer) {
  return observer.constructor.fromJSON(JSON.parse(JSON.stringify(observer)));
}
