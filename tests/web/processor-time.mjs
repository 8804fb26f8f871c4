// Processor time of a page's threads, task by task, from Chromium's tracing. It does not grow while other programs have
// the processor. How fast that is, a fixed loop tells, which runs on the page's thread.

/** Where the loop begins and ends. */
const [BEGIN, END] = ["the fixed loop begins", "the fixed loop ends"];

/** How often the loop runs; the median counts. */
const LOOPS = 5;

/**
 * Rounds of the loop: 12.5 ms of the reference machine, which is 50 ms where the processor is 4 times as slow.
 */
const ROUNDS = 5_350_000;

/** Milliseconds that the loop takes on the reference machine. */
export const LOOP = 12.5;

/** What busy neighbours add to the processor time of work that, unlike the loop, needs much memory: bounds allow for it. */
export const NOISE = 1.5;

/** Work of integers, doubles and memory. */
function loop(rounds, begin, end) {
  const values = new Float64Array(4096);
  let state = 1;
  performance.mark(begin);
  for (let i = 0; i < rounds; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    values[state & 4095] += state * 0.5;
  }
  performance.mark(end);
  return values[0];
}

const CATEGORIES = ["toplevel", "devtools.timeline", "blink.user_timing"];

export const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/**
 * Traces what a page does.
 * @param {import("puppeteer-core").Page} page
 * @param {() => Promise<unknown>} work  after which the page rests
 * @returns tasks: of the page's thread, the longest one first: `time` in milliseconds of the reference machine's
 *   processor, `begin` and `end` on the trace's clock; ofWorkers: the same of its workers; layouts and styles: how often the page was
 *   laid out and its styles were computed; marks: of `performance.mark`, with their places on the trace's clock
 */
export async function traceTasks(page, work) {
  await page.tracing.start({ categories: CATEGORIES });
  await work();
  for (let i = 0; i < LOOPS; i++) await page.evaluate(loop, ROUNDS, BEGIN, END);
  const { traceEvents } = JSON.parse(new TextDecoder().decode(await page.tracing.stop()));
  const named = (name) => traceEvents.filter((event) => event.name === name);
  const [begins, ends] = [named(BEGIN), named(END)];
  /** Of the processor, by the reference machine. */
  const speed = (1000 * LOOP) / median(ends.map(({ tts }, i) => tts - begins[i].tts));
  const { pid, tid } = begins[0];
  const workers = named("thread_name").filter(
    (event) => event.pid === pid && /^DedicatedWorker/.test(event.args.name),
  );
  const tasksOf = (threads) =>
    traceEvents
      .filter((event) => event.name === "ThreadControllerImpl::RunTask" && event.pid === pid)
      .filter((event) => threads.includes(event.tid) && event.tdur !== undefined)
      .filter(({ ts, dur }) => !begins.some((mark) => mark.ts >= ts && mark.ts <= ts + dur))
      .map(({ ts, tdur, dur }) => ({ time: (tdur * speed) / 1000, begin: ts, end: ts + dur }))
      .sort((a, b) => b.time - a.time);
  const count = (name) => named(name).filter((event) => event.tid === tid && event.pid === pid);
  return {
    tasks: tasksOf([tid]),
    ofWorkers: tasksOf(workers.map((each) => each.tid)),
    layouts: count("Layout").length,
    styles: count("UpdateLayoutTree").length,
    marks: traceEvents
      .filter(({ cat, ph }) => cat === "blink.user_timing" && ph !== "M")
      .map(({ name, ts }) => ({ name, at: ts })),
  };
}

export const sum = (tasks) => tasks.reduce((all, { time }) => all + time, 0);
