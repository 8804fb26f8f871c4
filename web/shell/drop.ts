// Files by drop or by a file input.

/**
 * Takes files that are dropped on an element, or chosen by an input.
 * @param options.marked  has the class is-over while files are over the element; default: the element
 * @param options.isActive  whether files may be dropped now; default: always
 * @param options.takes  whether the files are for this element; others are left to the
 *   elements that it is in; default: all
 */
export function connectDrop(
  element: HTMLElement | Document,
  input: HTMLInputElement,
  onFiles: (files: File[]) => void,
  {
    marked = element as Element,
    isActive = () => true,
    takes = () => true,
  }: { marked?: Element; isActive?: () => boolean; takes?: (files: File[]) => boolean } = {},
) {
  input.addEventListener("change", () => {
    const files = [...(input.files ?? [])];
    // The same file can be chosen again.
    input.value = "";
    if (files.length > 0) onFiles(files);
  });
  const on = (type: string, act: (event: DragEvent) => void) =>
    element.addEventListener(type, (event) => {
      if (event.defaultPrevented) marked.classList.remove("is-over");
      else if (event instanceof DragEvent && hasFiles(event) && isActive()) act(event);
    });
  for (const type of ["dragenter", "dragover"]) {
    on(type, (event) => {
      event.preventDefault();
      marked.classList.add("is-over");
    });
  }
  on("dragleave", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && element.contains(relatedTarget))) {
      marked.classList.remove("is-over");
    }
  });
  on("drop", async (event) => {
    marked.classList.remove("is-over");
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0 && !takes(files)) return;
    event.preventDefault();
    // Entries are there during the event only.
    const entries = Array.from(
      event.dataTransfer?.items ?? [],
      (item) => item.webkitGetAsEntry?.() ?? null,
    );
    const all = entries.some(isFolder) ? (await Promise.all(entries.map(filesIn))).flat() : files;
    if (all.length > 0) onFiles(all);
  });
}

/** Text that is dragged is left to the fields that take it. */
const hasFiles = ({ dataTransfer }: DragEvent) => !!dataTransfer?.types.includes("Files");

/** The files of a folder and of those in it, or the file itself. */
async function filesIn(entry: FileSystemEntry | null): Promise<File[]> {
  if (isFile(entry)) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  if (!isFolder(entry)) return [];
  const files: File[] = [];
  const reader = entry.createReader();
  for (;;) {
    // A hundred at a time, in Chromium.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return files;
    files.push(...(await Promise.all(some.map(filesIn))).flat());
  }
}

const isFile = (entry: FileSystemEntry | null): entry is FileSystemFileEntry =>
  entry?.isFile === true;

const isFolder = (entry: FileSystemEntry | null): entry is FileSystemDirectoryEntry =>
  entry?.isDirectory === true;
