import { describe, it } from "node:test";
import { chooseQParams, init, quantize, tensor } from "zeropoint";
import { refuses } from "../support/asserts.mjs";
import { x } from "./small.mjs";

await init();

describe("quantize refuses", () => {
  const scale = (got) => `options.scale must be finite and > 0, as float32 too, got ${got}`;
  const cases = [
    ["a scale of 0", { scale: 0 }, RangeError, "ZP_INVALID_SCALE", scale("0")],
    ["a scale of -0", { scale: -0 }, RangeError, "ZP_INVALID_SCALE", scale("-0")],
    ["a negative scale", { scale: -1 }, RangeError, "ZP_INVALID_SCALE", scale("-1")],
    ["a scale that is NaN", { scale: NaN }, RangeError, "ZP_INVALID_SCALE", scale("NaN")],
    ["an infinite scale", { scale: Infinity }, RangeError, "ZP_INVALID_SCALE", scale("Infinity")],
    [
      "a scale that float32 flushes to 0",
      { scale: 1e-50 },
      RangeError,
      "ZP_INVALID_SCALE",
      scale("1e-50"),
    ],
    [
      "a scale that overflows float32",
      { scale: 1e39 },
      RangeError,
      "ZP_INVALID_SCALE",
      scale("1e+39"),
    ],
    [
      "a wrong scale among others",
      { scale: [1, 0, 1] },
      RangeError,
      "ZP_INVALID_SCALE",
      /options\.scale\[1\] must be .* got 0$/,
    ],
    [
      "a scale that is text",
      { scale: "1" },
      TypeError,
      "ZP_INVALID_SCALE",
      'options.scale must be a number, a list of numbers or a tensor, got "1"',
    ],
    ["a scale that is null", { scale: null }, TypeError, "ZP_INVALID_SCALE", /got null$/],
    [
      "text among the scales",
      { scale: [1, "2", 3] },
      TypeError,
      "ZP_INVALID_TENSOR",
      'options.scale[1] must be a number, got "2"',
    ],
    [
      "a zero point above the dtype",
      { scale: 1, zeroPoint: 128 },
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      "options.zeroPoint must be an integer from -128 to 127 for dtype int8, got 128",
    ],
    [
      "a zero point below the dtype",
      { scale: 1, zeroPoint: -1, dtype: "uint4" },
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      "options.zeroPoint must be an integer from 0 to 15 for dtype uint4, got -1",
    ],
    [
      "a fractional zero point",
      { scale: 1, zeroPoint: 0.5 },
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      /got 0\.5$/,
    ],
    [
      "a zero point that is NaN",
      { scale: 1, zeroPoint: NaN },
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      /got NaN$/,
    ],
    [
      "a wrong zero point among others",
      { scale: 1, axis: 0, zeroPoint: [0, 0, 200] },
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      /options\.zeroPoint\[2\] must be .* got 200$/,
    ],
    [
      "a zero point that is null",
      { scale: 1, zeroPoint: null },
      TypeError,
      "ZP_INVALID_ZERO_POINT",
      "options.zeroPoint must be a number, a list of numbers or a tensor, got null",
    ],
    [
      "a zero point without a scale",
      { zeroPoint: 0 },
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      "options.zeroPoint needs options.scale beside it, got zeroPoint alone",
    ],
    [
      "a zero point other than 0 called symmetric",
      { scale: 1, zeroPoint: 3, scheme: "symmetric" },
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      "options.zeroPoint must be 0 for the symmetric scheme, got 3",
    ],
    [
      "an unsigned dtype called symmetric",
      { scale: 1, dtype: "uint8", scheme: "symmetric" },
      RangeError,
      "ZP_INVALID_SCHEME",
      'options.scheme must be "affine" for dtype uint8, which has no negative codes, got "symmetric"',
    ],
    [
      "scales that do not broadcast",
      { scale: [1, 2] },
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "options.scale of shape [2] must broadcast against shape [3, 3]",
    ],
    [
      "scales of more axes than the tensor",
      { scale: [[[1, 2, 3]]] },
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "options.scale of shape [1, 1, 3] must broadcast against shape [3, 3]",
    ],
    [
      "zero points that do not broadcast",
      { scale: 1, zeroPoint: [1, 2] },
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "options.zeroPoint of shape [2] must broadcast against shape [3, 3]",
    ],
    [
      "zero points that do not fit the scales",
      { scale: [1, 2, 3], zeroPoint: [1, 2] },
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /options\.zeroPoint of shape \[2\]/,
    ],
    [
      "too few scales for the channels",
      { scale: [1, 2], axis: 0 },
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "options.scale must be one number, 3 numbers or a tensor of shape [3, 1], got shape [2]",
    ],
    [
      "scales along another axis than the channels",
      { scale: [[1, 2, 3]], axis: 0 },
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "options.scale must be one number, 3 numbers or a tensor of shape [3, 1], got shape [1, 3]",
    ],
    [
      "too many scales for the groups",
      { scale: [1, 2, 3, 4], groupSize: 3 },
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /3 numbers or a tensor of shape \[3, 1\], got shape \[4\]/,
    ],
    [
      "too few scales for groups with a short one in each row",
      { scale: [1, 2, 3, 4], groupSize: 2 },
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /6 numbers or a tensor of shape \[6, 1\], got shape \[4\]/,
    ],
    [
      "an unknown option",
      { bits: 4 },
      TypeError,
      "ZP_UNKNOWN_OPTION",
      /^quantize: options has no "bits"; it takes dtype, /,
    ],
    [
      "a tensor in place of options",
      tensor([1, 2]),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      /has no "data"/,
    ],
    [
      "a number in place of options",
      8,
      TypeError,
      "ZP_INVALID_OPTIONS",
      "options must be an object, got 8",
    ],
  ];
  for (const [name, options, type, code, text] of cases) {
    it(name, () => {
      const message = typeof text === "string" ? `quantize: ${text}` : text;
      refuses(() => quantize(x, options), type, code, message);
    });
  }

  it("a tensor of codes in place of values", () => {
    refuses(() => quantize(quantize(x)), TypeError, "ZP_INVALID_TENSOR", /got a quantized tensor/);
  });

  it("qparams that were chosen for another shape", () => {
    const qparams = chooseQParams(tensor([1, 2, 3, 4]), { axis: 0 });
    refuses(() => quantize(x, qparams), RangeError, "ZP_SHAPE_MISMATCH", /got shape \[4\]$/);
  });
});
