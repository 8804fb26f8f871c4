// Makes the service worker that lets the built page work offline: it is given the list of all files.

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
          // Cores with threads only start in pages that may share memory, and when they are asked for.
          if (/-threads-[^/]*\.js$/.test(name)) continue;
          hash.update(name).update(file.type === "chunk" ? file.code : file.source);
          files.push(name);
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
