// Renders the notebooks when the page is built, each into a file of its own: all of it can be read without scripts.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { fillPage, pythonFile } from "./page-html.mjs";
import { readPages } from "./pages.mjs";
import { stylesOf, withStyles } from "./parts.mjs";
import { readNotebooks } from "./read-notebook.mjs";

/**
 * Makes a file for each notebook, with numbers from the built package; in development, the document has them all.
 * @param {{ folder: string, pages: { folder: string, benchmark: string }, packageEntries: string[] }} options
 * @returns {import("vite").Plugin}
 */
export function notebooks({ folder, pages, packageEntries }) {
  /** @type {Promise<import("../figures/index.js").Zeropoint> | undefined} */
  let loading;
  /** @type {import("./parts.mjs").Part[]} */
  let parts = [];
  /** @type {import("./read-notebook.mjs").NotebookText[]} */
  let read = [];
  const load = () => {
    loading ??= Promise.all(packageEntries.map((entry) => import(pathToFileURL(entry).href))).then(
      async ([zeropoint, torch]) => {
        await zeropoint.init();
        return { ...zeropoint, ...torch };
      },
    );
    return loading;
  };
  return {
    name: "zeropoint-notebooks",
    transformIndexHtml: {
      order: "pre",
      handler: async (html, { server }) => {
        const zeropoint = await load();
        read = readNotebooks(folder, zeropoint);
        const styles = server ? undefined : stylesOf(join(folder, ".."));
        const filled = fillPage(html, read, readPages(pages), zeropoint, styles);
        parts = filled.parts;
        return filled.document;
      },
    },
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        const page = bundle["index.html"];
        if (page?.type !== "asset") return;
        for (const { id, python } of read) {
          if (python) this.emitFile({ type: "asset", fileName: pythonFile(id), source: python });
        }
        for (const part of parts) {
          const source = withStyles(part, String(page.source));
          this.emitFile({ type: "asset", fileName: part.fileName, source });
        }
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
