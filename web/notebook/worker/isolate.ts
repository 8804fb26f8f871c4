// Removes from this worker every interface through which a cell could leave something behind that outlives
// the worker (code in a cache or a service worker that a later page would run, data on the disk, messages to
// other pages of the origin), connect to an address, or send the page messages that are not this worker's.
//
// The page's policy does not apply in workers. What the library's own files need, they take before this.

/** Names of the global object. A nested worker has a separate global object with all of these. */
const GLOBAL = [
  "caches",
  "indexedDB",
  "BroadcastChannel",
  "SharedWorker",
  "Worker",
  "cookieStore",
  "localStorage",
  "sessionStorage",
  "webkitRequestFileSystem",
  "webkitRequestFileSystemSync",
  "webkitResolveLocalFileSystemURL",
  "webkitResolveLocalFileSystemSyncURL",
];

/** Names of `navigator`. */
const NAVIGATOR = ["locks", "serviceWorker", "storage", "storageBuckets"];

/** Interfaces whose methods go as well, for objects that are reached by another way. */
const INTERFACES = [
  "Cache",
  "CacheStorage",
  "CookieStore",
  "FileSystemDirectoryHandle",
  "FileSystemFileHandle",
  "FileSystemHandle",
  "IDBDatabase",
  "IDBFactory",
  "IDBObjectStore",
  "LockManager",
  "ServiceWorkerContainer",
  "ServiceWorkerRegistration",
  "StorageBucket",
  "StorageBucketManager",
  "StorageManager",
];

/** Names that a cell cannot use, for hints. */
export const REMOVED = [...GLOBAL, ...NAVIGATOR];

/** Names of the global object that connect, or load from an address. A font of an address is a request. */
const CONNECTING = [
  "fetch",
  "fetchLater",
  "XMLHttpRequest",
  "WebSocket",
  "WebSocketStream",
  "EventSource",
  "WebTransport",
  "RTCPeerConnection",
  "webkitRTCPeerConnection",
  "RTCDataChannel",
  "TCPSocket",
  "TCPServerSocket",
  "UDPSocket",
  "importScripts",
  "FontFace",
  "fonts",
  // Its icon is a request.
  "Notification",
];

/** Names of `navigator` that connect, to addresses or to devices. */
const CONNECTING_NAVIGATOR = ["sendBeacon", "connection", "usb", "serial", "hid", "bluetooth"];

/** Names that a cell cannot use because they connect, for hints. */
export const REMOVED_CONNECTING = [...CONNECTING, ...CONNECTING_NAVIGATOR];

/** Names that make code of text. Such code could import from any address: only cells are rewritten. */
export const REMOVED_EVALUATING = ["eval", "ShadowRealm"];

const NO_TEXT = "cells cannot make code of text: write the code in a cell";

/**
 * Removes a property from an object and from all objects it inherits from. A property that cannot be deleted
 * is made undefined.
 */
function remove(object: any, name: PropertyKey) {
  for (let each = object; each; each = Object.getPrototypeOf(each)) {
    if (!Object.hasOwn(each, name)) continue;
    if (!Reflect.deleteProperty(each, name)) {
      Object.defineProperty(each, name, { value: undefined, writable: false });
    }
  }
}

/** @param global  the worker's global object */
export function isolate(global: any) {
  for (const name of INTERFACES) {
    const prototype = global[name]?.prototype;
    if (!prototype) continue;
    for (const key of Reflect.ownKeys(prototype)) {
      if (key !== "constructor") remove(prototype, key);
    }
    remove(global, name);
  }
  for (const name of [...NAVIGATOR, ...CONNECTING_NAVIGATOR]) remove(global.navigator, name);
  for (const name of [...GLOBAL, ...CONNECTING, ...REMOVED_EVALUATING]) remove(global, name);
  // The page believes the messages of this worker.
  remove(global, "postMessage");
  refuseText(global);
  keepBuiltIns(global);
}

/** Lets nothing make code of text: neither constructors of functions nor timers. */
function refuseText(global: any) {
  const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];
  for (const kind of kinds) {
    const prototype = Object.getPrototypeOf(kind);
    const refuse = () => {
      throw new TypeError(NO_TEXT);
    };
    Object.defineProperty(refuse, "name", { value: prototype.constructor.name });
    // For instanceof.
    Object.defineProperty(refuse, "prototype", { value: prototype, writable: false });
    Object.defineProperty(prototype, "constructor", { value: refuse, configurable: false });
  }
  // An arrow function and a function have one prototype.
  Object.defineProperty(global, "Function", { value: global.Function.prototype.constructor });
  for (const name of ["setTimeout", "setInterval"]) {
    const start = global[name].bind(global);
    remove(global, name);
    const startFunction = (call: unknown, delay: number, ...values: unknown[]) => {
      if (typeof call !== "function") throw new TypeError(NO_TEXT);
      return start(call, delay, ...values);
    };
    Object.defineProperty(startFunction, "name", { value: name });
    Object.defineProperty(global, name, { value: startFunction, writable: true });
  }
}

/** Methods that functions and lists override by assignment. The rewriting calls none of them. */
const OVERRIDDEN: Set<PropertyKey> = new Set(["toString", "toLocaleString", "valueOf"]);

/** Constructors and namespaces whose functions the rewriting, or its parser, may call. */
const USED = [
  ...["Array", "BigInt", "Boolean", "Function", "Map", "Number", "Object", "Promise", "RegExp"],
  ...["Set", "String", "Symbol", "WeakMap", "WeakSet", "JSON", "Math", "Reflect"],
];

/**
 * Keeps what the next cell is rewritten and run with as it is: a cell that replaced it could write the next one's code,
 * or let it wait for ever.
 */
function keepBuiltIns(global: any) {
  const used = USED.map((name) => global[name]);
  const prototypes = used.flatMap(({ prototype }) =>
    prototype && prototype !== Object.prototype ? [prototype] : [],
  );
  const iterators = [[], new Map(), new Set(), ""].map((list) =>
    Object.getPrototypeOf(list[Symbol.iterator]()),
  );
  const generator = Object.getPrototypeOf(Object.getPrototypeOf((function* () {})()));
  const matches = Object.getPrototypeOf("".matchAll(/x/g));
  for (const object of [...prototypes, ...used, ...iterators, matches, generator])
    keepMembers(object);
  keepMembers(Object.prototype, ["constructor"]);
  // Numbered and named properties that every object would inherit.
  for (const object of [...prototypes, Object.prototype]) {
    // Names that tell of a forgotten await come later.
    if (object !== global.Promise.prototype) Object.preventExtensions(object);
  }
  // Operations and attributes of the worker can be enumerated, constructors and namespaces cannot.
  for (const name of Reflect.ownKeys(global)) {
    const { value, enumerable, configurable } = Object.getOwnPropertyDescriptor(
      global,
      name,
    ) as PropertyDescriptor;
    if (enumerable || !configurable || Object(value) !== value) continue;
    Object.defineProperty(global, name, { configurable: false, writable: false });
  }
}

/**
 * Lets nothing replace the properties of an object.
 * @param left  names that may be replaced
 */
function keepMembers(object: object, left: PropertyKey[] = []) {
  for (const key of Reflect.ownKeys(object)) {
    const { configurable, writable } = Object.getOwnPropertyDescriptor(
      object,
      key,
    ) as PropertyDescriptor;
    if (!configurable || OVERRIDDEN.has(key) || left.includes(key)) continue;
    const change = writable === undefined ? {} : { writable: false };
    Object.defineProperty(object, key, { configurable: false, ...change });
  }
}
