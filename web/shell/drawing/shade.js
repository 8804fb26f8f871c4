// The colours of heat maps, in both themes.

import { isDark } from "../theme.js";

/**
 * Colours for shares from 0 to 1 in the current theme: the least is close to the page's background, the greatest
 * stands out from it.
 * @param {(share: number) => string} interpolate  from light to dark
 * @returns {(share: number) => string}
 */
export function inTheme(interpolate) {
  return isDark() ? (share) => interpolate(1 - share) : interpolate;
}
