// Registers the service worker and tells it which files were used, so that it keeps them.

import { scriptUrl } from "../trusted.js";

/** Files that were loaded before the service worker controlled the page. */
const loaded = () => performance.getEntriesByType("resource").map(({ name }) => name);

/**
 * @param {string[]} urls
 */
export async function keepFiles(urls) {
  if (!import.meta.env.PROD || !("serviceWorker" in navigator)) return;
  const { active } = await navigator.serviceWorker.ready;
  active?.postMessage({ type: "keep", urls });
}

export function connectOffline() {
  const isServed = "serviceWorker" in navigator && location.protocol.startsWith("http");
  if (!import.meta.env.PROD || !isServed) return;
  const connect = async () => {
    try {
      await navigator.serviceWorker.register(
        scriptUrl(new URL("service-worker.js", document.baseURI).href),
      );
      await keepFiles(loaded());
    } catch {
      // Without it the page works as before, only not offline.
    }
  };
  if (document.readyState === "complete") connect();
  else addEventListener("load", connect);
}
