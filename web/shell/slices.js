// Work in slices, with room for input and drawing between them.

const SLICE = 8; // milliseconds; one item may take longer

/** Lets the browser handle input and draw. @returns {Promise<void>} */
export const turn = () =>
  /** @type {any} */ (globalThis).scheduler?.yield?.() ??
  new Promise((resolve) => setTimeout(resolve));

/**
 * Does work for each item, in turns of the event loop.
 * @template T
 * @param {Iterable<T>} items
 * @param {(item: T) => void} work
 */
export async function inSlices(items, work) {
  let end = performance.now() + SLICE;
  for (const item of items) {
    if (performance.now() >= end) {
      await turn();
      end = performance.now() + SLICE;
    }
    work(item);
  }
}
