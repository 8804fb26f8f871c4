// Modules of the page that need few objects of a browser: kept edits, keys of a notebook, requests of the service worker.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, it } from "node:test";
import { runInNewContext } from "node:vm";
import { transformSync } from "esbuild";
import { fromPage } from "../from-page.mjs";

describe("keptSource", () => {
  const stored = new Map();
  let edits;
  before(async () => {
    globalThis.document = { baseURI: "http://localhost/page/" };
    globalThis.localStorage = {
      getItem: (key) => stored.get(key) ?? null,
      setItem: (key, value) => stored.set(key, value),
      removeItem: (key) => stored.delete(key),
    };
    edits = await fromPage("notebook/edits.js");
  });

  it("gives the code of the last edit, of the same original only", () => {
    assert.equal(edits.keptSource("in-1", "original"), "original");
    assert.equal(edits.keepSource("in-1", "original", "changed"), undefined);
    assert.equal(edits.keptSource("in-1", "original"), "changed");
    assert.equal(edits.keptSource("in-1", "another"), "another");
    assert.equal(edits.keepSource("in-1", "original", "original", true), undefined);
    assert.equal(stored.size, 0);
  });
});

describe("the keys of a notebook", () => {
  it("move to the next cell with j, and to the one before with k", async () => {
    globalThis.HTMLElement = class extends EventTarget {
      matches = () => false;
      closest = () => null;
    };
    const { connectKeys } = await fromPage("notebook/keys.js");
    const cells = [0, 1, 2].map(() => {
      const element = new HTMLElement();
      const cell = { element, hasFocus: false, bringIntoView: () => {} };
      element.focus = () => {
        for (const each of cells) each.hasFocus = each === cell;
      };
      return cell;
    });
    const element = new HTMLElement();
    connectKeys({ cells, element });
    const focusAfter = (key) => {
      element.dispatchEvent(Object.assign(new Event("keydown", { cancelable: true }), { key }));
      return cells.findIndex(({ hasFocus }) => hasFocus);
    };
    cells[1].element.focus();
    assert.deepEqual([focusAfter("j"), focusAfter("k"), focusAfter("k")], [2, 1, 0]);
  });
});

describe("the service worker", () => {
  it("answers requests that read files of its scope, and no others", () => {
    const path = new URL("../../../web/shell/offline/service-worker.ts", import.meta.url);
    const handlers = {};
    const scope = "http://localhost/page/";
    const self = {
      registration: { scope },
      addEventListener: (type, handler) => {
        handlers[type] = handler;
      },
    };
    const { code } = transformSync(readFileSync(path, "utf8"), { loader: "ts" });
    const never = () => new Promise(() => {});
    runInNewContext(code, {
      // The build declares these.
      ...{ VERSION: "1", FILES: [], REST: [], ON_USE: [] },
      self,
      URL,
      setTimeout,
      fetch: never,
      caches: { open: never, match: never },
    });
    const isAnswered = (request) => {
      let answered = false;
      const respondWith = () => {
        answered = true;
      };
      handlers.fetch({ request, respondWith, waitUntil: () => {} });
      return answered;
    };
    const url = `${scope}assets/a.js`;
    assert.equal(isAnswered({ method: "GET", mode: "cors", url }), true);
    assert.equal(isAnswered({ method: "POST", mode: "cors", url }), false);
    assert.equal(
      isAnswered({ method: "GET", mode: "cors", url: "http://localhost/else.js" }),
      false,
    );
  });
});
