// The overview's door to the Model Lab: takes model files, and hands them to the lab once that is connected.

import { find } from "./dom.js";
import { connectDrop } from "./drop.js";

/** @returns gives the lab the files that wait for it, as if chosen there */
export function connectDoor(overview: HTMLElement): (lab: HTMLElement) => void {
  let waiting: File[] = [];
  const door = find(overview, ".door-model");
  const drop = find(door, ".door-drop");
  const input = find(drop, "input", HTMLInputElement);
  connectDrop(
    document,
    input,
    (files) => {
      waiting = files;
      location.hash = "#lab";
    },
    { marked: door, isActive: () => overview.hasAttribute("data-current") },
  );
  drop.hidden = false;
  return (lab) => {
    const taken = lab.querySelector<HTMLInputElement>(".lab-drop input");
    if (waiting.length === 0 || !taken) return;
    const transfer = new DataTransfer();
    for (const file of waiting) transfer.items.add(file);
    waiting = [];
    taken.files = transfer.files;
    taken.dispatchEvent(new Event("change"));
  };
}
