// The search view: a drawn digit among 10,000, and the reader's own vectors, against the package in Node.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { init, tensor } from "zeropoint";
import { VectorIndex } from "zeropoint/search";
import { root } from "../../../scripts/process/run.mjs";
import { writeNpy } from "../../internal/formats.mjs";
import { collect } from "../../js/support/files/formats.mjs";
import { axeViolations, onceForAll, RULES_OF_COLOUR } from "../axe.mjs";
import { emulate, openPage, press, textOf, waitFor } from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";

const [DIGITS, PIXELS] = [10_000, 784];

async function openSearch() {
  const visit = await openPage(browser, `${site.url}#search`);
  await visit.page.waitForSelector(".view[data-current] .search:not([hidden])");
  return visit;
}

/** Waits until all columns have their ten digits. */
const waitForHits = (page) =>
  waitFor(page, () => document.querySelectorAll(".search-hits li").length === 40);

/** The digits of a column as their text alternatives, such as "7, cosine 0.912". */
const hitsOf = (page, name) =>
  page.$$eval(`[data-search="${name}"] .search-hits canvas`, (all) =>
    all.map((each) => each.getAttribute("aria-label")),
  );

const proofOf = (page, name) => textOf(page, `[data-search="${name}"] .search-proof`);

/** Labels, and rows as the view searches them: differences from the mean, of length 1. */
function readDigits() {
  const bytes = gunzipSync(readFileSync(join(root, "build", "cost", "images.bin")));
  const rows = new Float32Array(DIGITS * PIXELS);
  for (let i = 0; i < rows.length; i++) rows[i] = ((bytes[i >> 1] >> (4 * (i & 1))) & 15) / 15;
  const mean = new Float64Array(PIXELS);
  for (let i = 0; i < rows.length; i++) mean[i % PIXELS] += rows[i] / DIGITS;
  for (let i = 0; i < rows.length; i++) rows[i] -= mean[i % PIXELS];
  return { rows, labels: bytes.subarray(rows.length / 2) };
}

describe("A digit among 10,000", () => {
  let visit;
  let page;
  before(async () => {
    visit = await openSearch();
    page = visit.page;
  });
  after(() => visit?.close());

  it("is found with its nearest by float32 values and by codes, as the package finds them", async () => {
    await page.click('.search [data-label="7"]');
    await waitForHits(page);
    await init();
    const { rows, labels } = readDigits();
    const index = new VectorIndex({ dimensions: PIXELS, originals: "float32" });
    index.add(tensor(rows, [DIGITS, PIXELS]));
    // The view takes the 97th of the digit's images first.
    const id = labels.indexOf(7) + 97;
    const query = rows.subarray(id * PIXELS, (id + 1) * PIXELS);
    const expected = index.search(query).hits.map((hit) => {
      return `${labels[hit.id]}, cosine ${hit.score.toFixed(3)}`;
    });
    assert.equal(expected[0], "7, cosine 1.000");
    assert.deepEqual(await hitsOf(page, "float32"), expected);
    const proof = await proofOf(page, "int8");
    assert.match(proof, /^Proven: no other digit|decide: the ten of float32, in order, proven; /);
    assert.match(await proofOf(page, "binary"), /^Not proven/);
  });

  it("marks what float32 does not find", async () => {
    for (const name of ["int8", "int4", "binary"]) {
      const marked = await page.$$eval(`[data-search="${name}"] .is-other`, (all) => all.length);
      const said = (await hitsOf(page, name)).filter((text) => text.endsWith("of float32"));
      assert.equal(said.length, marked);
      assert.ok(marked < (name === "binary" ? 10 : 5), `${name}: ${marked}`);
    }
    assert.equal(await page.$$eval('[data-search="float32"] .is-other', (all) => all.length), 0);
  });

  it("has no violation of axe", onceForAll, async () => {
    await emulate(page, { colorScheme: "light", reducedMotion: "reduce" });
    assert.deepEqual(await axeViolations(page), []);
    await emulate(page, { colorScheme: "dark", reducedMotion: "reduce" });
    assert.deepEqual(await axeViolations(page, RULES_OF_COLOUR), []);
  });

  it("goes with Clear, and comes as it is drawn", async () => {
    await page.click(".search [data-action='clear']");
    await waitFor(page, () => document.querySelectorAll(".search-hits li").length === 0);
    const { x, y, width, height } = await (await page.$(".search .pad")).boundingBox();
    await page.mouse.move(x + width / 2, y + height / 5);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + (4 * height) / 5, { steps: 8 });
    await page.mouse.up();
    await waitForHits(page);
    await waitFor(page, () =>
      [...document.querySelectorAll('[data-search="float32"] canvas')].every((each) =>
        each.getAttribute("aria-label").startsWith("1, "),
      ),
    );
  });

  it("is drawn by the keys", async () => {
    await page.click(".search [data-action='clear']");
    await waitFor(page, () => document.querySelectorAll(".search-hits li").length === 0);
    await page.focus(".search .pad");
    for (let i = 0; i < 6; i++) await press(page, "ArrowUp");
    assert.deepEqual(await hitsOf(page, "float32"), []);
    await press(page, " ");
    for (let i = 0; i < 12; i++) await press(page, "ArrowDown");
    await waitFor(page, () =>
      [...document.querySelectorAll('[data-search="float32"] canvas')].some((each) =>
        each.getAttribute("aria-label").startsWith("1, "),
      ),
    );
    assert.deepEqual(await visit.problems(), []);
  });
});

