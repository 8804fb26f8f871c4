// Keeps what the reader has changed in cells, in this browser, until it is reset.

/** Several copies of the page may live on one origin, each below its own path. */
const prefix = `zeropoint-code ${new URL(".", document.baseURI).pathname} `;

/**
 * @param {string} cell      its id
 * @param {string} original  its code as the page has it
 * @returns {string} the code as the reader left it
 */
export function keptSource(cell, original) {
  try {
    const kept = JSON.parse(localStorage.getItem(prefix + cell) ?? "null");
    // What was changed of another original would not fit the notebook around it.
    if (kept?.original === original && typeof kept.source === "string") return kept.source;
  } catch {
    // Storage may be forbidden: then a change lasts until the page is closed.
  }
  return original;
}

/**
 * @param {string} cell
 * @param {string} original
 * @param {string} source
 */
export function keepSource(cell, original, source) {
  try {
    if (source === original) localStorage.removeItem(prefix + cell);
    else localStorage.setItem(prefix + cell, JSON.stringify({ original, source }));
  } catch {
    // As above.
  }
}
