// Files by drop or by a file input.

/**
 * Takes files that are dropped on an element, or chosen by the input in it.
 * @param {HTMLElement} element
 * @param {HTMLInputElement} input
 * @param {(files: File[]) => void} onFiles
 */
export function connectDrop(element, input, onFiles) {
  input.addEventListener("change", () => {
    const files = [...(input.files ?? [])];
    // The same file can be chosen again.
    input.value = "";
    if (files.length > 0) onFiles(files);
  });
  for (const type of ["dragenter", "dragover"]) {
    element.addEventListener(type, (event) => {
      event.preventDefault();
      event.stopPropagation();
      element.classList.add("is-over");
    });
  }
  element.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!element.contains(/** @type {Node | null} */ (relatedTarget))) {
      element.classList.remove("is-over");
    }
  });
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    element.classList.remove("is-over");
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0) onFiles(files);
  });
}
