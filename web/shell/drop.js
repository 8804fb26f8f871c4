// Files by drop or by a file input.

/**
 * Takes files that are dropped on an element, or chosen by an input.
 * @param {HTMLElement | Document} element
 * @param {HTMLInputElement} input
 * @param {(files: File[]) => void} onFiles
 * @param {object} [options]
 * @param {Element} [options.marked]  has the class is-over while files are over the element; default: the element
 * @param {() => boolean} [options.isActive]  whether files may be dropped now; default: always
 * @param {(files: File[]) => boolean} [options.takes]  whether the files are for this element; others are left to the
 *   elements that it is in; default: all
 */
export function connectDrop(
  element,
  input,
  onFiles,
  { marked = /** @type {Element} */ (element), isActive = () => true, takes = () => true } = {},
) {
  input.addEventListener("change", () => {
    const files = [...(input.files ?? [])];
    // The same file can be chosen again.
    input.value = "";
    if (files.length > 0) onFiles(files);
  });
  const on = (/** @type {string} */ type, /** @type {(event: DragEvent) => void} */ act) =>
    element.addEventListener(type, (event) => {
      if (event.defaultPrevented) marked.classList.remove("is-over");
      else if (isActive()) act(/** @type {DragEvent} */ (event));
    });
  for (const type of ["dragenter", "dragover"]) {
    on(type, (event) => {
      event.preventDefault();
      marked.classList.add("is-over");
    });
  }
  on("dragleave", ({ relatedTarget }) => {
    if (!element.contains(/** @type {Node | null} */ (relatedTarget))) {
      marked.classList.remove("is-over");
    }
  });
  on("drop", (event) => {
    marked.classList.remove("is-over");
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0 && !takes(files)) return;
    event.preventDefault();
    if (files.length > 0) onFiles(files);
  });
}
