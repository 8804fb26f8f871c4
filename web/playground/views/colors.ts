// The colours of grids: blue for real numbers and orange for codes by their size, magenta for errors.

import { interpolateBlues, interpolateOranges, interpolateRdPu } from "d3-scale-chromatic";
import { inTheme } from "../../shell/drawing/shade.js";

const SHADES = 256;

function shades(interpolate: (share: number) => string, from: number, to: number) {
  const table = new Uint8ClampedArray(4 * SHADES);
  const color = inTheme(interpolate);
  for (let i = 0; i < SHADES; i++) {
    const text = color(from + ((to - from) * i) / (SHADES - 1));
    const [red, green, blue] = (text.match(/[\d.]+/g) ?? []).map(Number);
    table.set([red, green, blue, 255], 4 * i);
  }
  return table;
}

const makers = {
  real: () => shades(interpolateBlues, 0, 0.9),
  code: () => shades(interpolateOranges, 0.05, 0.85),
  error: () => shades(interpolateRdPu, 0, 0.9),
};

const tables = new Map<string, Uint8ClampedArray>();

/**
 * The colours of a meaning.
 * @param dark  whether the current theme is
 */
export function colorsOf(meaning: keyof typeof makers, dark: boolean) {
  const key = `${meaning} ${dark}`;
  const table = tables.get(key) ?? makers[meaning]();
  tables.set(key, table);
  return table;
}

/**
 * The offset of a share's colour in a table.
 * @param share  0 to 1
 */
export function shadeAt(share: number) {
  return 4 * Math.max(0, Math.min(SHADES - 1, Math.round(share * (SHADES - 1))));
}

/** Black or white, whichever stands out more. */
export function inkOn(table: Uint8ClampedArray, at: number) {
  const [red, green, blue] = [table[at], table[at + 1], table[at + 2]].map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return (luminance + 0.05) ** 2 > 1.05 * 0.05 ? "#000" : "#fff";
}
