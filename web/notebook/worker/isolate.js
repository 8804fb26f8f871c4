// Removes from this worker every interface through which a cell could leave something behind that outlives
// the worker: code in a cache or a service worker that a later page would run, data on the disk, messages to
// other pages of the origin.

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

/**
 * Removes a property from an object and from all objects it inherits from. A property that cannot be deleted
 * is made undefined.
 * @param {any} object
 * @param {PropertyKey} name
 */
function remove(object, name) {
  for (let each = object; each; each = Object.getPrototypeOf(each)) {
    if (!Object.hasOwn(each, name)) continue;
    if (!Reflect.deleteProperty(each, name)) {
      Object.defineProperty(each, name, { value: undefined, writable: false });
    }
  }
}

/**
 * @param {any} global  the worker's global object
 */
export function isolate(global) {
  for (const name of INTERFACES) {
    const prototype = global[name]?.prototype;
    if (!prototype) continue;
    for (const key of Reflect.ownKeys(prototype)) {
      if (key !== "constructor") remove(prototype, key);
    }
    remove(global, name);
  }
  for (const name of NAVIGATOR) remove(global.navigator, name);
  for (const name of GLOBAL) remove(global, name);
}
