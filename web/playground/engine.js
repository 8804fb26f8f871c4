// Connects the page with the playground's worker. Ignores results of superseded requests.

import { answerWithCore } from "../shell/core/core.js";
import { keepFiles } from "../shell/offline/offline.js";
import { scriptUrl } from "../shell/trusted.js";
import workerUrl from "./worker/worker.js?worker&url";

/**
 * @typedef {import("./worker/worker.js").Request} Request
 * @typedef {import("./worker/worker.js").Abilities} Abilities
 * @typedef {Record<string, (message: any) => void>} Handlers  by the type of the worker's message
 */

export class Engine {
  #worker;
  #handlers;
  #last = 0;

  /** @param {Handlers} handlers */
  constructor(handlers) {
    this.#handlers = handlers;
    this.#worker = new Worker(scriptUrl(workerUrl), { type: "module", name: "playground" });
    this.#worker.addEventListener("message", ({ data }) => this.#receive(data));
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      const message = event.message || "it could not be loaded";
      handlers.failed({ message: `the playground's worker failed: ${message}` });
    });
    keepFiles([new URL(workerUrl, document.baseURI).href]);
  }

  /** @param {Omit<Request, "id">} request */
  ask(request) {
    this.#worker.postMessage({ ...request, id: ++this.#last });
  }

  /** @param {any} data */
  #receive(data) {
    if (data.type === "core") {
      answerWithCore(data);
      return;
    }
    // Data of an older request is never ignored, because later requests may use the same data.
    const isCurrent = data.id === undefined || data.id === this.#last || data.type === "data";
    if (isCurrent) this.#handlers[data.type]?.(data);
  }
}
