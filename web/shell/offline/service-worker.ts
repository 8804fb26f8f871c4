// Keeps the page on the reader's device: its own files when it is installed, those of the views when the page is
// idle, and large ones when they are used. build/offline.mjs declares the version and the names of the files.

declare const VERSION: string;
declare const FILES: string[];
declare const REST: string[];
declare const ON_USE: string[];

const worker = self as any;
const scope = worker.registration.scope;
// Several copies of the page may live on one origin, each below its own path.
const prefix = `zeropoint ${scope} `;
const cacheName = prefix + VERSION;
// The API reference is large and read in parts: of it the pages that were opened are kept.
const apiScope = `${scope}api/`;
const openedName = `${prefix}opened`;
/** The addresses of all files of this version. No other address is ever kept. */
const known = new Set([...FILES, ...REST, ...ON_USE].map((file) => new URL(file, scope).href));
// Time limit for the network where a cached copy exists; after it the copy is used.
const PATIENCE = 1500; // milliseconds
const IMPATIENCE = 100; // milliseconds, for later requests of a page that timed out
let silentUntil = 0;

worker.addEventListener("install", (event: any) => {
  event.waitUntil(
    caches
      .open(cacheName)
      .then((cache) =>
        cache.addAll(FILES.map((file) => new Request(new URL(file, scope), { cache: "reload" }))),
      )
      .then(() => worker.skipWaiting()),
  );
});

worker.addEventListener("activate", (event: any) => {
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

// Files that were loaded before this worker controlled the page, or the rest of the page once it is idle.
worker.addEventListener("message", (event: any) => {
  const { type, urls } = event.data ?? {};
  if (type === "keep" && Array.isArray(urls)) event.waitUntil(keep(urls));
  if (type === "keep-rest") event.waitUntil(keepRest());
});

async function keep(urls: unknown[]) {
  const cache = await caches.open(cacheName);
  const files = new Set(urls.map(String).filter((url) => known.has(url)));
  await Promise.all([...files].map((url) => addOnce(cache, url)));
}

let isKeepingRest = false;

/** One file after the other, so that requests of the page find the network free. The next visit goes on. */
async function keepRest() {
  if (isKeepingRest) return;
  isKeepingRest = true;
  try {
    const cache = await caches.open(cacheName);
    for (const file of REST) await addOnce(cache, new URL(file, scope).href);
  } catch {
    // No network, or no room.
  } finally {
    isKeepingRest = false;
  }
}

async function addOnce(cache: Cache, url: string) {
  if (!(await cache.match(url))) await cache.add(url);
}

worker.addEventListener("fetch", (event: any) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(scope)) return;
  if (request.url.startsWith(apiScope)) event.respondWith(freshOrOpened(event));
  else if (request.mode === "navigate") event.respondWith(freshOrKept(request));
  else event.respondWith(keptOrFresh(event));
});

/** The page itself: new if there is a network, else the kept one. */
async function freshOrKept(request: Request) {
  const page = await kept(new URL("index.html", scope).href);
  try {
    const response = await (page ? soon(fetch(request)) : fetch(request));
    if (response.ok) return response;
  } catch {
    // No network.
  }
  return page ?? Response.error();
}

/** A file of the API reference: from the network if it answers, else the copy cached when it was opened. */
async function freshOrOpened(event: any) {
  const { request } = event;
  const cache = await caches.open(openedName);
  const opened = await cache.match(request, { ignoreSearch: true });
  const fresh = fetch(request).then(async (response) => {
    if (response.ok) await cache.put(request, response.clone());
    return response;
  });
  // A late response is still cached for the next visit.
  event.waitUntil(fresh.catch(() => {}));
  try {
    return await (opened ? soon(fresh) : fresh);
  } catch {
    return opened ?? (request.mode === "navigate" ? notOpened() : Response.error());
  }
}

/** @returns rejected if it takes too long */
function soon(response: Promise<Response>): Promise<Response> {
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
 * Everything else: its name changes with its content, so a kept file is never stale. Files are kept from
 * their first use on, if they were not before.
 */
async function keptOrFresh(event: any) {
  const { request } = event;
  const found = await kept(request.url);
  if (found) return found;
  const fresh = await fetch(request);
  if (fresh.ok && known.has(request.url)) {
    const copy = fresh.clone();
    event.waitUntil(caches.open(cacheName).then((cache) => cache.put(request, copy)));
  }
  return fresh;
}

async function kept(url: string) {
  const cache = await caches.open(cacheName);
  return cache.match(url, { ignoreSearch: true });
}
