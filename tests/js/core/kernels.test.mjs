// The kernels of a relaxed build: how they are chosen, and that the choice changes no bit of a result.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { promisify } from "node:util";
import { create, QuantizedLinear, quantize } from "zeropoint";
import {
  chooseKernels,
  embedded,
  examineEngine,
  loadBuild,
  loweringOfDot,
  runOn,
  timeDots,
} from "../../internal/core.mjs";
import { sameDeep } from "../support/asserts.mjs";

const hasRelaxed = examineEngine().relaxed === true;
const relaxedOnly = { skip: !hasRelaxed && "this engine does not compute relaxed SIMD" };

describe("timeDots", () => {
  /**
   * The ratio that timeDots finds if four rounds take these microseconds.
   * @param tick  of the clock, in milliseconds
   * @param change  applied to each value of the clock
   */
  function measure({ relaxed, wide, tick = 1e-5, change = (ms) => ms, interruptions = [] }) {
    let time = 123.456;
    let runs = 0;
    let spent = 0;
    const run = (isRelaxed, rounds) => {
      const ms = (rounds * (isRelaxed ? relaxed : wide)) / 4000 + (interruptions[runs++] ?? 0);
      time += ms;
      spent += ms;
      return 0;
    };
    const now = () => {
      time += 1e-4; // looking takes time, too
      return change(Math.floor(time / tick) * tick);
    };
    return { ratio: timeDots(run, now), runs, spent };
  }

  it("finds the ratio of both kinds by a fine clock, in a fraction of a millisecond", () => {
    const { ratio, spent } = measure({ relaxed: 0.1, wide: 0.05 });
    assert.ok(Math.abs(ratio - 2) < 0.02, String(ratio));
    assert.ok(spent < 0.2, String(spent));
  });

  it("finds it by a clock of 5 microseconds", () => {
    for (const [relaxed, wide] of [
      [0.06, 0.06],
      [0.13, 0.06],
      [0.06, 0.12],
      // A processor that is several times as fast.
      [0.032, 0.019],
    ]) {
      const { ratio, spent } = measure({ relaxed, wide, tick: 0.005 });
      assert.ok(Math.abs(ratio / (relaxed / wide) - 1) < 0.2, String(ratio));
      assert.ok(spent < 1.2, String(spent));
    }
  });

  it("ignores measurements that were interrupted", () => {
    const interruptions = [5, 0, 0, 30, 0, 0.4, 2, 0, 0, 1, 0, 0, 100];
    const { ratio } = measure({ relaxed: 0.06, wide: 0.06, interruptions });
    assert.ok(Math.abs(ratio - 1) < 0.02, String(ratio));
  });

  it("gives up without computing anything by a clock that is coarse or stands still", () => {
    for (const tick of [0.02, 0.1, 1, 16, 1e9]) {
      const { ratio, runs } = measure({ relaxed: 0.1, wide: 0.05, tick });
      assert.deepEqual([ratio, runs], [undefined, 0], String(tick));
    }
    assert.equal(measure({ relaxed: 0.1, wide: 0.05, change: () => Number.NaN }).ratio, undefined);
    assert.equal(measure({ relaxed: 0.1, wide: 0.05, change: () => 7 }).ratio, undefined);
  });

  it("gives up by a clock that goes backwards, at once or in between", () => {
    const backwards = measure({ relaxed: 0.1, wide: 0.05, change: (ms) => -ms });
    assert.deepEqual([backwards.ratio, backwards.runs], [undefined, 0]);
    let looks = 0;
    const once = (ms) => (++looks > 9 ? ms - 1 : ms);
    assert.equal(measure({ relaxed: 0.1, wide: 0.05, change: once }).ratio, undefined);
  });
});

describe("chooseKernels", () => {
  const never = () => assert.fail("the clock is not needed");

  it("takes the relaxed dot where it is one instruction, without a clock", () => {
    assert.equal(chooseKernels("one-instruction", never), "relaxed");
  });

  it("takes the relaxed dot for 7 bits alone where it is several instructions, up to twice the time", () => {
    for (const [ratio, expected] of [
      [undefined, "mixed"],
      [2.2, "baseline"],
      [1.7, "mixed"],
      [1.5, "mixed"],
      [1, "mixed"],
    ]) {
      assert.equal(
        chooseKernels("several-instructions", () => ratio),
        expected,
        String(ratio),
      );
    }
  });

  it("takes the faster dot if the lowering is unknown, and the relaxed dot without a clock", () => {
    for (const [ratio, expected] of [
      [undefined, "relaxed"],
      [0.5, "relaxed"],
      [1.3, "relaxed"],
      [1.5, "mixed"],
      [3, "baseline"],
    ]) {
      assert.equal(
        chooseKernels("unknown", () => ratio),
        expected,
        String(ratio),
      );
    }
  });
});

