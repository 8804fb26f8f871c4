// Reads the drawn cells of heat maps.

/**
 * The cells of all heat maps that match.
 * @param {import("puppeteer-core").Page} page
 * @param {string} selector  of the drawings
 * @returns {Promise<{ text: string, background: number, contrast: number }[]>}  the number of a cell; the relative
 *   luminance of its background, from 0 to 1; the ratio of contrast between both
 */
export function heatMapCells(page, selector) {
  return page.$$eval(selector, (maps) => {
    const luminance = (color) => {
      const hex = /^#(.)(.)(.)$/.exec(color);
      const parts = hex
        ? hex.slice(1).map((digit) => Number.parseInt(digit + digit, 16))
        : color.match(/\d+/g).map(Number);
      const [r, g, b] = parts.map((part) =>
        part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
      );
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    return maps.flatMap((map) => {
      const rects = [...map.querySelectorAll("rect")];
      return [...map.querySelectorAll("text")].map((text, i) => {
        const [a, b] = [rects[i], text].map((one) => luminance(one.getAttribute("fill")));
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        return { text: text.textContent, background: a, contrast };
      });
    });
  });
}
