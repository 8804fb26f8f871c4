// The entry "models" of a connection: results as of direct calls, sources and functions of this thread, rows and
// streams bit by bit, signals, and lost workers.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { init, tensor } from "zeropoint";
import * as models from "zeropoint/models";
import { Linear, Sequential } from "zeropoint/torch";
import { connect } from "zeropoint/worker";
import { ggufEntry, layoutGGUF, writeGGUF } from "../../internal/formats.mjs";
import { rejects, sameCodes, sameDeep, sameTensor } from "../support/asserts.mjs";
import {
  bfloat16Of,
  outputBytes,
  safetensorsOf,
  someValues,
} from "../support/files/checkpoints.mjs";
import { collect } from "../support/files/formats.mjs";
import { makeImatrix, makeLlama } from "../support/files/llama.mjs";
import { bytesOf } from "../support/files/saved.mjs";
import { constant, onnxModel } from "../support/onnx/models.mjs";

await init();

const small = {
  "a.weight": tensor(someValues(64 * 128), [64, 128]),
  "a.bias": tensor(someValues(64), [64]),
  "b.weight": tensor(someValues(32 * 64, 2), [32, 64]),
};
const bytes = await bytesOf(small);
const script = new URL("../../../dist/worker/models-worker.js", import.meta.url);

const rowsOf = async (rows) => {
  const all = [];
  for await (const row of rows) all.push(row);
  return all;
};

/** A file of weights [256, 1024] in bfloat16, made as it is read, and what was read of it. */
function longFile(count) {
  const one = new Uint8Array(bfloat16Of(someValues(256 * 1024)).buffer);
  const header = {};
  for (let i = 0; i < count; i++) {
    const data_offsets = [i * one.length, (i + 1) * one.length];
    header[`${i}.weight`] = { dtype: "BF16", shape: [256, 1024], data_offsets };
  }
  let text = JSON.stringify(header);
  text += " ".repeat((8 - (text.length % 8)) % 8);
  const begin = new Uint8Array(8 + text.length);
  new DataView(begin.buffer).setBigUint64(0, BigInt(text.length), true);
  begin.set(new TextEncoder().encode(text), 8);
  const file = {
    size: begin.length + count * one.length,
    bytesRead: 0,
    async read(offset, length) {
      file.bytesRead += length;
      const out = new Uint8Array(length);
      for (let i = 0; i < length; ) {
        const at = offset + i - begin.length;
        const part = at < 0 ? begin.subarray(offset + i) : one.subarray(at % one.length);
        const taken = part.subarray(0, length - i);
        out.set(taken, i);
        i += taken.length;
      }
      return out;
    },
  };
  return file;
}

