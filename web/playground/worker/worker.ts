// Computes for the playground: reads or draws data, then evaluates settings.

import * as zeropoint from "zeropoint";
import { init, torch } from "zeropoint/notebook";
import { moving, serveCalls } from "../../shell/calls/serve.js";
import { pageCore } from "../../shell/core/worker-core.js";
import { readFile } from "../data/files.js";
import { generate } from "../data/generate.js";
import { parseNumbers, type Values } from "../data/parse.js";
import type { Asked, Settings } from "../state.js";
import { evaluate, histogramOf } from "./evaluate.js";
import { curvesOf, schemeRows } from "./sweeps.js";

/** The features of this version of zeropoint. */
export type Abilities = { bits: number[]; hasFloat: boolean; hasBlocks: boolean };

const BINS = 96;
const STEP = 8; // milliseconds of work between two looks whether it is still wanted

const abilities: Abilities = {
  bits: [],
  hasFloat: false,
  hasBlocks: "quantizeBlocks" in zeropoint,
};
let x: Values = { values: new Float32Array(0), shape: [0] };

serveCalls({
  async start() {
    await init({ wasm: pageCore });
    for (let bits = 1; bits <= 8; bits++) {
      const dtype = bits === 1 ? "uint1" : `int${bits}`;
      if (isThere({ dtype, scheme: "affine" })) abilities.bits.push(bits);
    }
    abilities.hasFloat = isThere({ scheme: "affine", zeroPoint: "float" });
    const files = performance.getEntriesByType("resource").map(({ name }) => name);
    return { abilities, files };
  },

  async read(source: Asked) {
    x = await read(source);
    const values = x.values.slice();
    const histogram = histogramOf(values, BINS);
    return moving({ values, shape: x.shape, histogram }, [values.buffer]);
  },

  evaluate(settings: Settings) {
    const { values } = x;
    const evaluation = evaluate(x, settings);
    const { restored } = evaluation;
    const error = new Float32Array(values.length);
    for (let i = 0; i < error.length; i++) error[i] = values[i] - restored[i];
    return moving({ settings, evaluation, error }, [restored.buffer, error.buffer]);
  },

  curves: (settings: Settings, signal) => finish(curvesOf(x, settings, abilities.bits), signal),

  schemes: (settings: Settings, signal) =>
    finish(schemeRows(x, settings, abilities.bits, abilities.hasBlocks), signal),
});

function isThere(options: any) {
  try {
    zeropoint.quantize(zeropoint.tensor([0, 1]), options);
    return true;
  } catch {
    return false;
  }
}

function read(source: Asked): Values | Promise<Values> {
  if (source.kind === "generated") return generate(torch as any, source);
  if (source.kind === "text") return parseNumbers(source.text);
  if (source.kind === "file") return readFile(source.file);
  return source;
}

/** A channel whose messages yield to the event loop, so that waiting messages are received. Several sweeps may wait. */
const { port1, port2 } = new MessageChannel();
port1.start();
const turn = (): Promise<void> =>
  new Promise((resolve) => {
    port1.addEventListener("message", () => resolve(), { once: true });
    port2.postMessage(0);
  });

/** Runs a generator with turns of the event loop in between, as long as its result is wanted. */
async function finish<T>(steps: Generator<undefined, T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    const end = performance.now() + STEP;
    do {
      const { done, value } = steps.next();
      if (done) return value;
    } while (performance.now() < end);
    await turn();
    signal.throwIfAborted();
  }
}
