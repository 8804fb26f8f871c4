// One outlier, and what it leaves of the codes of 255 other values: few of int8, nearly all of float8.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import type { Figure } from "../index.js";
import { drawing, facts, line, samples, text } from "../parts.js";
import { scrub } from "../scrub.js";

const OTHERS = samples(255, 21);
const REACH = Math.max(...OTHERS.map(Math.abs));

const WAYS: [name: string, options: Record<string, unknown>][] = [
  ["int8", { dtype: "int8" }],
  ["int8, groups of 32", { dtype: "int8", groupSize: 32 }],
  ["float8 E4M3", { dtype: "float8_e4m3fn" }],
];

export const outlierCodes: Figure = {
  controls: [
    {
      name: "outlier",
      label: "Outlier",
      type: "range",
      min: 1,
      max: 100,
      step: 1,
      value: 1,
      unit: "\u00a0times the others",
    },
  ],

  draw({ outlier }, zeropoint, width) {
    const values = Float32Array.from([Number(outlier) * REACH, ...OTHERS]);
    const x = zeropoint.tensor(values);
    const ways = WAYS.map(([name, options]) => {
      const quantized = zeropoint.quantize(x, options as any) as any;
      const codes = Array.from(quantized.data as Int8Array | Uint8Array, Number).slice(1);
      const restored = zeropoint.dequantize(quantized).data.slice(1);
      const others = zeropoint.tensor(values.slice(1));
      const sqnr = zeropoint.quantizationError(others, zeropoint.tensor(restored), "sqnr");
      return { name, codes: codes.map((code) => placeOf(code, name)), sqnr };
    });
    const HEIGHT = 62;
    const whole = HEIGHT * ways.length;
    const different = (codes: number[]) => new Set(codes).size;
    return h(
      "div",
      {},
      h(
        "p",
        { class: "figure-prose" },
        "The largest of 256 values is ",
        scrub("outlier", Number(outlier)),
        " times as large as the largest of the others. Each line is a code, as high as the number of other values that have it.",
      ),
      drawing(
        width,
        whole,
        ways
          .map(({ name, codes }) => `${name}: 255 values have ${different(codes)} codes`)
          .join("; "),
        ways.map(({ name, codes }, i) => stripTree(name, codes, width, HEIGHT * i, HEIGHT)),
      ),
      facts(
        "The 255 other values",
        ["Codes", "Different codes", "SQNR, dB"],
        ways.map(({ name, codes, sqnr }) => [
          name,
          String(different(codes)),
          Number(sqnr.toFixed(1)),
        ]),
      ),
    );
  },
};

/** The place of a code among all, from 0 to 255, in the order of values: the codes of floats have a sign. */
function placeOf(code: number, name: string) {
  if (!name.startsWith("float8")) return code + 128;
  return code < 128 ? 128 + code : 255 - code;
}

function stripTree(name: string, codes: number[], width: number, top: number, height: number) {
  const counts = new Map<number, number>();
  for (const code of codes) counts.set(code, (counts.get(code) ?? 0) + 1);
  const most = Math.max(...counts.values());
  const bottom = top + height - 4;
  const room = height - 26;
  const at = (code: number) => 2 + ((width - 4) * code) / 255;
  return [
    text(0, top + 13, name, "label"),
    text(width, top + 13, `at most ${formatNumber(most)} at a code`, "tick", "end"),
    line(0, bottom, width, bottom, "axis"),
    [...counts].map(([code, count]) =>
      line(at(code), bottom, at(code), bottom - Math.max(3, (room * count) / most), "code used"),
    ),
  ];
}
