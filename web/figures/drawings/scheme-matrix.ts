// Two questions with two answers each: four schemes, applied to one small tensor.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import type { Figure, Zeropoint } from "../index.js";
import { drawing, line, text } from "../parts.js";

const x = [
  [0.5827, 0.8619],
  [0.3827, -0.1982],
  [-0.8213, 0.6351],
];

export const schemeMatrix: Figure = {
  controls: [],
  draw(_, zeropoint, width) {
    const panelWidth = Math.min(320, Math.max(124, (width - 28) / 2));
    const columns = ["per tensor", "per channel"] as const;
    const rows = ["symmetric", "affine"] as const;
    return h(
      "table",
      { class: "scheme-matrix" },
      h(
        "caption",
        {},
        "The int8 codes of one tensor under each scheme; a bracket joins the codes of one scale",
      ),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map((column) => h("th", { scope: "col" }, column)),
        ),
      ),
      rows.map((scheme) =>
        h(
          "tbody",
          {},
          h("tr", {}, h("th", { scope: "rowgroup", colspan: 2 }, scheme)),
          h(
            "tr",
            {},
            columns.map((column) =>
              h("td", {}, panel(scheme, column === "per channel", zeropoint, panelWidth)),
            ),
          ),
        ),
      ),
    );
  },
};

function panel(
  scheme: "symmetric" | "affine",
  isPerChannel: boolean,
  zeropoint: Zeropoint,
  width: number,
) {
  const quantized = isPerChannel
    ? zeropoint.quantize(zeropoint.tensor(x), { scheme, axis: 0 })
    : zeropoint.quantize(zeropoint.tensor(x), { scheme });
  const scales = listOf(quantized.scale);
  const zeroPoints = listOf(quantized.zeroPoint);
  const gap = width < 180 ? 3 : 8;
  // The scales need 54 pixels and a code 38; on the narrowest screens the scales are below the drawing.
  const isBeside = width >= 54 + 2 * gap + 2 * 38;
  const room = isBeside ? 54 : 4;
  const cell = { width: Math.min(52, Math.floor((width - room - 2 * gap) / 2)), height: 30 };
  const left = width < 180 ? 0 : 16;
  const bracket = left + 2 * cell.width + gap;

  const codes = Array.from(quantized.data);
  return [
    drawing(
      width,
      3 * cell.height + 8,
      `Codes ${[0, 2, 4]
        .map((i) =>
          codes
            .slice(i, i + 2)
            .map(formatNumber)
            .join(" and "),
        )
        .join("; ")}, with ` + `${isPerChannel ? "one scale for each row" : "one scale for all"}.`,
      codes.map((code, i) => {
        const row = Math.floor(i / 2);
        const at = { x: left + (i % 2) * cell.width, y: 4 + row * cell.height };
        const middle = at.x + cell.width / 2;
        return [
          h("rect", {
            x: at.x,
            y: at.y,
            width: cell.width,
            height: cell.height,
            class: `channel-${isPerChannel ? row : 0}`,
          }),
          text(middle, at.y + cell.height / 2 + 5, formatNumber(code), "", "middle"),
        ];
      }),
      scales.map((scale, i) => {
        const height = (3 * cell.height) / scales.length;
        const top = 4 + i * height;
        return [
          line(bracket, top + 4, bracket, top + height - 4, "bracket"),
          isBeside && text(bracket + gap, top + height / 2 + 5, scale.toPrecision(3), "tick"),
        ];
      }),
    ),
    h(
      "p",
      { class: "scheme-name" },
      h("code", {}, `per_${isPerChannel ? "channel" : "tensor"}_`, h("wbr"), scheme),
    ),
    !isBeside &&
      h(
        "p",
        { class: "scheme-facts" },
        `${scales.length > 1 ? "scales" : "scale"} ${scales.map((scale) => scale.toPrecision(3)).join(", ")}`,
      ),
    h(
      "p",
      { class: "scheme-facts" },
      `zero point ${[...new Set(zeroPoints)].map(formatNumber).join(", ")}`,
    ),
  ];
}

function listOf(qparam: number | { data: ArrayLike<number> }) {
  return typeof qparam === "number" ? [qparam] : Array.from(qparam.data);
}
