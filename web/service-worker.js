// Keeps the whole page on the reader's device. The build fills in the version and the files.

const VERSION = /** @type {string} */ ("__VERSION__");
const FILES = /** @type {string[]} */ (/** @type {unknown} */ ("__FILES__"));

const worker = /** @type {any} */ (self);
const scope = worker.registration.scope;
// Several copies of the page may live on one origin, each below its own path.
const prefix = `zeropoint ${scope} `;
const cacheName = prefix + VERSION;
// The API reference is large and read in parts: of it the pages that were opened are kept.
const apiScope = `${scope}api/`;
const openedName = `${prefix}opened`;
// A network that has not answered by then is taken for none, where there is something to show instead.
const PATIENCE = 1500; // milliseconds
const IMPATIENCE = 100; // for what a page without an answer asks for next
let silentUntil = 0;

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
            .filter((name) => name.startsWith(prefix))
            .filter((name) => name !== cacheName && name !== openedName)
            .map((name) => caches.delete(name)),
        ),
      )
      .then(() => worker.clients.claim()),
  );
});

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(scope)) return;
  if (request.url.startsWith(apiScope)) event.respondWith(freshOrOpened(event));
  else if (request.mode === "navigate") event.respondWith(freshOrKept(request));
  else event.respondWith(keptOrFresh(event));
});

/**
 * The page itself: new if there is a network, else the kept one.
 * @param {Request} request
 */
async function freshOrKept(request) {
  const page = await kept(new URL("index.html", scope).href);
  try {
    const response = await (page ? soon(fetch(request)) : fetch(request));
    if (response.ok) return response;
  } catch {
    // No network.
  }
  return page ?? Response.error();
}

/**
 * A part of the API reference: new if there is a network, else as it was when it was opened.
 * @param {any} event
 */
async function freshOrOpened(event) {
  const { request } = event;
  const cache = await caches.open(openedName);
  const opened = await cache.match(request, { ignoreSearch: true });
  const fresh = fetch(request).then(async (response) => {
    if (response.ok) await cache.put(request, response.clone());
    return response;
  });
  // What comes late is kept for the next time.
  event.waitUntil(fresh.catch(() => {}));
  try {
    return await (opened ? soon(fresh) : fresh);
  } catch {
    return opened ?? (request.mode === "navigate" ? notOpened() : Response.error());
  }
}

/**
 * @param {Promise<Response>} response
 * @returns {Promise<Response>} rejected if it takes too long
 */
function soon(response) {
  return new Promise((resolve, reject) => {
    const isSilent = Date.now() < silentUntil;
    const giveUp = () => {
      if (!isSilent) silentUntil = Date.now() + 10 * PATIENCE;
      reject(new Error("no answer"));
    };
    const timer = setTimeout(giveUp, isSilent ? IMPATIENCE : PATIENCE);
    response.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function notOpened() {
  const html =
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Not kept · zeropoint</title>` +
    `<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">` +
    `<main><h1>Not on this device</h1><p>There is no network, and this page of the API reference ` +
    `has not been opened before. <a href="${scope}">The notebooks</a> work without.</p></main>`;
  return new Response(html, {
    status: 503,
    headers: { "content-type": "text/html; charset=utf-8" },
  });
}

/**
 * Everything else: its name changes when its content does, so what is kept is right. What few ask for
 * is kept from then on.
 * @param {any} event
 */
async function keptOrFresh(event) {
  const { request } = event;
  const found = await kept(request.url);
  if (found) return found;
  const fresh = await fetch(request);
  if (fresh.ok && request.url.startsWith(`${scope}assets/`)) {
    const copy = fresh.clone();
    event.waitUntil(caches.open(cacheName).then((cache) => cache.put(request, copy)));
  }
  return fresh;
}

/** @param {string} url */
async function kept(url) {
  const cache = await caches.open(cacheName);
  return cache.match(url, { ignoreSearch: true });
}
