// The work of one change of the playground's settings at 10,000 values, counted: calls of its worker, elements that are
// made, times that the page is laid out, and processor time by a fixed loop.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { chromiumOnly, openPage } from "../page.mjs";
import { LOOP, median, NOISE, sum, traceTasks } from "../processor-time.mjs";
import { browser, site } from "../site-and-browser.mjs";

const COMPLETE = "#play .play[data-complete]";
const CHANGE = "a setting changes";
const COMPUTED = "its errors are in the document";
const SHOWN = "they are drawn";

/** Milliseconds of the reference machine from a change to the frame that shows its errors: the goal. */
const UPDATE = 16;

/** Elements that a change makes, such as ticks of other numbers: all others stay. */
const MOST_ELEMENTS = 40;

/** Numbers of bits, one after the other. */
const BITS = [5, 6, 3, 7, 5];

/** Counts calls of workers by the names of their commands. */
function countCalls() {
  window.calls = [];
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (message, ...rest) {
    if (typeof message?.name === "string") window.calls.push(message.name);
    return postMessage.call(this, message, ...rest);
  };
}

/**
 * Changes the number of bits, and waits for all that follows. Marks when its errors are in the document, and when a frame
 * has drawn them.
 * @param counts  whether to count elements, which takes time
 * @returns calls of the worker, and elements that were added
 */
const change = (page, bits, counts = false) =>
  page.evaluate(
    async (value, isCounted, marks) => {
      const play = document.querySelector("#play .play");
      const errors = () => play.querySelector(".play-metrics").textContent;
      const before = errors();
      window.calls = [];
      let added = 0;
      let isComputed = false;
      const observer = new MutationObserver((records) => {
        const nodes = isCounted ? records.flatMap(({ addedNodes }) => [...addedNodes]) : [];
        for (const node of nodes) {
          added += 1 + (node.querySelectorAll?.("*").length ?? 0);
        }
        if (isComputed || errors() === before) return;
        isComputed = true;
        performance.mark(marks.COMPUTED);
        requestAnimationFrame(() => setTimeout(() => performance.mark(marks.SHOWN)));
      });
      observer.observe(play, { childList: true, subtree: true, characterData: true });
      const input = play.querySelector("input[name='bits']");
      performance.mark(marks.CHANGE);
      input.value = value;
      input.dispatchEvent(new Event("input", { bubbles: true }));
      // All that follows, too.
      await new Promise((resolve) => setTimeout(resolve));
      while (!play.matches("[data-complete]")) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      observer.disconnect();
      return { added, calls: window.calls };
    },
    bits,
    counts,
    { CHANGE, COMPUTED, SHOWN },
  );

describe("A change of the playground at 10,000 values", chromiumOnly("trace its tasks"), () => {
  let visit;
  const runs = [];
  let added;

  before(async () => {
    const prepare = countCalls;
    visit = await openPage(browser, `${site.url}#play?v=1&x=rows.100.100.42`, { prepare });
    const { page } = visit;
    await page.waitForSelector(COMPLETE);
    // The first changes compile.
    await change(page, 2);
    ({ added } = await change(page, 4, true));
    for (const bits of BITS) {
      let made;
      const traced = await traceTasks(page, async () => {
        made = await change(page, bits);
      });
      const placeOf = (name) => traced.marks.find((mark) => mark.name === name).at;
      const [begin, computed, shown] = [CHANGE, COMPUTED, SHOWN].map(placeOf);
      // Of the page's tasks all until then.
      const ofPage = traced.tasks.filter((task) => task.end >= begin && task.begin <= shown);
      // The sweeps come after the errors.
      const ofWorker = traced.ofWorkers.filter((task) => task.end >= begin && task.end <= computed);
      runs.push({ ...traced, ...made, page: sum(ofPage), worker: sum(ofWorker) });
    }
  });
  after(() => visit?.close());

  it("asks the worker once for the errors, the curves and the schemes", () => {
    for (const { calls } of runs) assert.deepEqual(calls, ["evaluate", "curves", "schemes"]);
  });

  it("makes few elements, and lays the page out a few times", () => {
    assert.ok(added <= MOST_ELEMENTS, `${added} elements`);
    const layouts = runs.map((run) => run.layouts);
    assert.ok(median(layouts) <= 5, `laid out ${layouts} times`);
  });

  it("shows the errors within the bound, by the processor time of the page and its worker", () => {
    const times = runs.map(({ page, worker }) => page + worker);
    assert.ok(median(times) <= NOISE * UPDATE, `${shown(times)} ms`);
  });

  it("has no long task", () => {
    const times = runs.map(({ tasks }) => tasks[0].time);
    assert.ok(median(times) <= NOISE * LOOP, `${shown(times)} ms`);
  });
});

const shown = (times) => times.map((time) => time.toFixed(1)).join(", ");
