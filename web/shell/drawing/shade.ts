// The colours of heat maps, in both themes.

import { isDark } from "../theme.js";

/**
 * Colours for shares from 0 to 1 in the current theme: the least is close to the page's background, the greatest
 * stands out from it.
 * @param interpolate  from light to dark
 */
export function inTheme(interpolate: (share: number) => string): (share: number) => string {
  return isDark() ? (share) => onDark(interpolate(1 - share), share) : interpolate;
}

/** The dark theme's background: red, green and blue. */
const DARK = [27, 31, 36];

/**
 * The darkest colour of a scale is still a strong one: those of small shares are mixed with the background.
 * @param color  rgb(…)
 */
function onDark(color: string, share: number) {
  const part = 0.8 * (1 - share) ** 3;
  const channels = (color.match(/\d+/g) ?? []).map((channel, i) =>
    Math.round((1 - part) * Number(channel) + part * DARK[i]),
  );
  return `rgb(${channels.join(", ")})`;
}
