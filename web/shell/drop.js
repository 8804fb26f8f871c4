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
  on("drop", async (event) => {
    marked.classList.remove("is-over");
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0 && !takes(files)) return;
    event.preventDefault();
    // Entries are there during the event only.
    const entries = Array.from(event.dataTransfer?.items ?? [], (item) =>
      item.webkitGetAsEntry?.(),
    );
    const isFolder = entries.some((entry) => entry?.isDirectory);
    const all = isFolder ? (await Promise.all(entries.map(filesIn))).flat() : files;
    if (all.length > 0) onFiles(all);
  });
}

/**
 * The files of a folder and of those in it, or the file itself.
 * @param {any} entry  FileSystemEntry
 * @returns {Promise<File[]>}
 */
async function filesIn(entry) {
  if (entry?.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const files = [];
  const reader = entry?.createReader();
  for (;;) {
    // A hundred at a time, in Chromium.
    const some = reader
      ? await new Promise((resolve, reject) => reader.readEntries(resolve, reject))
      : [];
    if (some.length === 0) return files;
    files.push(...(await Promise.all(some.map(filesIn))).flat());
  }
}
