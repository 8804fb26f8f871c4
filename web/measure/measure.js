// "Measure on your machine": starts the benchmark's worker and shows its results.

import { h, toDom } from "../shell/drawing/tree.js";
import { makeScrollable } from "../shell/scrollable.js";
import { scriptUrl } from "../shell/trusted.js";
import workerUrl from "./measure-worker.js?worker&url";
import { elementwiseTables, linearTables, smallTables } from "./tables.js";

/**
 * @typedef {import("./tables.js").Measurement} Measurement
 * @typedef {{ name: string, reason: string }} Unavailable
 */

/**
 * @param {HTMLElement} view
 * @param {(message: string) => void} announce
 */
export function connectMeasure(view, announce) {
  const element = /** @type {HTMLElement} */ (view.querySelector(".measure"));
  const find = (/** @type {string} */ selector) =>
    /** @type {HTMLElement} */ (element.querySelector(selector));
  const start = /** @type {HTMLButtonElement} */ (find("[data-action='measure']"));
  const stop = /** @type {HTMLButtonElement} */ (find("[data-action='stop']"));
  const progress = /** @type {HTMLProgressElement} */ (find("progress"));
  const status = find(".measure-status");
  const output = find(".measure-results");
  /** @type {Worker | undefined} */
  let worker;

  /** @param {string} message */
  const end = (message) => {
    worker?.terminate();
    worker = undefined;
    // The button that was pressed is about to be disabled: the focus must not be lost with it.
    const hadFocus = document.activeElement === stop;
    start.disabled = false;
    stop.disabled = true;
    if (hadFocus) start.focus();
    progress.hidden = true;
    status.textContent = message;
    delete element.dataset.running;
    announce(message);
  };

  /** @param {any} data */
  const receive = (data) => {
    if (data.type === "case") {
      progress.value = data.done / data.total;
      status.textContent = `${data.done} of ${data.total}: ${data.title}`;
      show(data.results);
    } else if (data.type === "done") {
      show(data.results, data.unavailable);
      const wrong = data.results.filter((/** @type {Measurement} */ { check }) => check?.problem);
      end(
        wrong.length === 0
          ? "Done: every result was right."
          : `Done, but ${wrong.length} results were wrong.`,
      );
      start.textContent = "Measure again";
    } else if (data.type === "failed") {
      end(`It could not be measured: ${data.message}`);
    }
  };

  /**
   * @param {Measurement[]} results
   * @param {Unavailable[]} [unavailable]
   */
  const show = (results, unavailable = []) => {
    const tables = [
      ...linearTables(results),
      ...elementwiseTables(results),
      ...smallTables(results),
    ];
    const missing =
      unavailable.length > 0 &&
      h(
        "details",
        { class: "measure-missing" },
        h("summary", {}, "What this browser or page cannot run"),
        h(
          "ul",
          {},
          unavailable.map(({ name, reason }) => h("li", {}, `${name}: ${reason}`)),
        ),
      );
    output.replaceChildren(...tables.map((table) => toDom(table)));
    if (missing) output.append(toDom(missing));
    makeScrollable(output);
  };

  start.addEventListener("click", () => {
    start.disabled = true;
    stop.disabled = false;
    progress.hidden = false;
    progress.value = 0;
    status.textContent = "Starting …";
    output.replaceChildren();
    element.dataset.running = "";
    stop.focus();
    try {
      worker = new Worker(scriptUrl(workerUrl), { type: "module", name: "measure" });
      worker.addEventListener("message", ({ data }) => receive(data));
      worker.addEventListener("error", (event) => {
        event.preventDefault();
        end(`The worker that measures failed: ${event.message || "it could not be loaded"}`);
      });
    } catch (error) {
      end(`It could not be started: ${/** @type {Error} */ (error).message}`);
    }
  });
  stop.addEventListener("click", () => end("Stopped."));
  element.hidden = false;
}
