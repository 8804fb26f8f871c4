import { describe, it } from "node:test";
import { init, linear, quantize, tensor } from "zeropoint";
import { refuses, sameFloats } from "../support/asserts.mjs";

await init();

describe("linear refuses", () => {
  const x = tensor([[1, 2]]);
  const w = tensor([
    [1, 2],
    [3, 4],
    [5, 6],
  ]);
  const q = quantize(w);
  const cases = [
    [
      "an input that is no tensor",
      () => linear([1, 2], w),
      TypeError,
      "ZP_INVALID_TENSOR",
      /^linear: input must be a tensor/,
    ],
    [
      "a quantized input",
      () => linear(q, w),
      TypeError,
      "ZP_INVALID_TENSOR",
      /^linear: input must be .* got a quantized tensor/,
    ],
    [
      "a weight that is no tensor",
      () => linear(x),
      TypeError,
      "ZP_INVALID_TENSOR",
      /^linear: weight must be a tensor.* got undefined$/,
    ],
    [
      "an input of another length",
      () => linear(tensor([1, 2, 3]), w),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "linear: input must have 2 values on its last axis, as weight of shape [3, 2] has, got shape [3]",
    ],
    [
      "a single value",
      () => linear(tensor(1), w),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /got shape \[\]$/,
    ],
    [
      "a weight of one axis",
      () => linear(x, tensor([1, 2])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "linear: weight must have shape [outFeatures, inFeatures], got [2]",
    ],
    [
      "a weight of three axes",
      () => linear(x, tensor([[[1, 2]]])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /got \[1, 1, 2\]$/,
    ],
    [
      "a quantized weight of one axis",
      () => linear(x, quantize(tensor([1, 2]))),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /^linear: weight must have shape .* got \[2\]$/,
    ],
    [
      "a bias of another length",
      () => linear(x, w, tensor([1, 2])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "linear: bias must have shape [3], one value per row of weight, got [2]",
    ],
    [
      "a bias of two axes",
      () => linear(x, w, tensor([[1, 2, 3]])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /got \[1, 3\]$/,
    ],
    [
      "options in the place of the bias",
      () => linear(x, w, { accumulate: "float32" }),
      TypeError,
      "ZP_INVALID_TENSOR",
      "linear: bias must be a tensor: { data, shape }, { data, dims } or a typed array, got an object with accumulate",
    ],
    [
      "an unknown way to accumulate",
      () => linear(x, w, null, { accumulate: "float64" }),
      RangeError,
      "ZP_INVALID_OPTION",
      'linear: options.accumulate must be "exact" or "float32", got "float64"',
    ],
    [
      "an unknown option",
      () => linear(x, w, null, { bias: x }),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      'linear: options has no "bias"; it takes accumulate, out',
    ],
    [
      "one scale per weight",
      () =>
        linear(
          x,
          quantize(w, {
            scale: [
              [1, 2],
              [3, 4],
              [5, 6],
            ],
          }),
        ),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "linear: weight.scale must be one number, one per row, one per column or one per group, got shape [3, 2] for a weight of shape [3, 2]",
    ],
    [
      "codes out of range",
      () => linear(x, { ...q, dtype: "int4", data: Int8Array.of(1, 2, 3, 4, 5, 99) }),
      RangeError,
      "ZP_INVALID_CODES",
      /^linear: weight\.data\[5\] must be from -8 to 7/,
    ],
    [
      "a quantized weight with a scale of 0",
      () => linear(x, { ...q, scale: 0 }),
      RangeError,
      "ZP_INVALID_SCALE",
      /^linear: weight\.scale/,
    ],
  ];
  for (const [name, work, type, code, message] of cases) {
    it(name, () => refuses(work, type, code, message));
  }

  for (const dtype of ["int16", "uint16", "int32"]) {
    it(`${dtype} weights by name`, () => {
      const wide = quantize(w, { dtype, scheme: "affine" });
      refuses(
        () => linear(x, wide),
        RangeError,
        "ZP_UNSUPPORTED_DTYPE",
        `linear: weight.dtype must be a dtype of 1 to 8 bits for the weight of a linear layer, got "${dtype}"`,
      );
    });
  }

  it("results of 2^32 values and more, even without inputs", () => {
    const tall = { data: new Float32Array(0), shape: [70_000, 0] };
    refuses(
      () => linear(tall, tall),
      RangeError,
      "ZP_SIZE_OVERFLOW",
      "linear: the result must have fewer than 2^32 values, got shape [70000, 70000]",
    );
  });

  it("results that the core has no room for, and stays usable", () => {
    const tall = { data: new Float32Array(0), shape: [40_000, 0] };
    refuses(
      () => linear(tall, tall),
      RangeError,
      "ZP_OUT_OF_MEMORY",
      /^linear: .*6400000\d+ bytes/,
    );
    sameFloats(linear(x, w).data, [5, 11, 17]);
  });
});
