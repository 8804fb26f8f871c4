// "Measure on your machine": starts the benchmark's worker and shows its results.

import { find } from "../shell/dom.js";
import { h, toDom } from "../shell/drawing/tree.js";
import { messageOf } from "../shell/message-of.js";
import { makeScrollable } from "../shell/scrollable.js";
import { scriptUrl } from "../shell/trusted.js";
import workerUrl from "./measure-worker.js?worker&url";
import { elementwiseTables, linearTables, type Measurement, smallTables } from "./tables.js";

type Unavailable = { name: string; reason: string };

export function connectMeasure(view: HTMLElement, announce: (message: string) => void) {
  const element = find(view, ".measure");
  const start = find(element, "[data-action='measure']", HTMLButtonElement);
  const stop = find(element, "[data-action='stop']", HTMLButtonElement);
  const progress = find(element, "progress", HTMLProgressElement);
  const status = find(element, ".measure-status");
  const output = find(element, ".measure-results");
  let worker: Worker | undefined;

  const end = (message: string) => {
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

  const receive = (data: any) => {
    if (data.type === "case") {
      progress.value = data.done / data.total;
      status.textContent = `${data.done} of ${data.total}: ${data.title}`;
      show(data.results);
    } else if (data.type === "done") {
      show(data.results, data.unavailable);
      const wrong = data.results.filter(({ check }: Measurement) => check?.problem);
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

  const show = (results: Measurement[], unavailable: Unavailable[] = []) => {
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
      end(`It could not be started: ${messageOf(error)}`);
    }
  });
  stop.addEventListener("click", () => end("Stopped."));
  element.hidden = false;
}
