// The search view: a drawn digit among 10,000, and the reader's own vectors, searched in a worker.

import { startCalls } from "../shell/calls/client.js";
import { toDom } from "../shell/drawing/tree.js";
import { makeScrollable } from "../shell/scrollable.js";
import { connectDigits } from "./digits-view.js";
import { skeleton } from "./skeleton.js";
import { connectVectors } from "./vectors-view.js";
import workerUrl from "./worker/search-worker.js?worker&url";

/**
 * @param {HTMLElement} view
 * @param {(message: string) => void} announce
 */
export function connectSearch(view, announce) {
  const root = /** @type {HTMLElement} */ (view.querySelector(".search"));
  root.replaceChildren(...skeleton().map((part) => toDom(part)));
  const problem = /** @type {HTMLElement} */ (root.querySelector(".search-problem"));
  const show = (/** @type {string} */ message) => {
    problem.textContent = message;
    problem.hidden = message === "";
  };
  /** @type {ReturnType<typeof startCalls> | undefined} */
  let client;
  /** Calls the worker, which starts with the first call. @type {ReturnType<typeof startCalls>["call"]} */
  const call = (command, argument) => {
    client ??= startCalls(workerUrl, "search", (message) => {
      client = undefined;
      show(`The search's worker ended: ${message}`);
    });
    return client.call(command, argument);
  };
  connectDigits(/** @type {HTMLElement} */ (root.querySelector(".search-digits")), {
    ...{ call, announce, show },
  });
  connectVectors(/** @type {HTMLElement} */ (root.querySelector(".search-own")), {
    ...{ view, call, announce, show },
  });
  makeScrollable(root);
  root.hidden = false;
}
