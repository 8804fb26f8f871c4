// Keeps changed code of cells in this browser until it is reset, and notices changes by other tabs.

/** Several copies of the page may live on one origin, each below its own path. */
const prefix = `zeropoint-code ${new URL(".", document.baseURI).pathname} `;

/** The stored text of each cell as this tab last read or wrote it. */
const seen = new Map<string, string | null>();

function read(cell: string) {
  try {
    return localStorage.getItem(prefix + cell);
  } catch {
    return null; // Storage may be forbidden: then a change lasts until the page is closed.
  }
}

function sourceIn(stored: string | null, original: string) {
  try {
    const kept = JSON.parse(stored ?? "null");
    // A change of another original would not fit the notebook around it.
    if (kept?.original === original && typeof kept.source === "string") return kept.source;
  } catch {
    // Not written by this page.
  }
  return original;
}

/**
 * @param cell  its id
 * @param original  its code as the page has it
 * @returns the code as the reader left it
 */
export function keptSource(cell: string, original: string): string {
  const stored = read(cell);
  seen.set(cell, stored);
  return sourceIn(stored, original);
}

/**
 * Keeps the code of a cell, unless another tab has kept other code since this one looked.
 * @param isForced  keep it in any case
 * @returns the code of the other tab, if that is why it was not kept
 */
export function keepSource(
  cell: string,
  original: string,
  source: string,
  isForced = false,
): string | undefined {
  const stored = read(cell);
  const own = source === original ? null : JSON.stringify({ original, source });
  if (!isForced && stored !== seen.get(cell) && stored !== own) return sourceIn(stored, original);
  seen.set(cell, own);
  try {
    if (own === null) localStorage.removeItem(prefix + cell);
    else localStorage.setItem(prefix + cell, own);
  } catch {
    // As above.
  }
  return undefined;
}

/** Reports changes that other tabs keep. */
export function watchOtherTabs(
  report: (cell: string, sourceFor: (original: string) => string) => void,
) {
  addEventListener("storage", ({ key, newValue }) => {
    if (!key?.startsWith(prefix)) return;
    const cell = key.slice(prefix.length);
    report(cell, (original) => sourceIn(newValue, original));
  });
}

/** Records the edit that another tab saved for a cell, so that the next change here may replace it. */
export function acknowledge(cell: string) {
  seen.set(cell, read(cell));
}
