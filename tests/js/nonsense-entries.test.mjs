// Random nonsense for every export of zeropoint/models, zeropoint/worker and zeropoint/notebook, and for the methods of
// what they make: refused with a code, or it works.

import { describe, it } from "node:test";
import fc from "fast-check";
import * as models from "zeropoint/models";
import * as notebook from "zeropoint/notebook";
import { connect } from "zeropoint/worker";
import { fuzzLimits } from "./support/arbitraries.mjs";
import { declaredOf } from "./support/declared.mjs";
import { zeropoint } from "./support/exports.mjs";
import { bytesOf } from "./support/files/saved.mjs";
import { checkRefusal, isClass, JUNK } from "./support/junk.mjs";

await zeropoint.init();
const { quantize, tensor } = zeropoint;

const x = tensor([1, 2, 3, 4], [2, 2]);
const wide = tensor(new Float32Array(512).fill(0.5), [16, 32]);
const q = quantize(wide, { dtype: "int4", groupSize: 32 });
const model = await models.openModel(await bytesOf({ "a.weight": wide, q }));
const rows = [];
for await (const row of models.analyze(model)) rows.push(row);
const made = await models.quantizeModel(model, "int8-channel");
const plan = models.plan(rows, { ratio: 2 });
const zp = await connect({ worker: false, entries: ["torch"] });
const handle = await zp.quantizedLinear(x);

const KEYS = [
  ...["format", "signal", "schemes", "include", "exclude", "activations", "sample", "known"],
  ...["bins", "onProgress", "bytes", "ratio", "bitsPerWeight", "pin", "same", "metric", "target"],
  ...["pure", "imatrix", "verifyWith", "verifyInputs", "externalData", "functions", "points"],
  ...["verifySizes", "tensorTypes", "range", "plan", "statement"],
  ...["worker", "threads", "build", "wasm", "entries", "transfer", "name", "scheme", "rows"],
  ...["files", "report", "parameters", "shape", "data", "relative", "maxLoss"],
];

const junk = fc.constantFrom(...JUNK, x, q, model, rows, made, plan, rows[0], handle);
const spoiled = fc
  .tuple(
    fc.constantFrom({}, rows[0], made, plan, { bytes: 100 }, { ratio: 2 }, q),
    fc.array(fc.tuple(fc.constantFrom(...KEYS), junk), { minLength: 1, maxLength: 3 }),
  )
  .map(([good, changes]) => ({ ...good, ...Object.fromEntries(changes) }));
const argument = fc.oneof({ weight: 3, arbitrary: junk }, { weight: 2, arbitrary: spoiled });
const starts = [[], [model], [rows], [model, "int8-channel"], [model, plan], [model, made]];
const lists = fc
  .tuple(
    fc.constantFrom(...starts, [rows, plan], [model, model], [x], [q]),
    fc.array(argument, { maxLength: 3 }),
  )
  .map(([good, bad]) => [...good, ...bad]);

/** Some rows of a result that is read row by row. */
async function readSome(result) {
  if (typeof result?.[Symbol.asyncIterator] !== "function") return;
  let count = 0;
  for await (const _ of result) if (++count === 3) break;
}

/** Calls by name. */
const calls = {};
for (const [entry, exports] of Object.entries({ models, notebook })) {
  for (const [name, value] of Object.entries(exports)) {
    // It prints its arguments.
    if (typeof value !== "function" || name === "print" || name === "init") continue;
    calls[`${name} of ${entry}`] = isClass(value)
      ? (args) => new value(...args)
      : async (args) => readSome(await value(...args));
  }
}
for (const method of declaredOf("Model", "methods")) {
  if (method !== "close") calls[`Model.${method}`] = (args) => model[method](...args);
}
const moments = new models.InputMoments(2);
for (const method of declaredOf("InputMoments", "methods")) {
  calls[`InputMoments.${method}`] = (args) => moments[method](...args);
}
calls.connect = async (args) => (await connect(...args)).dispose();
for (const [name, value] of Object.entries(zp)) {
  if (typeof value !== "function" || name === "dispose") continue;
  calls[`${name} of a connection`] = (args) => value(...args);
}
for (const name of ["forward", "append"]) {
  calls[`${name} of a handle`] = (args) => handle[name](...args);
}

describe("nonsense", () => {
  for (const [name, call] of Object.entries(calls)) {
    it(`is refused by ${name} with a code, or works`, async () => {
      const property = fc.asyncProperty(lists, async (args) => {
        try {
          await call(args);
        } catch (error) {
          // Texts are paths of files, which do not exist.
          if (error?.code !== "ZP_LOAD_FAILED") checkRefusal(error, name);
        }
      });
      await fc.assert(property, fuzzLimits(Object.keys(calls).length, 40));
    });
  }
});
