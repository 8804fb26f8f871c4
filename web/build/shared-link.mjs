// What a link to the page shows where it is shared: the page's address and a picture, in its head.
//
// Both are absolute addresses, so they are there only if the address of the page is known: `homepage` of package.json, or
// ZEROPOINT_SITE. The picture is drawn for each such build, by Chromium.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import puppeteer from "puppeteer-core";
import { journey } from "../figures/drawings/journey.js";
import { h, toHtml } from "../shell/drawing/tree.js";

const PICTURE = "shared-link.png";
const WIDTH = 1200;
const HEIGHT = 630;
const ROOM = 1080; // pixels of the drawing
const STYLES = ["styles/tokens.css", "styles/base.css", "figures/drawings/drawing.css"];

/**
 * @param {{ site: string, folder: string, packageEntry: string, findBrowser: () => string | undefined }} options
 *   site: the address of the page, or "" if it is not known; folder: web; findBrowser: gives the path of Chromium
 * @returns {import("vite").Plugin}
 */
export function sharedLink({ site, folder, packageEntry, findBrowser }) {
  return {
    name: "zeropoint-shared-link",
    apply: () => site !== "",
    transformIndexHtml: () => headOf(site),
    generateBundle: {
      // After the list of the service worker: the page itself never shows the picture.
      order: "post",
      async handler() {
        const zeropoint = await import(packageEntry);
        await zeropoint.init();
        const source = await pictureOf(folder, zeropoint, findBrowser());
        this.emitFile({ type: "asset", fileName: PICTURE, source });
      },
    },
  };
}

/** @param {string} site @returns {import("vite").HtmlTagDescriptor[]} */
export function headOf(site) {
  const address = new URL(site.endsWith("/") ? site : `${site}/`);
  if (!/^https?:$/.test(address.protocol)) {
    throw new Error(`the page's address must begin with https:, got ${site}`);
  }
  const properties = {
    "og:url": address.href,
    "og:image": new URL(PICTURE, address).href,
    "og:image:width": WIDTH,
    "og:image:height": HEIGHT,
    "og:image:alt": "28 real numbers, and the codes that stand for them",
  };
  const meta = (/** @type {Record<string, string>} */ attrs) => ({ tag: "meta", attrs });
  return [
    { tag: "link", attrs: { rel: "canonical", href: address.href } },
    ...Object.entries(properties).map(([property, content]) =>
      meta({ property, content: String(content) }),
    ),
    meta({ name: "twitter:card", content: "summary_large_image" }),
  ];
}

/**
 * The picture as a PNG.
 * @param {string} folder  web
 * @param {import("../figures/index.js").Zeropoint} zeropoint
 * @param {string | undefined} executablePath  of Chromium
 * @throws {Error} if there is no Chromium
 */
export async function pictureOf(folder, zeropoint, executablePath) {
  if (!executablePath) {
    throw new Error(
      "no Chromium found, which draws the picture of shared links: set ZEROPOINT_CHROMIUM",
    );
  }
  const { children } = journey.draw({ bits: "4", scheme: "symmetric" }, zeropoint, ROOM / 1.5);
  const styles = STYLES.map((name) => readFileSync(join(folder, name), "utf8"));
  const html = [
    `<!doctype html><meta charset="utf-8"><style>${styles.join("\n")}`,
    `html { color-scheme: light; } body { display: grid; align-content: space-between; margin: 0;`,
    `  padding: 56px 60px 48px; box-sizing: border-box; height: ${HEIGHT}px; }`,
    `h1 { margin: 0 0 6px; font: 600 84px / 1 var(--heading); } p { margin: 0; max-width: none; font-size: 32px; }`,
    `svg { width: ${ROOM}px; height: auto; }</style>`,
    toHtml(
      h("div", {}, h("h1", {}, "zeropoint"), h("p", {}, "Linear quantization, live and exact")),
    ),
    toHtml(children[0]),
  ].join("\n");
  const browser = await puppeteer.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu"],
  });
  try {
    const page = await browser.newPage();
    await page.setViewport({ width: WIDTH, height: HEIGHT });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
    await page.setContent(html);
    return await page.screenshot({ type: "png" });
  } finally {
    await browser.close();
  }
}
