// One number in float32, bfloat16, float16, two kinds of float8, and int8: its bits, which can be flipped, and its value.

import { h } from "../../shell/drawing/tree.js";
import type { Figure, Zeropoint } from "../index.js";

interface Format {
  name: string;
  /** From the highest bit on. */
  parts: [name: string, bits: number][];
  note?: string;
  /** The nearest code. */
  encode: (x: number, zeropoint: Zeropoint) => number;
  decode: (code: number, zeropoint: Zeropoint) => number;
}

const words = new DataView(new ArrayBuffer(4));

/** The bits of a float32. */
function bitsOf(x: number) {
  words.setFloat32(0, x);
  return words.getUint32(0);
}

/**
 * A format of 16 bits. The core takes finite numbers; the others keep sign and kind.
 * @param infinity  its bits
 */
const half = (type: "f16" | "bf16", infinity: number): Pick<Format, "encode" | "decode"> => ({
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

/** A float of 8 bits, with the scale 1. */
const small = (dtype: "float8_e4m3fn" | "float8_e5m2"): Pick<Format, "encode" | "decode"> => ({
  encode: (x, { quantize }) => quantize({ data: [x], shape: [1] }, { dtype, scale: 1 }).data[0],
  decode: (code, { dequantize }) =>
    dequantize({ data: Uint8Array.of(code), shape: [1], dtype, scale: 1 }).data[0],
});

const SCALE = 1 / 16;

const FORMATS: Format[] = [
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

/** The shortest decimal that is this float32. */
function shortest(value: number) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0";
  for (let digits = 1; digits < 9; digits++) {
    const text = String(Number(value.toPrecision(digits)));
    if (Math.fround(Number(text)) === value) return text;
  }
  return String(Number(value.toPrecision(9)));
}

const shown = (text: string) => text.replaceAll("-", "−");

/** The number that a text says; 0 if it says none. */
function numberOf(text: string) {
  const plain = text.trim().toLowerCase().replaceAll("−", "-").replace(",", ".");
  if (/^[+-]?inf(inity)?$/.test(plain)) return plain.startsWith("-") ? -Infinity : Infinity;
  if (plain === "nan") return Number.NaN;
  return Math.fround(Number(plain)) || (plain.startsWith("-") ? -0 : 0);
}

export const bits: Figure = {
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

function formatTree(
  { name, note, parts, encode, decode }: Format,
  x: number,
  zeropoint: Zeropoint,
) {
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
