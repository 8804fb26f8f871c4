// What a link to the page shows where it is shared.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import * as zeropoint from "zeropoint";
import { root } from "../../../scripts/process/run.mjs";
import { findBrowser } from "../../../scripts/toolchain/browser.mjs";
import { fromPage } from "../from-page.mjs";
import { chromiumOnly } from "../page.mjs";

const { headOf, pictureOf, sharedLink } = await fromPage("build/shared-link.mjs");

await zeropoint.init();

const options = { folder: join(root, "web"), packageEntry: "zeropoint", findBrowser };

/** The properties in the head for an address of the page. */
const propertiesOf = (site) =>
  Object.fromEntries(headOf(site).map(({ attrs }) => [attrs.property, attrs.content]));

describe("A shared link", () => {
  for (const site of ["https://example.org/some/page", "https://example.org/some/page/"]) {
    it(`has absolute addresses below ${site}`, () => {
      const properties = propertiesOf(site);
      assert.equal(properties["og:url"], "https://example.org/some/page/");
      assert.equal(properties["og:image"], "https://example.org/some/page/shared-link.png");
    });
  }

  it("refuses an address that is not one of the web", () => {
    assert.throws(() => headOf("example.org"), { code: "ERR_INVALID_URL" });
    assert.throws(() => headOf("file:///page/"), /must begin with https:, got file:/);
  });

  it("has no picture and no address in a build that does not know its own", () => {
    assert.equal(sharedLink({ ...options, site: "" }).apply(), false);
    assert.equal(sharedLink({ ...options, site: "https://example.org/" }).apply(), true);
  });

  it("says in the built page what package.json says", () => {
    const { homepage } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const site = process.env.ZEROPOINT_SITE ?? homepage;
    const page = readFileSync(join(root, "dist", "web", "index.html"), "utf8");
    assert.equal(page.includes('property="og:image"'), site !== "");
  });

  it("has a picture of 1200 by 630 pixels", chromiumOnly("draw it"), async () => {
    const png = Buffer.from(await pictureOf(options.folder, zeropoint, findBrowser()));
    assert.equal(png.toString("latin1", 1, 4), "PNG");
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [1200, 630]);
    const alt = propertiesOf("https://example.org/")["og:image:alt"];
    assert.ok(alt.length > 0 && png.length < 200_000);
  });
});
