// A cell leaves nothing that outlives its worker: no cached script, no database, no file, no message. It connects to
// no address.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
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
    let owner = self;
    while (!Object.hasOwn(owner, "caches")) owner = Object.getPrototypeOf(owner);
    await Object.getOwnPropertyDescriptor(owner, "caches").get.call(self).open("x"); "kept"`,
  "the methods of the caches": `CacheStorage.prototype.open.name && "kept"`,
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

/** Ways to connect to an address. @type {Record<string, (origin: string) => string>} */
const CONNECTIONS = {
  fetch: (origin) => `await fetch("${origin}", { mode: "no-cors" })`,
  "the prototype's fetch": (origin) =>
    `await Object.getPrototypeOf(Object.getPrototypeOf(self)).fetch.call(self, "${origin}")`,
  XMLHttpRequest: (origin) => `const request = new XMLHttpRequest();
    request.open("GET", "${origin}", false);
    request.send()`,
  WebSocket: (origin) => `new WebSocket("${origin.replace("http", "ws")}")`,
  WebSocketStream: (origin) => `new WebSocketStream("${origin.replace("http", "ws")}")`,
  EventSource: (origin) => `new EventSource("${origin}")`,
  WebTransport: (origin) => `new WebTransport("${origin.replace("http", "https")}")`,
  RTCPeerConnection: () => `new RTCPeerConnection()`,
  "a device": () => `await navigator.usb.getDevices()`,
  importScripts: (origin) => `importScripts("${origin}")`,
  "import()": (origin) => `await import("${origin}")`,
  "import() in a function": (origin) => `function f() { return import("${origin}"); }\nawait f()`,
  "an import": (origin) => `import "${origin}";`,
  "import() in eval": (origin) => `await eval("import('${origin}')")`,
  "import() in an indirect eval": (origin) => `await (0, self.eval)("import('${origin}')")`,
  "import() in a function made of text": (origin) =>
    `await Function("return import('${origin}')")()`,
  "import() by a function's constructor": (origin) =>
    `await (() => {}).constructor("return import('${origin}')")()`,
  "import() by an async function's constructor": (origin) =>
    `await (async () => {}).constructor("return import('${origin}')")()`,
  "import() by a generator's constructor": (origin) =>
    `(function* () {}).constructor("import('${origin}')")().next()`,
  "import() in a timer's text": (origin) => `setTimeout("import('${origin}')")`,
  "import() in an interval's text": (origin) => `setInterval("import('${origin}')", 10)`,
  "import() behind a comment of markup": (origin) =>
    `let x = 1; 0 <!--x; /*\nimport("${origin}");\n//*/`,
  "import() in a changed method": (origin) =>
    `Array.prototype.join = () => "import('${origin}')"; String.prototype.slice = Array.prototype.join`,
  // Each of these replaces what the next cell is rewritten with.
  "a changed JSON.stringify": (origin) => `JSON.stringify = () => '"let", import("${origin}")'`,
  "a redefined JSON.stringify": (origin) =>
    `Object.defineProperty(JSON, "stringify", { value: () => '"let", import("${origin}")' })`,
  "another Object": () =>
    `self.Object = new Proxy(self.Object, { get: (all, name) => (name === "entries" ? () => [] : all[name]) })`,
  "a redefined Object": () =>
    `Object.defineProperty(self, "Object", { value: { entries: () => [] } })`,
  "another Set": () => `self.Set = class { has() {} add() {} }`,
  "another RegExp": () => `self.RegExp = class { test() {} exec() {} }`,
  "another parseInt": () => `self.parseInt = () => 0`,
  "a changed iterator of sets": () =>
    `Object.getPrototypeOf(new Set()[Symbol.iterator]()).next = () => ({ done: true })`,
  "a changed promise": () => `Promise.prototype.then = () => 1`,
  "a changed property of all objects": () => `Object.prototype.hasOwnProperty = () => false`,
  "a notification's icon": (origin) => `new Notification("x", { icon: "${origin}" })`,
  "a changed syntax tree": () =>
    `Object.defineProperty(Object.prototype, "body", { get() { return []; } })`,
  "a worker": (origin) => `new Worker("${origin}")`,
  "a font": (origin) => `await new FontFace("x", "url(${origin})").load()`,
  "the library's own loading": (origin) =>
    `import { create } from "zeropoint";\nawait create({ wasm: "${origin}" })`,
};

describe("A cell connects to no address", () => {
  openOnce();
  const asked = [];
  let server;
  let origin;
  before(async () => {
    server = createServer((request, response) => {
      asked.push(request.url);
      response.setHeader("access-control-allow-origin", "*");
      response.setHeader("content-type", "text/javascript");
      response.end("export default 1;");
    });
    server.on("connection", () => asked.push("a connection"));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${server.address().port}/`;
  });
  after(() => server?.close());

  for (const [way, sourceOf] of Object.entries(CONNECTIONS)) {
    it(`by ${way}`, async () => {
      const { state, error, output } = await runInFirstCell(sourceOf(origin));
      assert.equal(state, "failed", output);
      assert.match(error, /Error/);
      // The next cell is rewritten with whatever this one has replaced.
      const next = await runInFirstCell(`const f = () => import("${origin}");\nawait f()`);
      assert.equal(next.state, "failed", next.output);
      assert.match(next.error, /cells can import/);
      await delay(100);
      assert.deepEqual(asked, []);
    });
  }

  it("and posts the page no message", async () => {
    const { state, error } = await runInFirstCell(`self.postMessage({ type: "ready", files: [] })`);
    assert.equal(state, "failed");
    assert.match(error, /TypeError/);
  });

  it("and goes on to compute, with timers", async () => {
    const { state, output } = await runInFirstCell(
      `await new Promise((resolve) => setTimeout(resolve, 1));\nprint([3, 1].sort(), "ab".slice(1))`,
    );
    assert.equal(state, "done", output);
    assert.match(output, /\[1, 3\] b/);
  });
});
