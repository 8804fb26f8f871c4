// Work in slices, with room for input and drawing between them.

const SLICE = 5; // milliseconds; one item may take longer

/** Lets the browser handle input and draw. */
export const turn = (): Promise<void> =>
  (globalThis as any).scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve));

/** Does work for each item, in turns of the event loop. */
export async function inSlices<T>(items: Iterable<T>, work: (item: T) => void) {
  let end = performance.now() + SLICE;
  for (const item of items) {
    if (performance.now() >= end) {
      await turn();
      end = performance.now() + SLICE;
    }
    work(item);
  }
}
