// Linear layers on several threads: the same bits as on one, for every kind of layer.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { linear, QuantizedLinear, quantize, tensor } from "zeropoint";
import { quantizePerTensor } from "zeropoint/torch";
import { embedded, examineEngine, loadBuild, runOn } from "../../internal/core.mjs";
import { Random, sameDeep, sameFloats } from "../support/asserts.mjs";
import { jobCounter } from "../support/jobs.mjs";

const builds = examineEngine().relaxed === true ? ["baseline", "relaxed"] : ["baseline"];

/**
 * Rows, inputs and outputs: enough work to divide, into parts of unequal sizes. In a page less of it: engines differ, the
 * division of work does not.
 */
const SHAPES =
  globalThis.process === undefined
    ? [
        [1, 2048, 2063],
        [130, 384, 333],
      ]
    : [
        [1, 4096, 2063],
        [130, 384, 333],
        [16, 1024, 517],
        [431, 416, 203],
      ];

/** The kinds of weights. */
const KINDS = [
  { dtype: "int8" },
  { dtype: "int8", axis: 0 },
  { dtype: "int8", axis: 1 },
  { dtype: "uint8", scheme: "affine", axis: 0 },
  { dtype: "int8", groupSize: 32 },
  { dtype: "uint4", scheme: "affine", groupSize: 32 },
  { dtype: "int4", groupSize: 128 },
  { dtype: "int4", axis: 0 },
  { dtype: "int2", groupSize: 32 },
  { dtype: "uint2", scheme: "affine", axis: 0 },
];

const DYNAMIC = [
  { activations: "dynamic" },
  { activations: "dynamic", axis: 0 },
  { activations: "dynamic", axis: 0, reduceRange: false },
];

const name = (options) => Object.values(options).join(" ");

for (const build of builds) {
  describe(`linear layers on threads of the ${build} build`, () => {
    const cores = {};
    const jobsOf = {};
    before(async () => {
      for (const threads of [1, 2, 4]) {
        cores[threads] = await loadBuild("test", embedded, { build, threads });
        assert.equal(cores[threads].threads, threads);
        if (threads > 1) jobsOf[threads] = await jobCounter(cores[threads]);
      }
    });
    after(() => {
      for (const core of Object.values(cores)) core.dispose();
    });

    /** Runs work on each core; asserts equal results, and that threads were used. */
    function same(what, work) {
      const expected = runOn(cores[1], work);
      assert.ok(new Set(expected).size > expected.length / 4, `${what}: a result without variety`);
      for (const threads of [2, 4]) {
        const jobs = jobsOf[threads]();
        const actual = runOn(cores[threads], work);
        assert.ok(jobsOf[threads]() > jobs, `${what}: one thread computed alone`);
        sameFloats(actual, expected, `${what} on ${threads} threads:`);
      }
    }

    for (const [m, k, n] of SHAPES) {
      const random = new Random(m);
      const w = tensor(random.normal(n * k, 0.1), [n, k]);
      const x = tensor(random.normal(m * k), [m, k]);
      // Magnitudes so different that some rows take the path of the wide range.
      for (let i = 3 * k; i < x.data.length; i += 7 * k + 1) x.data[i] *= 1e9;
      const bias = tensor(random.normal(n), [n]);
      const shape = `${m} x ${k} x ${n}`;

      it(`have the bits of one: ${shape}`, () => {
        for (const accumulate of ["exact", "float32"]) {
          same(`float ${accumulate}`, () => linear(x, w, bias, { accumulate }).data);
          for (const kind of KINDS) {
            same(`${name(kind)} ${accumulate}`, () => {
              const layer = new QuantizedLinear(w, { ...kind, bias, accumulate });
              const y = layer.forward(x).data;
              layer.dispose();
              return y;
            });
          }
        }
        same("a quantized tensor", () => {
          return linear(x, quantize(w, { dtype: "int4", groupSize: 32 }), bias).data;
        });
      });

      it(`have the bits of one if a worker is lost during the call: ${shape}`, async () => {
        const mild = tensor(random.normal(m * k), [m, k]);
        const works = {
          linearPacked: () => linear(x, quantize(w, { groupSize: 1 }), bias).data,
          linearDynamic: () =>
            new QuantizedLinear(w, { activations: "dynamic", bias }).forward(mild).data,
          quantizePerTensor: () => quantizePerTensor(mild, 0.01, 3, "qint8").data,
        };
        for (const [name, work] of Object.entries(works)) {
          const core = await loadBuild("test", embedded, { build, threads: 2 });
          const { [name]: compute, workerLost, HEAPU8 } = core.module;
          let calls = 0;
          core.module[name] = (...args) => {
            const status = compute(...args);
            if (calls++ === 0) {
              workerLost();
              // A lost worker may still write to the results, the last argument.
              HEAPU8.fill(85, args.at(-1), args.at(-1) + 64);
            }
            return status;
          };
          const expected = runOn(cores[1], work);
          sameDeep(runOn(core, work), expected, name);
          assert.ok(calls > 1, name);
          core.dispose();
        }
      });

      it(`have the bits of one with dynamic activations: ${shape}`, () => {
        const mild = tensor(random.normal(m * k), [m, k]);
        for (const kind of DYNAMIC) {
          same(name(kind), () => {
            const layer = new QuantizedLinear(w, { ...kind, bias });
            const y = layer.forward(mild).data;
            layer.dispose();
            return y;
          });
        }
      });
    }
  });
}
