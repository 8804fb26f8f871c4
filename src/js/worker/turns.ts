// Turns of the event loop.

interface Scheduler {
  postTask?(task: () => void): Promise<void>;
}

const { scheduler, setImmediate } = globalThis as {
  scheduler?: Scheduler;
  setImmediate?: (work: () => void) => void;
};

/** Milliseconds after which the event loop gets a turn. */
const TURN = 5;

/** Lets timers, messages and everything else that waits on this thread run. */
export function pause(): Promise<void> {
  if (typeof setImmediate === "function") return new Promise((resolve) => setImmediate(resolve));
  // Not scheduler.yield(), whose continuation goes before all timers.
  if (typeof scheduler?.postTask === "function") return scheduler.postTask(() => undefined);
  return new Promise((resolve) => setTimeout(resolve));
}

let turn = 0;

/** Whether this thread has computed for so long that the event loop should have a turn. */
export const isTurnOver = (): boolean => performance.now() - turn > TURN;

/** Gives the event loop a turn, and restarts the clock when the turn ends. */
export async function takeTurn(): Promise<void> {
  await pause();
  turn = performance.now();
}
