// Registers the service worker and tells it which files were used, so that it keeps them, and when the page is idle,
// so that it fetches those of the other views.

import { scriptUrl } from "../trusted.js";

/**
 * @param urls  files that workers loaded: those of the page itself are kept anyway
 */
export async function keepFiles(urls: string[]) {
  if (!import.meta.env.PROD || !("serviceWorker" in navigator)) return;
  const { active } = await navigator.serviceWorker.ready;
  active?.postMessage({ type: "keep", urls });
}

/**
 * Keeps the page's files that did not pass through the service worker: those requested before it controlled the page,
 * also if they arrive later.
 */
function keepLoaded() {
  const observer = new PerformanceObserver((list) => {
    const entries = list.getEntries() as PerformanceResourceTiming[];
    const past = entries.filter(({ workerStart }) => workerStart === 0);
    if (past.length > 0) keepFiles(past.map(({ name }) => name));
  });
  observer.observe({ type: "resource", buffered: true });
}

const CALM = 3000; // milliseconds after loading, which belong to the view that was opened

/** Without the reader's wish to save data. */
async function keepRest() {
  const { connection } = navigator as any;
  if (connection?.saveData) return;
  await new Promise((resolve) => setTimeout(resolve, CALM));
  await new Promise((resolve) => {
    if ("requestIdleCallback" in window) requestIdleCallback(resolve, { timeout: 10 * CALM });
    else resolve(undefined); // Safari
  });
  const { active } = await navigator.serviceWorker.ready;
  active?.postMessage({ type: "keep-rest" });
}

export function connectOffline() {
  const isServed = "serviceWorker" in navigator && location.protocol.startsWith("http");
  if (!import.meta.env.PROD || !isServed) return;
  const connect = async () => {
    try {
      await navigator.serviceWorker.register(
        scriptUrl(new URL("service-worker.js", document.baseURI).href),
      );
      keepLoaded();
      await keepRest();
    } catch {
      // Without it the page works as before, only not offline.
    }
  };
  if (document.readyState === "complete") connect();
  else addEventListener("load", connect);
}
