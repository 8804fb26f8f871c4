// Whether the reader navigates by the Tab key; listens before the first editor exists.

let isTab = false;
addEventListener(
  "keydown",
  ({ key }) => {
    // Modifiers come before another key, or take the reader to another window and back.
    if (!["Alt", "Control", "Meta", "Shift"].includes(key)) isTab = key === "Tab";
  },
  true,
);
addEventListener("pointerdown", forgetTab, true);

/** Whether the last thing that was pressed, key or pointer, was Tab. */
export const wasTab = () => isTab;

export function forgetTab() {
  isTab = false;
}
