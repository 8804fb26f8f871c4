// Computes for the playground: reads or draws data, then evaluates settings. The newest request supersedes
// those before it.

import * as zeropoint from "zeropoint";
import { init, torch } from "zeropoint/notebook";
import { pageCore } from "../../shell/core/worker-core.js";
import { readFile } from "../data/files.js";
import { generate } from "../data/generate.js";
import { parseNumbers } from "../data/parse.js";
import { evaluate, histogramOf } from "./evaluate.js";
import { curvesOf, schemeRows } from "./sweeps.js";

/**
 * @typedef {import("../state.js").Settings} Settings
 * @typedef {{ generated: import("../data/generate.js").Generated } | { text: string } | { file: File } |
 *   import("../data/parse.js").Values} Asked
 * @typedef {{ id: number, source?: Asked, settings: Settings, other?: Settings }} Request
 *   source: none to keep the data
 * @typedef {{ bits: number[], hasFloat: boolean, hasBlocks: boolean }} Abilities
 */

const BINS = 96;
const STEP = 8; // milliseconds of work between two looks for a newer request

const post = /** @type {(message: any, transfer?: Transferable[]) => void} */ (
  self.postMessage.bind(self)
);

/** @type {import("../data/parse.js").Values | undefined} */
let x;
/** The source last requested, kept until it is read, even if a newer request has none. @type {Asked | undefined} */
let asked;
/** @type {Request | undefined} */
let pending;
let isRunning = false;

/** The features of this version of zeropoint. @type {Abilities} */
const abilities = { bits: [], hasFloat: false, hasBlocks: "quantizeBlocks" in zeropoint };

/** @param {any} options */
function isThere(options) {
  try {
    zeropoint.quantize(zeropoint.tensor([0, 1]), options);
    return true;
  } catch {
    return false;
  }
}

const ready = init({ wasm: pageCore }).then(() => {
  for (let bits = 1; bits <= 8; bits++) {
    const dtype = bits === 1 ? "uint1" : `int${bits}`;
    if (isThere({ dtype, scheme: "affine" })) abilities.bits.push(bits);
  }
  abilities.hasFloat = isThere({ scheme: "affine", zeroPoint: "float" });
  const files = performance.getEntriesByType("resource").map(({ name }) => name);
  post({ type: "ready", abilities, files });
});
ready.catch((error) => post({ type: "failed", message: error.message }));

self.addEventListener("message", ({ data }) => {
  pending = data;
  if (data.source) asked = data.source;
  if (!isRunning) run();
});

/** A channel whose messages yield to the event loop, so that waiting messages are received. */
const { port1, port2 } = new MessageChannel();
/** @returns {Promise<void>} */
const turn = () =>
  new Promise((resolve) => {
    port1.onmessage = () => resolve();
    port2.postMessage(0);
  });

async function run() {
  isRunning = true;
  await ready;
  while (pending) {
    await turn();
    const request = /** @type {Request} */ (pending);
    pending = undefined;
    try {
      await work(request);
    } catch (thrown) {
      const { name, message, line, column } = /** @type {any} */ (thrown);
      post({
        type: "error",
        id: request.id,
        name,
        message,
        line,
        column,
        isData: asked !== undefined,
      });
      asked = undefined;
    }
  }
  isRunning = false;
}

/** @param {Request} request */
async function work({ id, settings, other }) {
  if (asked) {
    x = await read(asked);
    asked = undefined;
    const values = x.values.slice();
    const histogram = histogramOf(x.values, BINS);
    post({ type: "data", id, values, shape: x.shape, histogram }, [values.buffer]);
  }
  if (!x) return;
  postResult("result", id, settings, x);
  if (other) postResult("other", id, other, x);
  const { bits, hasBlocks } = abilities;
  const curves = await finish(curvesOf(x, settings, bits));
  if (curves) post({ type: "curves", id, curves });
  else return;
  const rows = await finish(schemeRows(x, settings, bits, hasBlocks));
  if (rows) post({ type: "schemes", id, rows });
}

/**
 * @param {"result" | "other"} type
 * @param {number} id
 * @param {Settings} settings
 * @param {import("../data/parse.js").Values} x
 */
function postResult(type, id, settings, { values, shape }) {
  const evaluation = evaluate({ values, shape }, settings);
  const { restored } = evaluation;
  const error = new Float32Array(values.length);
  for (let i = 0; i < error.length; i++) error[i] = values[i] - restored[i];
  const worst = evaluation.metrics.max;
  post({ type, id, settings, evaluation, error, worst }, [restored.buffer, error.buffer]);
}

/**
 * Runs a generator with turns of the event loop in between; gives up when a newer request has come.
 * @template T
 * @param {Generator<undefined, T>} steps
 * @returns {Promise<T | undefined>}
 */
async function finish(steps) {
  for (;;) {
    const end = performance.now() + STEP;
    do {
      const { done, value } = steps.next();
      if (done) return value;
    } while (performance.now() < end);
    await turn();
    if (pending) return undefined;
  }
}

/**
 * @param {Asked} source
 * @returns {import("../data/parse.js").Values | Promise<import("../data/parse.js").Values>}
 */
function read(source) {
  if ("generated" in source) return generate(/** @type {any} */ (torch), source.generated);
  if ("text" in source) return parseNumbers(source.text);
  if ("file" in source) return readFile(source.file);
  return source;
}
