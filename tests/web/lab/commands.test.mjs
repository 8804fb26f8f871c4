// The commands that the Model Lab shows do the lab's job: the same schemes, within the same size, the same bytes.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { root } from "../../../scripts/process/run.mjs";
import { collect } from "../../js/support/files/formats.mjs";
import { makeFolder, safetensors, smallModel, write } from "../../js/support/processes/cli.mjs";
import { fromPage } from "../from-page.mjs";
import { textOf, waitFor } from "../page.mjs";
import { openFile, openLab, waitForPlan } from "./pages.mjs";

const { bytesText } = await fromPage("shell/drawing/numbers.js");

const folder = makeFolder();
const cli = join(root, "dist", "cli", "main.js");
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Files, and the outputs of the lab that are made of them: format, target, and a pinned scheme. */
const JOBS = [
  ["my model's.safetensors", "", "", "int8-channel"],
  ["my model's.safetensors", "safetensors", "mlx", "int8-g32"],
  ["my model's.safetensors", "safetensors", "compressed-tensors", "int8-channel"],
  ["my model's.safetensors", "gguf", "", "q8_0"],
  ["small.gguf", "", "", "keep"],
  ["digits.onnx", "", "web", "int8-channel"],
  ["digits.onnx", "onnx", "portable", "int8-channel"],
  ["digits.onnx", "safetensors", "compressed-tensors", "int8-channel"],
  ["small.npz", "", "", "int8-channel"],
];

before(async () => {
  await init();
  const bytes = await safetensors(smallModel());
  const model = await openModel(bytes);
  const as = async (format) => {
    const { files } = await quantizeModel(model, "keep", { format });
    return await collect(files[0].stream());
  };
  write(folder, {
    "my model's.safetensors": bytes,
    "small.gguf": await as("gguf"),
    "small.npz": await as("npz"),
  });
  copyFileSync(join(root, "build", "cost", "digits.onnx"), join(folder, "digits.onnx"));
});

/**
 * Opens the details of a cell of the first weight. Found and pressed in one step: between two the table may be drawn
 * again, and the cell be no part of it.
 */
async function openFirst(page, selector, index = 0) {
  await page.evaluate(
    (wanted, i) =>
      document.querySelectorAll(`.layer-body .layer-row:first-child ${wanted}`)[i].click(),
    selector,
    index,
  );
  await page.waitForSelector(".lab-drawer[open] .detail-actions");
}

/** Pins a scheme of the first weight by its details. */
async function pinFirst(page, scheme) {
  const name = await page.$eval(".layer-body .is-name", ({ textContent }) => textContent);
  await openFirst(page, ".is-plan");
  const isKeep = scheme === "keep";
  if (!isKeep) {
    await page.$eval(".lab-drawer .detail-head button", (button) => button.click());
    const index = await page.$$eval(
      ".layer-head .is-scheme button",
      (all, wanted) => all.findIndex(({ textContent }) => textContent === wanted),
      scheme,
    );
    assert.ok(index >= 0, scheme);
    await openFirst(page, ".is-scheme", index);
  }
  await page.$eval(`.lab-drawer [data-pin="${scheme}"]`, (button) => button.click());
  await waitFor(
    page,
    (text) => document.querySelector(".layer-body .is-plan").textContent === text,
    `■ ${scheme}`,
  );
  return name;
}

/** The files that the lab writes: their names and bytes. */
async function writeInLab(page) {
  await page.waitForSelector("[data-action='write']:not(:disabled)");
  await page.$eval("[data-action='write']", (button) => button.click());
  await page.waitForSelector(".lab-written a[download]");
  const files = await page.$$eval(".lab-written a[download]", (all) =>
    Promise.all(
      all.map(async ({ href, download }) => {
        const bytes = await window.blobs.get(href).arrayBuffer();
        const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
        const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
        return { name: download, size: bytes.byteLength, sha256: hex };
      }),
    ),
  );
  return files;
}

describe("The commands that the Model Lab shows", () => {
  let visit;
  before(async () => {
    visit = await openLab();
    // The page's policy lets nothing fetch the address of a download.
    await visit.page.evaluate(() => {
      window.blobs = new Map();
      const create = URL.createObjectURL;
      URL.createObjectURL = (blob) => {
        const url = create(blob);
        window.blobs.set(url, blob);
        return url;
      };
    });
  });
  after(() => visit?.close());

  for (const [i, [file, format, target, scheme]] of JOBS.entries()) {
    const output = [format || "the same format", target].filter(Boolean).join(", ");
    it(`write the bytes that the lab writes: ${file} as ${output}, with ${scheme} pinned`, async () => {
      const { page } = visit;
      const own = join(folder, String(i));
      mkdirSync(own);
      const name = `${i} ${file}`;
      copyFileSync(join(folder, file), join(own, name));
      await openFile(page, join(own, name));
      await waitFor(
        page,
        (each) => document.querySelector(".lab-name")?.textContent === each,
        name,
      );
      await waitForPlan(page);
      await page.select("[name='format']", format);
      if (target) await page.select("[name='target']", target);
      await page.waitForSelector("[data-action='write']:not(:disabled)");
      await waitForPlan(page);
      const pinned = await pinFirst(page, scheme);
      await page.$eval(".budget input", (slider) => {
        slider.value = String(Math.floor(0.4 * Number(slider.max)));
        slider.dispatchEvent(new Event("input"));
      });
      const files = await writeInLab(page);
      const size = files.reduce((sum, each) => sum + each.size, 0);
      const shown = await textOf(page, ".budget-text");
      assert.ok(shown.startsWith(bytesText(size)), `${shown} for ${size} bytes`);

      await page.$eval("[data-report='command']", (button) => button.click());
      const commands = await textOf(page, ".lab-command");
      const script = `set -e\nnpx() { shift; "$NODE" "$CLI" "$@"; }\n${commands}\n`;
      const env = { ...process.env, NODE: process.execPath, CLI: cli };
      const run = spawnSync("sh", ["-c", script], { cwd: own, env, encoding: "utf8" });
      assert.equal(run.status, 0, `${commands}\n${run.stdout}\n${run.stderr}`);

      const plan = JSON.parse(readFileSync(join(own, "plan.json"), "utf8"));
      assert.equal(plan.schemes[pinned], scheme);
      const [, budget] = / --size (\d+)B/.exec(commands);
      assert.deepEqual(plan.budget, { bytes: Number(budget) });
      assert.ok(size <= Number(budget), `${size} of ${budget} bytes`);
      const [, path] = / -o (\S+|'.*') --verify$/.exec(commands);
      const result = path.replace(/^'|'$/g, "").replaceAll("'\\''", "'");
      const written = statSync(join(own, result)).isDirectory()
        ? readdirSync(join(own, result), { withFileTypes: true })
            .filter((entry) => entry.isFile() && entry.name !== "SHA256SUMS")
            .map((entry) => [entry.name, join(own, result, entry.name)])
        : [[result, join(own, result)]];
      assert.deepEqual(
        Object.fromEntries(written.map(([each, at]) => [each, sha256(readFileSync(at))])),
        Object.fromEntries(files.map((each) => [each.name, each.sha256])),
      );
    });
  }

  it("have caused no error on the page", async () => {
    assert.deepEqual(await visit.problems(), []);
  });
});
