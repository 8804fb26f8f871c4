// Keeps the whole page on the reader's device. The build fills in the version and the files.

const VERSION = /** @type {string} */ ("__VERSION__");
const FILES = /** @type {string[]} */ (/** @type {unknown} */ ("__FILES__"));

const worker = /** @type {any} */ (self);
const scope = worker.registration.scope;
// Several copies of the page may live on one origin, each below its own path.
const prefix = `zeropoint ${scope} `;
const cacheName = prefix + VERSION;

worker.addEventListener("install", (/** @type {any} */ event) => {
  event.waitUntil(
    caches
      .open(cacheName)
      .then((cache) =>
        cache.addAll(FILES.map((file) => new Request(new URL(file, scope), { cache: "reload" }))),
      )
      .then(() => worker.skipWaiting()),
  );
});

worker.addEventListener("activate", (/** @type {any} */ event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) =>
        Promise.all(
          names
            .filter((name) => name.startsWith(prefix) && name !== cacheName)
            .map((name) => caches.delete(name)),
        ),
      )
      .then(() => worker.clients.claim()),
  );
});

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(scope)) return;
  event.respondWith(request.mode === "navigate" ? freshOrKept(request) : keptOrFresh(request));
});

/**
 * The page itself: new if there is a network, else the kept one.
 * @param {Request} request
 */
async function freshOrKept(request) {
  try {
    const response = await fetch(request);
    if (response.ok) return response;
  } catch {
    // No network.
  }
  return (await kept(new URL("index.html", scope).href)) ?? Response.error();
}

/**
 * Everything else: its name changes when its content does, so what is kept is right.
 * @param {Request} request
 */
async function keptOrFresh(request) {
  return (await kept(request.url)) ?? fetch(request);
}

/** @param {string} url */
async function kept(url) {
  const cache = await caches.open(cacheName);
  return cache.match(url, { ignoreSearch: true });
}