for (const [place, options] of [
  ["a worker", {}],
  ["this thread", { worker: false }],
]) {
  describe(`zeropoint/models of a connection to ${place}`, () => {
    let zp;
    before(async () => {
      zp = await connect({ ...options, entries: ["models"] });
    });
    after(() => zp.dispose());

    it("says where it runs", () => {
      assert.equal(zp.offThread, options.worker !== false);
      assert.equal(zp.reason, options.worker === false ? "options.worker is false" : undefined);
    });

    it("opens, reads, analyzes, plans, quantizes, compares and verifies as direct calls do", async () => {
      for (const source of [bytes, await makeLlama({})]) {
        const direct = await models.openModel(source);
        const model = await zp.openModel(source);
        assert.equal(await model.format, direct.format);
        const tensors = await model.tensors;
        assert.deepEqual([...tensors.keys()], [...direct.tensors.keys()]);
        sameDeep([...tensors.values()], [...direct.tensors.values()]);
        sameDeep([...(await model.metadata)], [...direct.metadata]);
        const [name] = tensors.keys();
        sameTensor(await model.read(name), await direct.read(name));
        sameCodes(await model.readBytes(name), await direct.readBytes(name));

        const progress = { direct: [], connected: [] };
        const settings = { schemes: ["int8-channel", "int4-g32", "q4_0"], histogram: 8 };
        const rows = await rowsOf(
          zp.analyze(model, { ...settings, onProgress: (each) => progress.connected.push(each) }),
        );
        const own = await rowsOf(
          models.analyze(direct, { ...settings, onProgress: (each) => progress.direct.push(each) }),
        );
        sameDeep(rows, own);
        sameDeep(progress.connected, progress.direct);
        const stored = await zp.storedRows(model, rows);
        sameDeep(stored, await models.storedRows(direct, own));
        const plan = await zp.plan(stored, { ratio: 0.5 });
        sameDeep(plan, models.plan(stored, { ratio: 0.5 }));
        sameDeep(await zp.frontier(rows), models.frontier(rows));
        assert.equal(await zp.describePlan(plan), models.describePlan(plan));

        const choose = ({ shape }) => (shape[0] === 64 ? "float16" : "keep");
        for (const scheme of [plan, "keep", choose]) {
          const one = await zp.quantizeModel(model, scheme);
          const other = await models.quantizeModel(direct, scheme);
          sameDeep(one.report, other.report);
          assert.deepEqual(
            one.files.map(({ name, size }) => [name, size]),
            other.files.map(({ name, size }) => [name, size]),
          );
          const written = await outputBytes(one.files[0]);
          sameCodes(written, await outputBytes(other.files[0]));
          const begin = Math.floor(written.length / 3);
          const rest = await new Response(one.files[0].stream(begin)).arrayBuffer();
          sameCodes(new Uint8Array(rest), written.subarray(begin));
          const again = await zp.openModel(written);
          const rename = (given) => (given === name ? undefined : given);
          sameDeep(
            await rowsOf(zp.compare(model, again, { rename })),
            await rowsOf(models.compare(direct, await models.openModel(written), { rename })),
          );
        }
        const { files } = await models.quantizeModel(direct, plan);
        const made = await outputBytes(files[0]);
        const { statement: _, ...verified } = await zp.verify(await zp.openModel(made), model);
        const { statement: __, ...expected } = await models.verify(
          await models.openModel(made),
          direct,
        );
        sameDeep(verified, expected);
        await model.close();
        await rejects(model.read(name), TypeError, "ZP_DISPOSED", /the model is closed/);
      }
    });

    it("takes an importance matrix as bytes and as a handle", async () => {
      const [source, matrix] = [await makeLlama({}), await makeImatrix({})];
      const direct = await models.quantizeModel(await models.openModel(source), "Q4_K", {
        imatrix: new File([matrix], "own.gguf"),
      });
      const expected = await outputBytes(direct.files[0]);
      const model = await zp.openModel(source);
      const file = new File([matrix], "own.gguf");
      for (const imatrix of [file, await zp.openModel(file)]) {
        const { files } = await zp.quantizeModel(model, "Q4_K", { imatrix });
        sameCodes(await outputBytes(files[0]), expected);
      }
    });

    it("opens every kind of source", async () => {
      const folder = mkdtempSync(join(tmpdir(), "zeropoint-"));
      try {
        const path = join(folder, "model.safetensors");
        writeFileSync(path, bytes);
        const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
        shared.set(bytes);
        async function* chunks() {
          for (let i = 0; i < bytes.length; i += 5000) yield bytes.slice(i, i + 5000);
        }
        const reads = [];
        const source = {
          size: bytes.length,
          read(offset, length) {
            assert.equal(this, source);
            reads.push(length);
            return bytes.subarray(offset, offset + length);
          },
        };
        for (const each of [
          ...[path, folder, pathToFileURL(path), bytes, bytes.slice().buffer, shared, source],
          ...[new Blob([bytes]), new File([bytes], "m.safetensors"), new Response(bytes)],
          ...[new Blob([bytes]).stream(), chunks(), Promise.resolve(bytes)],
        ]) {
          const model = await zp.openModel(each);
          sameTensor(await model.read("a.bias"), small["a.bias"]);
          model.dispose();
        }
        assert.ok(reads.length > 0);
        const isTooLarge = {
          code: "ZP_UNSUPPORTED_FILE",
          message: /at most 100 bytes \(options\.max/,
        };
        await assert.rejects(zp.openModel(new Response(bytes), { maxBytes: 100 }), isTooLarge);
        const isOdd = { code: "ZP_INVALID_OPTION", message: /options\.maxBytes must be a number/ };
        await assert.rejects(zp.openModel(new Response(bytes), { maxBytes: "1" }), isOdd);
        const own = bytes.slice();
        const moved = await zp.openModel(own, { transfer: true });
        assert.equal(own.length, 0);
        sameTensor(await moved.read("a.bias"), small["a.bias"]);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

    it("asks this thread for the files that an index names", async () => {
      const shard = await safetensorsOf({ w: ["float32", [2], new Float32Array(2)] });
      const index = JSON.stringify({ metadata: {}, weight_map: { w: "one.safetensors" } });
      const file = new File([index], "model.safetensors.index.json");
      const asked = [];
      const externalData = async (path) => {
        asked.push(path);
        return shard;
      };
      const model = await zp.openModel(file, { externalData });
      sameTensor(await model.read("w"), tensor([0, 0]));
      assert.deepEqual(asked, ["one.safetensors"]);
    });

    it("refuses what direct calls refuse, with the same class, code and message", async () => {
      const model = await zp.openModel(bytes);
      const direct = await models.openModel(bytes);
      const bad = Uint8Array.from(bytes, (byte, i) => (i === 9 ? 255 : byte));
      const calls = [
        (m) => m.openModel(bad),
        (m) => m.openModel(5),
        (m) => m.openModel({ size: 100, read: () => "text" }),
        (m) => m.openModel({ size: -1, read: () => bytes }),
        (m) => m.openModel({ size: 100, read: () => new Uint8Array(3) }),
        (m) => m.openModel(bytes, { format: "none" }),
        (m) => m.openModel(bytes, { unknown: 1 }),
        (m) => m.openModel(bytes, 7),
        (m) => m.openModel(join(tmpdir(), "zeropoint-none", "none")),
        (_, own) => own.read("none"),
        (m, own) => m.quantizeModel(own, "int9"),
        (m, own) => m.quantizeModel(own, () => 5),
        (m, own) => m.quantizeModel(own, "keep", { format: "none" }),
        (m, own) => rowsOf(m.analyze(own, { schemes: ["none"] })),
        (m) => rowsOf(m.analyze({})),
        (m, own) => rowsOf(m.compare(own, 5)),
        (m) => m.plan([], { bytes: 5, ratio: 1 }),
        (m) => m.plan(5, { bytes: 5 }),
      ];
      const failure = async (call, ...args) => {
        const error = await (async () => call(...args))().then(
          () => assert.fail(String(call)),
          (reason) => reason,
        );
        const { code, message, offset, expected, found } = error;
        return { type: error.constructor.name, code, message, offset, expected, found };
      };
      for (const call of calls) {
        assert.deepEqual(
          await failure(call, zp, model),
          await failure(call, models, direct),
          `${call}`,
        );
      }
    });

    it("rejects with the very error that a function of this thread throws", async () => {
      const own = new URIError("mine");
      const fail = () => {
        throw own;
      };
      const is = async (promise) => assert.equal(await promise.catch((error) => error), own);
      await is(zp.openModel({ size: 100, read: fail }));
      const model = await zp.openModel(bytes);
      await is(zp.quantizeModel(model, fail));
      await is(rowsOf(zp.compare(model, model, { rename: fail })));
      await is(rowsOf(zp.analyze(model, { onProgress: fail })));
      const { files } = await zp.quantizeModel(model, "keep", { onProgress: fail });
      await is(new Response(files[0].stream()).arrayBuffer());
    });

    it("stops at once when it is aborted", async () => {
      const stop = new AbortController();
      const reading = deferred();
      const never = {
        size: 100,
        read: () => {
          reading.resolve();
          return new Promise(() => {});
        },
      };
      const opening = zp.openModel(never, { signal: stop.signal });
      await reading.promise;
      stop.abort("enough");
      assert.equal(await opening.catch((error) => error), "enough");

      const file = longFile(40);
      const later = new AbortController();
      const model = await zp.openModel(file);
      const found = [];
      const reason = await (async () => {
        for await (const row of zp.analyze(model, {
          schemes: ["int8-tensor"],
          signal: later.signal,
        })) {
          found.push(row);
          if (found.length === 4) later.abort("later");
        }
      })().catch((error) => error);
      assert.equal(reason, "later");
      assert.ok(found.length < 80, `${found.length} rows`);
      const { bytesRead } = file;
      const third = new AbortController();
      const { files } = await zp.quantizeModel(model, "int8-tensor", { signal: third.signal });
      const reader = files[0].stream().getReader();
      await reader.read();
      third.abort("third");
      const failed = await (async () => {
        for (;;) if ((await reader.read()).done) return;
      })().catch((error) => error);
      assert.equal(failed, "third");
      assert.ok(file.bytesRead - bytesRead < file.size / 2, `${file.bytesRead} of ${file.size}`);
      const before = AbortSignal.abort("before");
      for (const work of [
        () => zp.openModel(bytes, { signal: before }),
        () => zp.quantizeModel(model, "keep", { signal: before }),
        () => rowsOf(zp.analyze(model, { signal: before })),
        () => zp.verify(model, model, { signal: before }),
      ]) {
        assert.equal(await work().catch((error) => error), "before");
      }
    });

    it("sends rows that are made while the next one has to wait", async () => {
      /** The rows that come before a read waits, which ends when the rows have come. */
      const before = async ({ openModel, analyze }, wanted) => {
        const file = longFile(8);
        const [isWaiting, isEnough] = [deferred(), deferred()];
        const read = async (offset, length) => {
          if (offset > file.size / 2) {
            isWaiting.resolve();
            await isEnough.promise;
          }
          return await file.read(offset, length);
        };
        const model = await openModel({ size: file.size, read });
        const found = [];
        const all = (async () => {
          for await (const { name } of analyze(model, { schemes: ["int8-tensor", "int4-g32"] })) {
            if (found.push(name) === wanted) isEnough.resolve();
          }
        })();
        await isWaiting.promise;
        const count = found.length;
        if (wanted === undefined) isEnough.resolve();
        await all;
        return count;
      };
      const count = await before(models);
      assert.ok(count >= 6, `${count} rows`);
      await before(zp, count);
    });

    it("ends later reads by the signal that a model was opened with", async () => {
      const stop = new AbortController();
      const model = await zp.openModel(longFile(8), { signal: stop.signal });
      await model.read("0.weight");
      const rows = zp.analyze(model, { schemes: ["int8-tensor"] });
      await rows.next();
      const { files } = await zp.quantizeModel(model, "keep");
      const reader = files[0].stream().getReader();
      await reader.read();
      stop.abort("closed");
      const isClosed = async (promise) =>
        assert.equal(await promise.catch((error) => error), "closed");
      await isClosed(model.read("1.weight"));
      await isClosed(model.tensors);
      await isClosed(rowsOf(rows));
      await isClosed(
        (async () => {
          for (;;) if ((await reader.read()).done) return;
        })(),
      );
    });

    it("stops working where a loop or a stream is left, and waits while it is not read", async () => {
      const file = longFile(64);
      const model = await zp.openModel(file);
      for await (const _ of zp.analyze(model, { schemes: ["int8-tensor"] })) break;
      const { files } = await zp.quantizeModel(model, "keep");
      const reader = files[0].stream().getReader();
      let taken = 0;
      let most = 0;
      const begin = file.bytesRead;
      for (let i = 0; i < 12; i++) {
        const { value } = await reader.read();
        taken += value.length;
        // Answers of the library to other calls: it has had its turn.
        for (let turn = 0; turn < 5; turn++) await model.format;
        most = Math.max(most, file.bytesRead - begin - taken);
      }
      assert.ok(most < 2 ** 23, `${most} bytes ahead`);
      await reader.cancel();
      await model.format;
      const { bytesRead } = file;
      for (let turn = 0; turn < 20; turn++) await model.format;
      assert.equal(file.bytesRead, bytesRead);
      assert.ok(bytesRead < file.size, `${bytesRead} of ${file.size}`);
    });

    it("runs other calls while rows are asked for, and several iterations at once", async () => {
      const model = await zp.openModel(bytes);
      const expected = await rowsOf(zp.analyze(model));
      const all = await Promise.all([
        rowsOf(zp.analyze(model)),
        rowsOf(zp.analyze(model)),
        rowsOf(zp.compare(model, model)),
        zp.quantize(small["a.weight"], { axis: 0 }),
      ]);
      sameDeep(all[0], expected);
      sameDeep(all[1], expected);
      assert.equal(
        all[2].every(({ equal }) => equal),
        true,
      );
    });

    it("runs both models where the caller's engine is", async () => {
      const file = await onnxModel({
        inputs: [{ name: "x", shape: ["n", 32] }],
        outputs: [{ name: "y", shape: ["n", 8] }],
        initializers: [constant("w", [32, 8], someValues(256))],
        nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
      });
      /** An engine whose quantized model gives 1 more, as a class with getters, and what it was given. */
      const engine = () => {
        const seen = [];
        class Output {
          type = "float32";
          dims = [2];
          #first;
          constructor(first) {
            this.#first = first;
          }
          get data() {
            return Float32Array.of(this.#first, 4);
          }
        }
        const verifyWith = async (model, settings) => {
          const index = seen.length;
          seen.push({ bytes: model.length, settings, feeds: [], released: 0 });
          return {
            async run(feeds) {
              seen[index].feeds.push(feeds);
              return { y: new Output(3 + index) };
            },
            async release() {
              seen[index].released++;
            },
          };
        };
        return { seen, verifyWith };
      };
      const x = { type: "float32", dims: [2, 32], data: Float32Array.from(someValues(64)) };
      for (const settings of [{ verifyInputs: { x } }, { verifySizes: { n: 3 } }]) {
        const [own, other] = [engine(), engine()];
        const direct = await models.quantizeModel(await models.openModel(file), "int8-channel", {
          ...settings,
          verifyWith: own.verifyWith,
        });
        const model = await zp.openModel(file);
        const result = await zp.quantizeModel(model, "int8-channel", {
          ...settings,
          verifyWith: other.verifyWith,
        });
        const expected = [{ name: "y", shape: [2], max: 1, sqnr: 10 * Math.log10(25) }];
        sameDeep(result.report.outputs, expected);
        sameDeep(direct.report.outputs, expected);
        sameDeep(other.seen, own.seen);
        assert.equal(other.seen.length, 2);
        assert.ok(other.seen.every(({ feeds }) => feeds.length === 1));
      }
    });

    it("takes and gives thousands of rows, 128 in a message at most, and texts in parts", async () => {
      const messages = [];
      /** The texts in a message. */
      const textsIn = (value) => {
        if (typeof value === "string") return value.startsWith("token") ? 1 : 0;
        if (Object(value) !== value || ArrayBuffer.isView(value)) return 0;
        return Object.values(value).reduce((sum, each) => sum + textsIn(each), 0);
      };
      /** The rows in a message. */
      const rowsIn = (value) => {
        if (Object(value) !== value || ArrayBuffer.isView(value)) return 0;
        if (Object.hasOwn(value, "scheme") && Object.hasOwn(value, "bytes")) return 1;
        return Object.values(value).reduce((sum, each) => sum + rowsIn(each), 0);
      };
      let mostTexts = 0;
      const watch = () => {
        const worker = new Worker(script);
        const { postMessage } = worker;
        worker.postMessage = (message, transfer) => {
          messages.push(rowsIn(message));
          postMessage.call(worker, message, transfer);
        };
        worker.on("message", (message) => {
          messages.push(rowsIn(message));
          mostTexts = Math.max(mostTexts, textsIn(message));
        });
        return worker;
      };
      const own = await connect({
        entries: ["models"],
        worker: options.worker === false ? false : watch,
      });
      try {
        const names = Array.from({ length: 400 }, (_, i) => `${i}.weight`);
        const file = await bytesOf(
          Object.fromEntries(names.map((name) => [name, tensor(someValues(256), [4, 64])])),
        );
        const direct = await models.openModel(file);
        const model = await own.openModel(file);
        const rows = await rowsOf(
          models.analyze(direct, { schemes: ["int8-channel", "int4-g32", "q4_0"] }),
        );
        assert.ok(rows.length > 1000, String(rows.length));
        const stored = await own.storedRows(model, rows);
        sameDeep(stored, await models.storedRows(direct, rows));
        sameDeep(await own.plan(stored, { ratio: 0.75 }), models.plan(stored, { ratio: 0.75 }));
        const some = new Set(rows);
        sameDeep(await own.frontier(some), models.frontier(rows));
        const { report } = await own.quantizeModel(model, "int8-channel");
        const expected = await models.quantizeModel(direct, "int8-channel");
        sameDeep(report, expected.report);
        const wrong = [...rows, { ...rows[0], bytes: -1 }];
        const problem = /rows\[\d+\]\.bytes/;
        await rejects(own.plan(wrong, { ratio: 0.75 }), RangeError, "ZP_INVALID_ROW", problem);
        const stopped = AbortSignal.abort(new Error("enough"));
        await assert.rejects(own.plan(rows, { ratio: 0.75 }, { signal: stopped }), /enough/);
        const tokens = Array.from({ length: 10_000 }, (_, i) => `token ${i}`);
        const gguf = layoutGGUF([], new Map([["tokens", ggufEntry("array", tokens, "string")]]));
        const { metadata } = await own.openModel(await collect(writeGGUF(gguf)));
        assert.deepEqual((await metadata).get("tokens"), tokens);
        assert.ok(mostTexts <= 4096, String(mostTexts));
        assert.ok(Math.max(0, ...messages) <= 128, String(Math.max(...messages)));
      } finally {
        own.dispose();
      }
    });

    it("takes inputs of weights as arrays, files and moments", async () => {
      const model = await zp.openModel(bytes);
      const direct = await models.openModel(bytes);
      const x = tensor(someValues(5 * 128, 3), [5, 128]);
      const settings = { schemes: ["int8-channel"], include: ["a.weight"] };
      const expected = await rowsOf(
        models.analyze(direct, { ...settings, activations: { "a.weight": x } }),
      );
      const moments = await zp.inputMoments(128);
      await moments.add(x);
      assert.equal(await moments.samples, 5);
      const { files } = await models.quantizeModel(
        await models.openModel(await bytesOf({ x })),
        "keep",
        { format: "npy" },
      );
      const npy = await outputBytes(files[0]);
      for (const given of [x, moments, npy, new Blob([npy]), [x]]) {
        const rows = await rowsOf(
          zp.analyze(model, { ...settings, activations: { "a.weight": given } }),
        );
        sameDeep(rows, expected);
      }
    });

    it("loads and saves", async () => {
      const layer = new Sequential({ fc: new Linear(small["b.weight"]) });
      const loaded = await zp.load(await bytesOf({ layer }));
      const input = tensor(someValues(64), [1, 64]);
      sameTensor(await loaded.layer.forward(input), layer.forward(input));
      const saved = new Uint8Array(await new Response(await zp.save(loaded.layer)).arrayBuffer());
      sameCodes(saved, await bytesOf(layer));
    });
  });
}

function deferred() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe("a connection whose worker ends", () => {
  it("rejects rows, streams and reads with ZP_WORKER_LOST, and opens files again", async () => {
    const workers = [];
    const worker = () => {
      workers.push(new Worker(script));
      return workers.at(-1);
    };
    const zp = await connect({ worker, entries: ["models"] });
    try {
      const file = longFile(40);
      const model = await zp.openModel(file);
      const rows = zp.analyze(model, { schemes: ["int8-tensor"] });
      await rows.next();
      const { files } = await zp.quantizeModel(model, "int8-tensor");
      const reader = files[0].stream().getReader();
      await reader.read();
      await workers[0].terminate();
      const lost = (promise) => rejects(promise, Error, "ZP_WORKER_LOST", /worker/);
      await lost(rowsOf(rows));
      await lost(
        (async () => {
          for (;;) if ((await reader.read()).done) return;
        })(),
      );
      await lost(model.read("0.weight"));
      await lost(zp.quantizeModel(model, "keep"));
      await lost(rowsOf(zp.analyze(model)));
      const again = await zp.openModel(bytes);
      sameTensor(await again.read("a.bias"), small["a.bias"]);
      assert.equal(workers.length, 2);
      const pending = rowsOf(zp.analyze(await zp.openModel(longFile(40))));
      pending.catch(() => {});
      await again.format;
      zp.dispose();
      await rejects(pending, TypeError, "ZP_DISPOSED", /disposed/);
      await rejects(again.read("a.bias"), TypeError, "ZP_DISPOSED", /disposed/);
      await rejects(zp.openModel(bytes), TypeError, "ZP_DISPOSED", /disposed/);
    } finally {
      zp.dispose();
    }
  });

  it("needs the script with the entry, and has no function of it otherwise", async () => {
    const worker = () => new Worker(new URL("worker.js", script));
    const connecting = connect({ worker, entries: ["models"] });
    await rejects(connecting, TypeError, "ZP_INVALID_OPTION", /zeropoint\/models-worker\.js/);
    const zp = await connect({ worker });
    assert.equal(zp.openModel, undefined);
    assert.equal(typeof zp.load, "function");
    zp.dispose();
  });
});
