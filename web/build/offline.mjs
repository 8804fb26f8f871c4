// Makes the service worker that lets the built page work offline. It is given the files of the page itself;
// the others are kept when they are used.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * @param {{ template: string, publicFolder: string }} options
 * @returns {import("vite").Plugin}
 */
export function offline({ template, publicFolder }) {
  return {
    name: "zeropoint-offline",
    apply: "build",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        const hash = createHash("sha256");
        /** @type {string[]} */
        const files = [];
        for (const [name, file] of Object.entries(bundle).sort(([a], [b]) => (a < b ? -1 : 1))) {
          if (name.endsWith(".map")) continue;
          hash.update(name).update(file.type === "chunk" ? file.code : file.source);
          const isOfPage = file.type === "chunk" ? file.isEntry : /\.(html|css)$/.test(name);
          if (isOfPage) files.push(name);
        }
        for (const name of readdirSync(publicFolder, {
          recursive: true,
          encoding: "utf8",
        }).sort()) {
          hash.update(name).update(readFileSync(join(publicFolder, name)));
          files.push(name);
        }
        const source = readFileSync(template, "utf8")
          .replace('"__VERSION__"', () => JSON.stringify(hash.digest("hex").slice(0, 16)))
          .replace('"__FILES__"', () => JSON.stringify(files));
        this.emitFile({ type: "asset", fileName: "service-worker.js", source });
      },
    },
  };
}
