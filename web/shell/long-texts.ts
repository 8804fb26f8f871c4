// Refuses texts that are too long for the line that they are pasted into or dropped on.

import { countText } from "./drawing/numbers.js";

/** Letters that a line takes. A browser lays all of them out at once: a million lines end the tab. */
const LIMIT = 10_000;

/** Milliseconds for which the field says why. */
const SHOWN = 6000;

/** Letters of the text that an event brings. */
export function lengthOf(event: ClipboardEvent | DragEvent) {
  const data = event instanceof DragEvent ? event.dataTransfer : event.clipboardData;
  return data?.getData("text/plain").length ?? 0;
}

/** Says at a field that a text is too long for it. */
function refuse(field: HTMLInputElement, length: number) {
  const most = countText(LIMIT);
  field.setCustomValidity(
    `The text has ${countText(length)} characters; this field takes at most ${most}.`,
  );
  field.reportValidity();
  // The field's own text is as it was, and may be sent.
  setTimeout(() => field.setCustomValidity(""), SHOWN);
}

/** Refuses long texts in all inputs of the document. */
export function refuseLongTexts() {
  const check = (event: ClipboardEvent | DragEvent) => {
    const [field] = event.composedPath();
    if (!(field instanceof HTMLInputElement)) return;
    const length = lengthOf(event);
    if (length <= LIMIT) return;
    event.preventDefault();
    event.stopPropagation();
    refuse(field, length);
  };
  document.addEventListener("paste", check, { capture: true });
  document.addEventListener("drop", check, { capture: true });
}
