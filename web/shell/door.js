// The overview's door to the Model Lab: takes model files, and hands them to the lab once that is connected.

import { connectDrop } from "./drop.js";

/**
 * @param {HTMLElement} overview
 * @returns {(lab: HTMLElement) => void} gives the lab the files that wait for it, as if chosen there
 */
export function connectDoor(overview) {
  /** @type {File[]} */
  let waiting = [];
  const door = /** @type {HTMLElement} */ (overview.querySelector(".door-model"));
  const drop = /** @type {HTMLElement} */ (door.querySelector(".door-drop"));
  const input = /** @type {HTMLInputElement} */ (drop.querySelector("input"));
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
    const taken = /** @type {HTMLInputElement | null} */ (lab.querySelector(".lab-drop input"));
    if (waiting.length === 0 || !taken) return;
    const transfer = new DataTransfer();
    for (const file of waiting) transfer.items.add(file);
    waiting = [];
    taken.files = transfer.files;
    taken.dispatchEvent(new Event("change"));
  };
}
