// The page's icons, 16 by 16, drawn with strokes in the colour of the text.

import { h, type Tree } from "./tree.js";

const PATHS: Record<string, string> = {
  play: "M5 3.5 L12 8 L5 12.5 Z",
  "play-to": "M4.5 2 L9.5 5.5 L4.5 9 Z M2.5 13 H13.5",
  "play-from": "M4.5 7 L9.5 10.5 L4.5 14 Z M2.5 3 H13.5",
  "play-all": "M3 4 L8 8 L3 12 Z M9 4 L14 8 L9 12 Z",
  pause: "M5.5 3.5 V12.5 M10.5 3.5 V12.5",
  step: "M4 3.5 L10 8 L4 12.5 Z M12.5 3.5 V12.5",
  stop: "M4 4 H12 V12 H4 Z",
  restart: "M13 8 a5 5 0 1 1 -1.6 -3.6 M13.2 1.8 V4.8 H10.2",
  link: "M6.2 9.8 L9.8 6.2 M7.6 4.6 L9.1 3.1 a2.7 2.7 0 0 1 3.8 3.8 L11.4 8.4 M8.4 11.4 L6.9 12.9 a2.7 2.7 0 0 1 -3.8 -3.8 L4.6 7.6",
  download: "M8 2.5 V10 M4.8 7 L8 10.2 L11.2 7 M3 13.2 H13",
  reset: "M3.2 8 a4.8 4.8 0 1 0 1.6 -3.6 M4.9 1.6 V4.6 H7.9",
  check: "M3 8.5 L6.5 12 L13 4.5",
  cross: "M4 4 L12 12 M12 4 L4 12",
  dice: "M3 3 H13 V13 H3 Z M6 6 h.01 M10 10 h.01 M8 8 h.01",
  pencil: "M3 13 L3.7 10.2 L10.6 3.3 L12.7 5.4 L5.8 12.3 Z",
  copy: "M5.5 5.5 H13 V13 H5.5 Z M3 10.5 V3 H10.5",
  next: "M6 3 L11 8 L6 13",
  previous: "M10 3 L5 8 L10 13",
  plus: "M8 3 V13 M3 8 H13",
};

export function icon(name: string): Tree {
  return h(
    "svg",
    { class: `icon icon-${name}`, viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
    h("path", { d: PATHS[name] }),
  );
}
