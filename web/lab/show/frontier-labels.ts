// Places the labels of the plan's chart beside their circles, clear of the line and of each other.

/** In pixels. */
type Place = { x: number; y: number };

type Box = { left: number; right: number; top: number; bottom: number };

type Anchor = "start" | "middle" | "end";

/** The end of the text's baseline that the anchor names. */
type Label = Place & { anchor: Anchor };

/** Width of a letter, and the heights above and below the baseline, of the chart's letters in pixels. */
const LETTER = 7.6;
const ASCENT = 11;
const DESCENT = 3;
const CIRCLE = 5;

/** Where a label may be, from the circle. The line has no circle above it, so that is tried first. */
const OFFSETS: readonly [number, number, Anchor][] = [
  [-6, -6, "end"],
  [8, 4, "start"],
  [6, 15, "start"],
  [-8, 4, "end"],
  [0, 19, "middle"],
  [0, -9, "middle"],
  [6, -6, "start"],
  [-6, 15, "end"],
];

/** @returns one for each circle */
export function placeLabels(
  circles: readonly (Place & { text: string })[],
  line: readonly Place[],
  room: Box,
): Label[] {
  const obstacles = [...circles.map((circle) => boxAround(circle, CIRCLE)), ...boxesOf(line)];
  // The lowest circles have the least room.
  const order = circles.map((_, i) => i).sort((a, b) => circles[b].y - circles[a].y);
  const labels = Array(circles.length) as Label[];
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

/** The room that a label takes. */
export function boxOf({ x, y, anchor }: Label, text: string): Box {
  const width = text.length * LETTER;
  const left = x - { start: 0, middle: width / 2, end: width }[anchor];
  return { left, right: left + width, top: y - ASCENT, bottom: y + DESCENT };
}

const boxAround = ({ x, y }: Place, reach: number): Box => ({
  left: x - reach,
  right: x + reach,
  top: y - reach,
  bottom: y + reach,
});

/** Small boxes along a line. */
export function boxesOf(line: readonly Place[]) {
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

const areaOf = ({ left, right, top, bottom }: Box) => (right - left) * (bottom - top);

/** The area that two boxes share. */
export function overlap(a: Box, b: Box) {
  const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return width > 0 && height > 0 ? width * height : 0;
}
