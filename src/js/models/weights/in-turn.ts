// Reads of one place at a time.

/** Runs functions, each when the one before it has ended. */
export function oneAfterTheOther(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const next = last.then(run, run);
    last = next.catch(() => {});
    return next;
  };
}
