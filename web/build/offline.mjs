// Makes the service worker that lets the built page work offline. It gets three lists of files: files of the page
// itself, files to fetch when the page is idle, and large files and downloads to keep once they were used.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { transformWithEsbuild } from "vite";

/** Files larger than this are kept only when they are used. */
const LARGEST_REST = 600_000; // bytes; the worker of cells is below it

/** Builds of the core as text, which views use only where the compiled ones cannot be shared. */
const CORE_AS_TEXT = /\/(baseline|relaxed)(-threads)?-[\w-]{8}\.js$/;

/**
 * @param {{ script: string, publicFolder: string }} options
 * @returns {import("vite").Plugin}
 */
export function offline({ script, publicFolder }) {
  return {
    name: "zeropoint-offline",
    apply: "build",
    generateBundle: {
      order: "post",
      async handler(_, bundle) {
        const hash = createHash("sha256");
        /** @type {string[]} */
        const files = [];
        /** @type {string[]} */
        const rest = [];
        /** @type {string[]} */
        const onUse = [];
        for (const [name, file] of Object.entries(bundle).sort(([a], [b]) => (a < b ? -1 : 1))) {
          if (name.endsWith(".map")) continue;
          const content = file.type === "chunk" ? file.code : file.source;
          hash.update(name).update(content);
          const isOfPage = file.type === "chunk" ? file.isEntry : /\.(html|css)$/.test(name);
          const isLater =
            content.length > LARGEST_REST || /\.ipynb$/.test(name) || CORE_AS_TEXT.test(name);
          (isOfPage ? files : isLater ? onUse : rest).push(name);
        }
        for (const name of readdirSync(publicFolder, {
          recursive: true,
          encoding: "utf8",
        }).sort()) {
          hash.update(name).update(readFileSync(join(publicFolder, name)));
          files.push(name);
        }
        const VERSION = hash.digest("hex").slice(0, 16);
        const constants = Object.entries({ VERSION, FILES: files, REST: rest, ON_USE: onUse })
          .map(([name, value]) => `const ${name} = ${JSON.stringify(value)};\n`)
          .join("");
        const { code } = await transformWithEsbuild(readFileSync(script, "utf8"), script, {
          sourcemap: false,
        });
        this.emitFile({ type: "asset", fileName: "service-worker.js", source: constants + code });
      },
    },
  };
}
