// The search view: a drawn digit among 10,000, and the reader's own vectors, searched in a worker.

import { startCalls } from "../shell/calls/client.js";
import { find } from "../shell/dom.js";
import { toDom } from "../shell/drawing/tree.js";
import { makeScrollable } from "../shell/scrollable.js";
import { connectDigits } from "./digits-view.js";
import { skeleton } from "./skeleton.js";
import { connectVectors } from "./vectors-view.js";
import workerUrl from "./worker/search-worker.js?worker&url";

export function connectSearch(view: HTMLElement, announce: (message: string) => void) {
  const root = find(view, ".search");
  root.replaceChildren(...skeleton().map((part) => toDom(part)));
  const problem = find(root, ".search-problem");
  const show = (message: string) => {
    problem.textContent = message;
    problem.hidden = message === "";
  };
  let client: ReturnType<typeof startCalls> | undefined;
  /** Calls the worker, which starts with the first call. */
  const call: ReturnType<typeof startCalls>["call"] = (command, argument) => {
    client ??= startCalls(workerUrl, "search", (message) => {
      client = undefined;
      show(message);
    });
    return client.call(command, argument);
  };
  connectDigits(find(root, ".search-digits"), {
    ...{ call, announce, show },
  });
  connectVectors(find(root, ".search-own"), {
    ...{ view, call, announce, show },
  });
  makeScrollable(root);
  root.hidden = false;
}
