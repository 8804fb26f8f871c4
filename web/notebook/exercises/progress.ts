// The exercises that the reader has solved, kept in this browser and exported as a file.

/** Several copies of the page may live on one origin, each below its own path. */
const KEY = `zeropoint-exercises ${new URL(".", document.baseURI).pathname}`;

const FORMAT = "zeropoint-exercises";
const SIZE_LIMIT = 100_000; // characters of a file of progress
const ID = /^[a-z0-9-]{1,40}$/;

/** What could not be stored: it lasts until the page is closed. */
let unstored: Map<string, string> | undefined;

/** The ids of the solved exercises, with the day on which each was solved. */
function read() {
  if (unstored) return new Map(unstored);
  try {
    return solvedIn(JSON.parse(localStorage.getItem(KEY) ?? "{}"));
  } catch {
    return new Map(); // Storage is forbidden, or its text was not written by this page.
  }
}

function solvedIn(value: any): Map<string, string> {
  const entries = Object.entries(value?.solved ?? {});
  return new Map(
    entries.flatMap(([id, day]) =>
      ID.test(id) && typeof day === "string" && /^\d{4}-\d\d-\d\d$/.test(day) ? [[id, day]] : [],
    ),
  );
}

function write(solved: Map<string, string>) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ solved: Object.fromEntries(solved) }));
  } catch {
    unstored = solved;
  }
}

export const solvedExercises = (): ReadonlyMap<string, string> => read();

export function keepSolved(id: string) {
  const solved = read();
  if (solved.has(id)) return;
  solved.set(id, new Date().toISOString().slice(0, 10));
  write(solved);
}

export function exportProgress() {
  const solved = Object.fromEntries(read());
  return `${JSON.stringify({ format: FORMAT, version: 1, solved }, undefined, 2)}\n`;
}

/**
 * Adds the solved exercises of an exported file to those that are kept.
 * @returns how many the file has
 * @throws {RangeError} if it is no such file
 */
export function importProgress(text: string): number {
  if (text.length > SIZE_LIMIT) throw new RangeError("it is too large for a file of progress");
  let value: any;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RangeError("it is not JSON");
  }
  if (value?.format !== FORMAT) throw new RangeError("it is not a file of this page's exercises");
  const found = solvedIn(value);
  write(new Map([...found, ...read()]));
  return found.size;
}
