// Tensors of several tiles whose memory is resized or transferred by a getter among the arguments, after
// they were checked. Every function refuses them before the first tile.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  chooseQParams,
  dequantize,
  fakeQuantize,
  init,
  quantizationError,
  quantize,
} from "zeropoint";
import {
  fakeQuantizePerChannel,
  fakeQuantizePerTensor,
  quantizePerChannel,
  quantizePerTensor,
  quantizePerTensorDynamic,
} from "zeropoint/torch";
import { TILE } from "../../internal/tensor.mjs";
import { refuses } from "../support/asserts.mjs";

await init();

/** Rows of half a tile. */
const ROWS = 5;
const SHAPE = [ROWS, TILE / 2];
const SIZE = ROWS * (TILE / 2);

/** Makes an array of SIZE zeros and a function that changes its memory. */
const changes = {
  "is transferred": (Type) => {
    const data = new Type(SIZE);
    return [data, () => structuredClone(data.buffer, { transfer: [data.buffer] })];
  },
  "is cut by a tile": (Type) => resizable(Type, SIZE - TILE),
  "is cut to nothing": (Type) => resizable(Type, 0),
  "grows by a tile": (Type) => resizable(Type, SIZE + TILE),
};

function resizable(Type, size) {
  const bytes = Type.BYTES_PER_ELEMENT;
  const data = new Type(new ArrayBuffer(SIZE * bytes, { maxByteLength: (SIZE + TILE) * bytes }));
  return [data, () => data.buffer.resize(size * bytes)];
}

/** Options of which the one by this name changes the array when it is read. */
const changing = (change, name, value, others = {}) => ({
  ...others,
  get [name]() {
    change();
    return value;
  },
});

const scales = new Float32Array(ROWS).fill(1);
const zeros = new Int32Array(ROWS);
/** Functions that read another argument after they have checked `x`. */
const calls = {
  "quantize chooses one scale": (x, change) => quantize(x, changing(change, "dtype", "int8")),
  "quantize chooses a scale for each row": (x, change) => quantize(x, changing(change, "axis", 0)),
  "quantize chooses a scale for each column": (x, change) =>
    quantize(x, changing(change, "axis", 1)),
  "quantize takes given qparams": (x, change) => quantize(x, changing(change, "scale", 1)),
  "chooseQParams chooses one scale": (x, change) =>
    chooseQParams(x, changing(change, "scheme", "affine")),
  "chooseQParams chooses a scale for each row": (x, change) =>
    chooseQParams(x, changing(change, "axis", 0)),
  "fakeQuantize takes given qparams": (x, change) => fakeQuantize(x, changing(change, "scale", 1)),
  "quantizationError measures its first tensor": (x, change) =>
    quantizationError(x, changing(change, "shape", SHAPE, { data: new Float32Array(SIZE) })),
  "quantizePerTensor quantizes": (x, change) =>
    quantizePerTensor(x, 1, 0, "qint8", changing(change, "compat", undefined)),
  "quantizePerTensorDynamic chooses a scale": (x, change) =>
    quantizePerTensorDynamic(x, "qint8", true, changing(change, "out", undefined)),
  "quantizePerChannel quantizes": (x, change) =>
    quantizePerChannel(x, scales, zeros, 0, "qint8", changing(change, "out", undefined)),
  "fakeQuantizePerTensor quantizes": (x, change) =>
    fakeQuantizePerTensor(x, 1, 0, 0, 9, changing(change, "out", undefined)),
  "fakeQuantizePerChannel quantizes": (x, change) =>
    fakeQuantizePerChannel(x, scales, zeros, 0, 0, 9, changing(change, "out", undefined)),
};

describe("Tensors of several tiles are refused when their memory", () => {
  for (const [how, make] of Object.entries(changes)) {
    const refusesChanged = (work) =>
      refuses(
        work,
        TypeError,
        "ZP_DETACHED",
        new RegExp(`was resized or transferred .* it had ${SIZE} values, now it has \\d+`),
      );
    for (const [name, call] of Object.entries(calls)) {
      it(`${how} before ${name}`, () => {
        const [data, change] = make(Float32Array);
        refusesChanged(() => call({ data, shape: SHAPE }, change));
      });
    }

    // Options are read before the codes are checked: what an option does to them is seen by that check.
    it(`${how} before dequantize checks the codes`, () => {
      const [data, change] = make(Int8Array);
      const q = { data, shape: SHAPE, dtype: "int8", scale: 1, zeroPoint: 0 };
      const codes = ["ZP_DETACHED", "ZP_SHAPE_MISMATCH"];
      assert.throws(
        () => dequantize(q, changing(change, "out", undefined)),
        ({ code, message }) => codes.includes(code) && /^dequantize: .*\bq\b/.test(message),
      );
    });
  }
});
