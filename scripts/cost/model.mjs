// The file of digits and trained network in build/cost/: written if missing or out of date.
//
//   node scripts/cost/model.mjs     writes it

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { init } from "zeropoint";
import { root, runAsScript, step } from "../process/run.mjs";
import { readDigits, splitDigits } from "./digits.mjs";
import { decode, encode } from "./file.mjs";
import { train } from "./train.mjs";

export const modelFile = join(root, "build", "cost", "digits.bin");

/** All sources that determine the content of the file. */
const SOURCES = ["digits.mjs", "train.mjs", "file.mjs"];

function identity() {
  const hash = createHash("sha256");
  for (const name of SOURCES) hash.update(readFileSync(new URL(name, import.meta.url)));
  return hash.digest("hex");
}

/** Trains the network and writes the file, unless it exists. */
export async function makeModel() {
  const stamp = `${modelFile}.made-from`;
  const isMade = existsSync(modelFile) && existsSync(stamp);
  if (isMade && readFileSync(stamp, "utf8") === identity()) return;
  await step("Training on 8,000 digits", async () => {
    await init();
    const { training, heldOut, calibration } = splitDigits(readDigits());
    const bytes = await encode(heldOut, calibration, train(training));
    mkdirSync(join(root, "build", "cost"), { recursive: true });
    writeWhole(modelFile, bytes);
    writeWhole(stamp, identity());
  });
}

/** Replaces the file atomically: a concurrent reader gets the old or the new content. */
function writeWhole(path, content) {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content);
  renameSync(draft, path);
}

/** The digits and the network, trained first if needed. */
export async function loadModel() {
  await makeModel();
  await init();
  return decode(readFileSync(modelFile));
}

await runAsScript(import.meta.url, makeModel);
