// One number in float32, bfloat16, float16, two kinds of float8, and int8: its bits, which can be flipped, and its value.

import { h } from "../../shell/drawing/tree.js";

/**
 * @typedef {import("../index.js").Zeropoint} Zeropoint
 * @typedef {object} Format
 * @property {string} name
 * @property {[name: string, bits: number][]} parts  from the highest bit on
 * @property {string} [note]
 * @property {(x: number, zeropoint: Zeropoint) => number} encode  the nearest code
 * @property {(code: number, zeropoint: Zeropoint) => number} decode
 */

const words = new DataView(new ArrayBuffer(4));

/** The bits of a float32. @param {number} x */
function bitsOf(x) {
  words.setFloat32(0, x);
  return words.getUint32(0);
}

/**
 * A format of 16 bits. The core takes finite numbers; the others keep sign and kind.
 * @param {"f16" | "bf16"} type
 * @param {number} infinity  its bits
 * @returns {Pick<Format, "encode" | "decode">}
 */
const half = (type, infinity) => ({
  encode(x, { quantizeBlocks }) {
    if (!Number.isFinite(x)) {
      return ((bitsOf(x) >>> 16) & 0x8000) | infinity | (Number.isNaN(x) ? infinity >> 1 : 0);
    }
    const [low, high] = quantizeBlocks({ data: [x], shape: [1] }, type);
    return low | (high << 8);
  },
  decode: (code, { dequantizeBlocks }) =>
    dequantizeBlocks(Uint8Array.of(code & 255, code >> 8), type, [1]).data[0],
});

/**
 * A float of 8 bits, with the scale 1.
 * @param {"float8_e4m3fn" | "float8_e5m2"} dtype
 * @returns {Pick<Format, "encode" | "decode">}
 */
const small = (dtype) => ({
  encode: (x, { quantize }) => quantize({ data: [x], shape: [1] }, { dtype, scale: 1 }).data[0],
  decode: (code, { dequantize }) =>
    dequantize({ data: Uint8Array.of(code), shape: [1], dtype, scale: 1 }).data[0],
});

const SCALE = 1 / 16;

/** @type {Format[]} */
const FORMATS = [
  {
    name: "float32",
    parts: [
      ["sign", 1],
      ["exponent", 8],
      ["mantissa", 23],
    ],
    encode: bitsOf,
    decode(code) {
      words.setUint32(0, code);
      return words.getFloat32(0);
    },
  },
  {
    name: "bfloat16",
    parts: [
      ["sign", 1],
      ["exponent", 8],
      ["mantissa", 7],
    ],
    ...half("bf16", 0x7f80),
  },
  {
    name: "float16",
    parts: [
      ["sign", 1],
      ["exponent", 5],
      ["mantissa", 10],
    ],
    ...half("f16", 0x7c00),
  },
  {
    name: "float8 E4M3",
    parts: [
      ["sign", 1],
      ["exponent", 4],
      ["mantissa", 3],
    ],
    ...small("float8_e4m3fn"),
  },
  {
    name: "float8 E5M2",
    parts: [
      ["sign", 1],
      ["exponent", 5],
      ["mantissa", 2],
    ],
    ...small("float8_e5m2"),
  },
  {
    name: "int8",
    note: "scale 1/16",
    parts: [["code", 8]],
    encode: (x, { quantize }) =>
      quantize(
        { data: [Number.isNaN(x) ? 0 : x], shape: [1] },
        { dtype: "int8", scale: SCALE, zeroPoint: 0 },
      ).data[0] & 255,
    decode: (code, { dequantize }) =>
      dequantize({
        data: Int8Array.of(code),
        shape: [1],
        dtype: "int8",
        scale: SCALE,
        zeroPoint: 0,
      }).data[0],
  },
];

const EXAMPLES = ["0.1", "1", "3.1415927", "-0.5", "300", "70000"];

/** The shortest decimal that is this float32. @param {number} value */
function shortest(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0";
  for (let digits = 1; digits < 9; digits++) {
    const text = String(Number(value.toPrecision(digits)));
    if (Math.fround(Number(text)) === value) return text;
  }
  return String(Number(value.toPrecision(9)));
}

/** @param {string} text */
const shown = (text) => text.replaceAll("-", "−");

/** The number that a text says; 0 if it says none. @param {string} text */
function numberOf(text) {
  const plain = text.trim().toLowerCase().replaceAll("−", "-").replace(",", ".");
  if (/^[+-]?inf(inity)?$/.test(plain)) return plain.startsWith("-") ? -Infinity : Infinity;
  if (plain === "nan") return Number.NaN;
  return Math.fround(Number(plain)) || (plain.startsWith("-") ? -0 : 0);
}

/** @type {import("../index.js").Figure} */
export const bits = {
  fitsAnyWidth: true,
  controls: [{ name: "number", label: "Number", type: "text", value: "0.1" }],

  draw({ number }, zeropoint) {
    const x = numberOf(number);
    return h(
      "div",
      { class: "bits" },
      h(
        "p",
        { class: "bits-examples", "data-row": "" },
        "Take ",
        EXAMPLES.map((each) => [
          h("span", { class: "bits-example", "data-set": "number", "data-to": each }, shown(each)),
          " ",
        ]),
      ),
      FORMATS.map((format) => formatTree(format, x, zeropoint)),
    );
  },
};

/**
 * @param {Format} format
 * @param {number} x
 * @param {Zeropoint} zeropoint
 */
function formatTree({ name, note, parts, encode, decode }, x, zeropoint) {
  const code = encode(x, zeropoint) >>> 0;
  const value = decode(code, zeropoint);
  const length = parts.reduce((sum, [, count]) => sum + count, 0);
  const isSame = Object.is(value, x);
  const difference = value - x;
  let place = length;
  return h(
    "div",
    { class: "bits-format" },
    h(
      "p",
      { class: "bits-value" },
      h("strong", {}, name),
      note && `, ${note}`,
      ": ",
      h("span", { class: "ink-real" }, shown(shortest(value))),
      isSame || Number.isNaN(difference)
        ? ""
        : [
            ", off by ",
            h("span", { class: "ink-error" }, shown(String(Number(difference.toPrecision(3))))),
          ],
      h(
        "span",
        { class: "bits-code" },
        `0x${code
          .toString(16)
          .toUpperCase()
          .padStart(length / 4, "0")}`,
      ),
    ),
    h(
      "p",
      { class: "bits-row", "data-row": "" },
      parts.map(([part, count]) =>
        h(
          "span",
          { class: `bits-part is-${part}` },
          Array.from({ length: count }, () => {
            place--;
            const bit = Math.floor(code / 2 ** place) % 2;
            const flipped = bit ? code - 2 ** place : code + 2 ** place;
            return h(
              "span",
              {
                class: "bit",
                "data-set": "number",
                "data-to": shortest(decode(flipped, zeropoint)),
                "data-key": `${name} ${place}`,
                "data-label": `${name}, ${part} bit ${place}: ${bit}`,
              },
              bit,
            );
          }),
        ),
      ),
    ),
  );
}
