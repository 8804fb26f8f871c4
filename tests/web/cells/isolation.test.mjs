// A cell leaves nothing that outlives its worker: no cached script, no database, no file, no message.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openOnce, page, runInFirstCell } from "./first-notebook.mjs";

/** Ways to store something. Each ends in "kept" if the interface exists and works. */
const WAYS = {
  "Cache Storage": `await (await caches.open("x")).put("./assets/x.js", new Response("1")); "kept"`,
  "a database": `await new Promise((resolve, reject) => {
    const request = indexedDB.open("x");
    request.onsuccess = resolve;
    request.onerror = reject;
  }); "kept"`,
  "the private file system": `await navigator.storage.getDirectory(); "kept"`,
  "storage buckets": `await (await navigator.storageBuckets.open("x")).caches.keys(); "kept"`,
  "the file system of Chromium": `self.webkitRequestFileSystemSync(1, 1); "kept"`,
  "a broadcast channel": `new BroadcastChannel("x").postMessage(1); "kept"`,
  "a service worker": `await navigator.serviceWorker.register("./service-worker.js"); "kept"`,
  "a worker made of text": `new Worker(URL.createObjectURL(new Blob(["caches.open('x')"]))); "kept"`,
  "a shared worker": `new SharedWorker("./service-worker.js"); "kept"`,
  "a lock": `await navigator.locks.request("x", () => {}); "kept"`,
  "the prototype of the global object": `
    const owner = Object.getPrototypeOf(self);
    await Object.getOwnPropertyDescriptor(owner, "caches").get.call(self).open("x"); "kept"`,
  "the prototype of the caches": `await CacheStorage.prototype.open.call(self, "x"); "kept"`,
  "code made by Function": `await new Function("return caches.open('x')")(); "kept"`,
};

describe("The worker of the cells", () => {
  openOnce();

  for (const [way, source] of Object.entries(WAYS)) {
    it(`keeps nothing by ${way}`, async () => {
      const { state, output, error } = await runInFirstCell(source);
      assert.equal(state, "failed", output);
      assert.doesNotMatch(output, /kept/);
      assert.match(error, /TypeError|ReferenceError/);
    });
  }

  it("leaves the page's caches and databases unchanged", async () => {
    const read = () =>
      page.evaluate(async () => ({
        caches: (await caches.keys()).filter((name) => !name.startsWith("zeropoint ")),
        databases: (await indexedDB.databases())
          .map(({ name }) => name)
          .filter((name) => !name.startsWith("zeropoint-results ")),
      }));
    const before = await read();
    for (const source of Object.values(WAYS)) {
      await runInFirstCell(`try { ${source} } catch {}`);
    }
    assert.deepEqual(await read(), before);
    assert.deepEqual(before, { caches: [], databases: [] });
  });
});
