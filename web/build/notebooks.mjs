// Renders the notebooks into the page when it is built: all of it can be read before a script runs.

import { pathToFileURL } from "node:url";
import { fillPage } from "./page-html.mjs";
import { readPages } from "./pages.mjs";
import { readNotebooks } from "./read-notebook.mjs";

/**
 * Puts the notebooks into index.html, with numbers from the built package.
 * @param {{ folder: string, pages: { folder: string, benchmark: string }, packageEntry: string }} options
 * @returns {import("vite").Plugin}
 */
export function notebooks({ folder, pages, packageEntry }) {
  /** @type {Promise<import("../figures/index.js").Zeropoint> | undefined} */
  let loading;
  const load = () => {
    loading ??= import(pathToFileURL(packageEntry).href).then(async (zeropoint) => {
      await zeropoint.init();
      return zeropoint;
    });
    return loading;
  };
  return {
    name: "zeropoint-notebooks",
    transformIndexHtml: {
      order: "pre",
      handler: async (html) => {
        const zeropoint = await load();
        return fillPage(html, readNotebooks(folder, zeropoint), readPages(pages), zeropoint);
      },
    },
    configureServer(server) {
      server.watcher.add([folder, pages.folder]);
      server.watcher.on("change", (path) => {
        if (path.endsWith(".md")) server.ws.send({ type: "full-reload" });
      });
    },
  };
}