describe("The reader's own vectors", () => {
  const folder = mkdtempSync(join(tmpdir(), "zeropoint-search-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const [ROWS, VALUES] = [200, 24];
  // A fixed sequence of numbers between −1 and 1.
  let state = 7;
  const vectors = Float32Array.from({ length: ROWS * VALUES }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
  const npyOf = (shape) =>
    collect(
      writeNpy({
        ...{ name: "vectors", dtype: "float32", shape },
        bytes: () => [new Uint8Array(vectors.buffer)],
      }),
    );
  const file = (name, content) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  let npy;
  let page;
  let visit;
  const open = async (...paths) => (await page.$(".search-own input")).uploadFile(...paths);
  before(async () => {
    npy = file("vectors.npy", await npyOf([ROWS, VALUES]));
    visit = await openSearch();
    page = visit.page;
  });
  after(() => visit?.close());

  it("are searched by an example of their texts, with the package's scores", async () => {
    const texts = Array.from({ length: ROWS }, (_, i) => `sentence ${i}`);
    await open(npy, file("texts.txt", `${texts.join("\n")}\n`));
    await page.waitForSelector(".search-filter");
    await page.type(".search-filter", "sentence 42");
    await waitFor(page, () => document.querySelectorAll(".search-examples li").length === 1);
    await page.click('.search-examples [data-row="42"]');
    await page.waitForSelector(".search-list");
    await init();
    const index = new VectorIndex({ dimensions: VALUES, originals: "float32" });
    index.add(tensor(vectors, [ROWS, VALUES]));
    const { hits } = index.search(index.vector(42), { k: 11 });
    const expected = hits.slice(1).map(({ id, score }) => `${score.toFixed(4)}sentence ${id}`);
    const shown = await page.$$eval(".search-list li", (all) =>
      all.map((each) => each.textContent),
    );
    assert.deepEqual(shown, expected);
    assert.match(await textOf(page, ".search-nearest .search-status"), /Proven: the codes left/);
    // A hit is the next example.
    await page.click(".search-list button");
    await waitFor(
      page,
      (text) => document.querySelector(".search-nearest h3").textContent === text,
      `Nearest to “sentence ${hits[1].id}”`,
    );
  });

  it("have no violation of axe", onceForAll, async () => {
    assert.deepEqual(await axeViolations(page), []);
  });

  it("say what is wrong with files", async () => {
    const says = async (pattern, ...paths) => {
      await open(...paths);
      await waitFor(
        page,
        (source) =>
          new RegExp(source).test(
            document.querySelector(".search-problem:not([hidden])").textContent,
          ),
        pattern,
      );
    };
    await says(
      "200 vectors of .*, but 2 texts: each vector needs one",
      npy,
      file("two.txt", "a\nb"),
    );
    await says("open the file of the vectors together", file("alone.txt", "a"));
    await says("must be a list with a text for each vector", npy, file("object.json", "{}"));
    await says("flat.npy has no matrix", file("flat.npy", await npyOf([ROWS * VALUES])));
    await says("damaged.npy cannot be opened: ", file("damaged.npy", "nothing"));
    assert.equal(await page.$(".search-filter"), null);
  });
});
