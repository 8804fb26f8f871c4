// The tensors of the lab's model, divided among workers: the same rows as of one, whatever their number is.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { connect } from "zeropoint/worker";
import { root } from "../../../scripts/process/run.mjs";
import { Random } from "../../js/support/asserts.mjs";
import { fromPage } from "../from-page.mjs";

const { analyzeParts, divide, workerCount } = await fromPage("lab/model/parts.js");

const MB = 2 ** 20;
const script = new URL("../../../dist/worker/models-worker.js", import.meta.url);
const sample = (name) => join(root, "build", "cost", name);

describe("The number of the lab's workers", () => {
  it("is 1 for small models, and wherever cores or memory are for one", () => {
    const large = { hardwareConcurrency: 8, deviceMemory: 8 };
    assert.equal(workerCount(0.5 * MB, large), 1);
    assert.equal(workerCount(31 * MB, large), 1);
    assert.equal(workerCount(2000 * MB, { hardwareConcurrency: 1, deviceMemory: 8 }), 1);
    assert.equal(workerCount(2000 * MB, { hardwareConcurrency: 8, deviceMemory: 0.5 }), 1);
    assert.equal(workerCount(2000 * MB, {}), 1);
  });

  it("grows with the model up to the cores and the memory of the device", () => {
    assert.equal(workerCount(33 * MB, { hardwareConcurrency: 8, deviceMemory: 8 }), 2);
    assert.equal(workerCount(2000 * MB, { hardwareConcurrency: 4, deviceMemory: 8 }), 4);
    assert.equal(workerCount(2000 * MB, { hardwareConcurrency: 16, deviceMemory: 4 }), 4);
    // Firefox and Safari do not tell the memory.
    assert.equal(workerCount(2000 * MB, { hardwareConcurrency: 8 }), 2);
  });
});

describe("Tensors for several workers", () => {
  it("go in their order to the one with the fewest bytes, each to one", () => {
    const tensors = [8, 3, 3, 3, 1, 4].map((byteLength, i) => ({ name: `t${i}`, byteLength }));
    const parts = divide(tensors, 2).map((names) => [...names]);
    assert.deepEqual(parts, [
      ["t0", "t4", "t5"],
      ["t1", "t2", "t3"],
    ]);
    assert.deepEqual(divide(tensors, 1), [new Set(tensors.map(({ name }) => name))]);
  });
});

