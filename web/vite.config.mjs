import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { defineConfig } from "vite";
import { findBrowser } from "../scripts/toolchain/browser.mjs";
import { digits } from "./build/digits.mjs";
import { limits } from "./build/limits.mjs";
import { notebooks } from "./build/notebooks.mjs";
import { offline } from "./build/offline.mjs";
import { sharedLink } from "./build/shared-link.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const { homepage } = JSON.parse(readFileSync(at("../package.json"), "utf8"));

export default defineConfig({
  root: at("."),
  base: "./", // works below any path
  resolve: {
    alias: [
      { find: /^zeropoint$/, replacement: at("../dist/index.js") },
      { find: /^zeropoint\/torch$/, replacement: at("../dist/torch.js") },
      { find: /^zeropoint\/models$/, replacement: at("../dist/models/index.js") },
      { find: /^zeropoint\/worker$/, replacement: at("../dist/worker/index.js") },
      { find: /^zeropoint\/models-worker\.js/, replacement: at("../dist/worker/models-worker.js") },
      { find: /^zeropoint\/search$/, replacement: at("../dist/search.js") },
      { find: /^zeropoint\/notebook$/, replacement: at("../dist/notebook/index.js") },
    ],
  },
  plugins: [
    digits({ folder: at("../scripts/cost") }),
    limits({ script: at("../tests/bench/limits/build.mjs") }),
    notebooks({
      folder: at("notebooks"),
      pages: { folder: at("pages"), benchmark: at("benchmark.json") },
      packageEntries: [at("../dist/index.js"), at("../dist/torch.js")],
    }),
    offline({ script: at("shell/offline/service-worker.ts"), publicFolder: at("public") }),
    sharedLink({
      site: process.env.ZEROPOINT_SITE ?? homepage,
      folder: at("."),
      packageEntry: pathToFileURL(at("../dist/index.js")).href,
      findBrowser,
    }),
  ],
  build: {
    outDir: at("../dist/web"),
    emptyOutDir: true,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // The page's policy allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 800,
  },
  worker: { format: "es" },
});