describe("the kernels of an instance", () => {
  it("are named by the result, in the relaxed build alone", async () => {
    const chosen = await create();
    const allowed = chosen.build === "relaxed" ? ["relaxed", "mixed", "baseline"] : [undefined];
    assert.ok(allowed.includes(chosen.kernels), chosen.kernels);
    assert.equal("kernels" in (await create({ build: "baseline" })), false);
  });

  it("are the relaxed ones where the relaxed build is asked for", relaxedOnly, async () => {
    assert.equal((await create({ build: "relaxed" })).kernels, "relaxed");
  });

  it("are the 16-bit ones where V8 has no single instruction", relaxedOnly, async (test) => {
    if (process.arch !== "x64") return test.skip("V8's flag is for x86");
    const script = `
      import { init, create } from "zeropoint";
      console.log(JSON.stringify([await init(), (await create({ threads: 2 })).kernels]));
      process.exit();
    `;
    const [own, onThreads] = JSON.parse(await run(["--no-enable-avx-vnni"], script));
    assert.equal(own.build, "relaxed");
    assert.notEqual(own.kernels, "relaxed");
    assert.notEqual(onThreads, "relaxed");
    const lowering = loweringOfDot();
    const [here] = JSON.parse(await run([], script));
    if (lowering === "one-instruction") assert.equal(here.kernels, "relaxed");
  });

  const run = async (flags, script) => {
    const { execFile } = await import("node:child_process");
    const args = [...flags, "--input-type=module", "--eval", script];
    return (await promisify(execFile)(process.execPath, args)).stdout;
  };
});

describe("a quantized layer", relaxedOnly, () => {
  const LAYERS = {
    "W8A32 per tensor": [{}, {}],
    "W8A32 per channel": [{ axis: 0 }, {}],
    "W8A32 affine": [{ axis: 0, scheme: "affine" }, {}],
    "W8A32 on the other axis": [{ axis: 1 }, {}],
    "W8A32 in groups of 32": [{ groupSize: 32 }, {}],
    "W4A32 per channel": [{ axis: 0, dtype: "int4" }, {}],
    "W4A32 in groups of 32, affine": [{ groupSize: 32, dtype: "uint4", scheme: "affine" }, {}],
    "W2A32 per channel": [{ axis: 0, dtype: "int2" }, {}],
    "W8A8 of 7 bits": [{ axis: 0 }, { activations: "dynamic" }],
    "W8A8 of 8 bits": [{ axis: 0 }, { activations: "dynamic", reduceRange: false }],
  };
  const KERNELS = ["relaxed", "mixed", "baseline"];
  const [m, k, n] = [13, 160, 37];
  const values = (length, seed) =>
    Float32Array.from({ length }, (_, i) => Math.sin(seed + 12.9898 * i) * 10 ** ((i % 7) - 3));
  const x = { data: values(m * k, 1), shape: [m, k] };
  const w = { data: values(n * k, 2), shape: [n, k] };
  const cores = [];
  before(async () => {
    for (const threads of [1, 2]) {
      cores.push(await loadBuild("test", embedded, { build: "relaxed", threads }));
    }
  });

  /** A layer packed under one choice and run under another. */
  const forward = (core, [options, layer], packedFor, runFor) =>
    runOn(core, () => {
      core.module.setLayerKernels(packedFor);
      const made = new QuantizedLinear(quantize(w, options), layer);
      core.module.setLayerKernels(runFor);
      const { data } = made.forward(x);
      made.dispose();
      return data;
    });

  for (const [name, layer] of Object.entries(LAYERS)) {
    it(`gives the same bits with all kernels and threads: ${name}`, () => {
      const expected = forward(cores[0], layer, "relaxed", "relaxed");
      for (const core of cores) {
        for (const packedFor of KERNELS) {
          for (const runFor of KERNELS) {
            sameDeep(forward(core, layer, packedFor, runFor), expected, `${packedFor}, ${runFor}`);
          }
        }
      }
    });
  }
});