describe("An analysis by several workers", () => {
  /** Connections, and the workers behind them. */
  const all = [];
  const start = async () => {
    let worker;
    const zp = await connect({
      entries: ["models"],
      worker: () => {
        worker = new Worker(script);
        return worker;
      },
    });
    return { zp, end: () => worker.terminate() };
  };
  before(async () => {
    for (let i = 0; i < 3; i++) all.push(await start());
  });
  after(() => {
    for (const { zp } of all) zp.dispose();
  });

  /** @param each  gives the source for a worker */
  async function partsOf(count, source) {
    const models = await Promise.all(
      all.slice(0, count).map(({ zp }, i) => zp.openModel(source(i))),
    );
    const tensors = [...(await models[0].tensors).values()];
    return divide(tensors, count).map((names, i) => ({ zp: all[i].zp, model: models[i], names }));
  }

  async function rowsOf(parts, names, options = {}) {
    const rows = [];
    const own = { signal: new AbortController().signal, onProgress: () => {}, ...options };
    const wanted = names ?? [...(await parts[0].model.tensors).keys()];
    for await (const row of analyzeParts(parts, wanted, own)) rows.push(row);
    return rows;
  }

  const close = (parts) => {
    for (const { model } of parts) model.dispose();
  };

  for (const [name, options] of [
    ["digits-deep.gguf", {}],
    ["digits-deep.gguf", { sample: 2048 }],
    ["digits-deep.onnx", {}],
    ["digits-deep.onnx", { format: "onnx", target: "web" }],
    ["digits-deep.gguf", { format: "safetensors", target: "mlx" }],
    ["digits-deep.gguf", { format: "safetensors", target: "compressed-tensors" }],
    ["digits.safetensors", {}],
  ]) {
    it(`has the rows of one, in their order: ${name} ${JSON.stringify(options)}`, async () => {
      const [alone] = await partsOf(1, () => sample(name));
      const expected = [];
      for await (const row of alone.zp.analyze(alone.model, options)) expected.push(row);
      assert.ok(expected.length > 4);
      for (const count of [1, 2, 3]) {
        const parts = await partsOf(count, () => sample(name));
        assert.deepEqual(await rowsOf(parts, undefined, options), expected, `${count} workers`);
        close(parts);
      }
      close([alone]);
    });
  }

  it("has each weight's moments in one worker, and rows of a part as of the whole", async () => {
    const random = new Random(3);
    const inputs = { data: random.normal(64 * 256), shape: [64, 256] };
    const moments = async ({ zp }) => {
      const made = await zp.inputMoments(256);
      await made.add(inputs);
      return made;
    };
    const results = [];
    for (const count of [1, 3]) {
      const parts = await partsOf(count, () => sample("digits-deep.gguf"));
      const names = [...(await parts[0].model.tensors).keys()].filter((name) =>
        /ffn_down.weight$/.test(name),
      );
      const activations = {};
      for (const name of names) {
        activations[name] = await moments(parts.find((part) => part.names.has(name)));
      }
      const rows = await rowsOf(parts, undefined, { activations });
      const wanted = [names[5], names[2]];
      const some = await rowsOf(parts, wanted, { activations });
      const own = (name) => rows.filter((row) => row.name === name);
      assert.deepEqual(some, wanted.reverse().flatMap(own));
      results.push(rows);
      close(parts);
    }
    assert.ok(results[0].filter(({ shows }) => shows === "outputs").length > 100);
    assert.deepEqual(results[1], results[0]);
  });

  it("reports the bytes of all workers together, never fewer, and waits while a report does", async () => {
    const parts = await partsOf(2, () => sample("digits-deep.gguf"));
    const reports = [];
    let waiting = 0;
    await rowsOf(parts, undefined, {
      onProgress: async (progress) => {
        reports.push(progress);
        waiting++;
        await new Promise((resolve) => setTimeout(resolve, 1));
        waiting--;
        assert.ok(waiting < 2);
      },
    });
    const { total } = reports[0];
    assert.equal(new Set(reports.map((each) => each.total)).size, 1);
    assert.equal(Math.max(...reports.map(({ done }) => done)), total);
    assert.ok(reports.every(({ done }, i) => i === 0 || done >= reports[i - 1].done));
    close(parts);
  });

  it("ends by its signal, with the signal's reason, in all workers", async () => {
    const parts = await partsOf(2, () => sample("digits-deep.gguf"));
    const controller = new AbortController();
    const reason = new Error("Stopped.");
    let reports = 0;
    const running = rowsOf(parts, undefined, {
      signal: controller.signal,
      onProgress: () => {
        if (++reports === 3) controller.abort(reason);
      },
    });
    await assert.rejects(running, (error) => error === reason);
    const ended = reports;
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(reports, ended);
    // Both take other work.
    assert.ok((await rowsOf(parts)).length > 100);
    close(parts);
  });

  it("ends with the first error, in all workers", async () => {
    const bytes = readFileSync(sample("digits-deep.gguf"));
    let broken = false;
    const source = (i) => ({
      size: bytes.length,
      read: (offset, length) => {
        if (broken && i === 1) throw new Error("the disk is gone");
        return new Uint8Array(bytes.subarray(offset, offset + length));
      },
    });
    const parts = await partsOf(2, source);
    broken = true;
    await assert.rejects(rowsOf(parts), /the disk is gone/);
    broken = false;
    assert.ok((await rowsOf(parts)).length > 100);
    close(parts);
  });

  it("names a worker that dies, and where", async () => {
    const doomed = await start();
    const [first] = await partsOf(1, () => sample("digits-deep.gguf"));
    const model = await doomed.zp.openModel(sample("digits-deep.gguf"));
    const tensors = [...(await model.tensors).values()];
    const [a, b] = divide(tensors, 2);
    const parts = [
      { ...first, names: a },
      { zp: doomed.zp, model, names: b },
    ];
    let ending;
    const onProgress = ({ name }) => {
      if (b.has(name)) ending ??= doomed.end();
    };
    await assert.rejects(
      rowsOf(parts, undefined, { onProgress }),
      /^Error: worker 2 of 2 ended at blk\.\d+\.\S+: .*the worker ended.* Open the file again\.$/,
    );
    await ending;
    close([first]);
    doomed.zp.dispose();
  });
});
