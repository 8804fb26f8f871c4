// Places the labels of the plan's chart beside their circles, clear of the line and of each other.

/**
 * @typedef {{ x: number, y: number }} Place  in pixels
 * @typedef {{ left: number, right: number, top: number, bottom: number }} Box
 * @typedef {"start" | "middle" | "end"} Anchor
 * @typedef {Place & { anchor: Anchor }} Label  the end of the text's baseline that the anchor names
 */

/** Width of a letter, and the heights above and below the baseline, of the chart's letters in pixels. */
const LETTER = 7.6;
const ASCENT = 11;
const DESCENT = 3;
const CIRCLE = 5;

/**
 * Where a label may be, from the circle. The line has no circle above it, so that is tried first.
 * @type {readonly [number, number, Anchor][]}
 */
const OFFSETS = [
  [-6, -6, "end"],
  [8, 4, "start"],
  [6, 15, "start"],
  [-8, 4, "end"],
  [0, 19, "middle"],
  [0, -9, "middle"],
  [6, -6, "start"],
  [-6, 15, "end"],
];

/**
 * @param {readonly (Place & { text: string })[]} circles
 * @param {readonly Place[]} line
 * @param {Box} room
 * @returns {Label[]} one for each circle
 */
export function placeLabels(circles, line, room) {
  const obstacles = [...circles.map((circle) => boxAround(circle, CIRCLE)), ...boxesOf(line)];
  // The lowest circles have the least room.
  const order = circles.map((_, i) => i).sort((a, b) => circles[b].y - circles[a].y);
  const labels = /** @type {Label[]} */ (Array(circles.length));
  for (const i of order) {
    const { x, y, text } = circles[i];
    const choices = OFFSETS.map(([right, down, anchor]) => {
      const label = { x: x + right, y: y + down, anchor };
      const box = boxOf(label, text);
      const hidden = obstacles.reduce((sum, other) => sum + overlap(box, other), 0);
      return { label, box, cost: hidden + areaOf(box) - overlap(box, room) };
    });
    const best = choices.reduce((a, b) => (b.cost < a.cost ? b : a));
    labels[i] = best.label;
    obstacles.push(best.box);
  }
  return labels;
}

/**
 * The room that a label takes.
 * @param {Label} label
 * @param {string} text
 * @returns {Box}
 */
export function boxOf({ x, y, anchor }, text) {
  const width = text.length * LETTER;
  const left = x - { start: 0, middle: width / 2, end: width }[anchor];
  return { left, right: left + width, top: y - ASCENT, bottom: y + DESCENT };
}

/** @param {Place} place @param {number} reach @returns {Box} */
const boxAround = ({ x, y }, reach) => ({
  left: x - reach,
  right: x + reach,
  top: y - reach,
  bottom: y + reach,
});

/** Small boxes along a line. @param {readonly Place[]} line */
export function boxesOf(line) {
  return line.slice(1).flatMap((to, i) => {
    const from = line[i];
    const count = Math.max(1, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / 4));
    return Array.from({ length: count }, (_, j) => {
      const share = (j + 0.5) / count;
      const middle = { x: from.x + share * (to.x - from.x), y: from.y + share * (to.y - from.y) };
      return boxAround(middle, 2);
    });
  });
}

/** @param {Box} box */
const areaOf = ({ left, right, top, bottom }) => (right - left) * (bottom - top);

/** The area that two boxes share. @param {Box} a @param {Box} b */
export function overlap(a, b) {
  const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return width > 0 && height > 0 ? width * height : 0;
}
