// verifyOutput: a file passes only with the bytes and values that the model gives.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { compare, openModel, quantizeModel, verifyOutput } from "zeropoint/models";
import { rejects } from "../../support/asserts.mjs";
import {
  bfloat16Of,
  openOutput,
  safetensorsOf,
  someValues,
} from "../../support/files/checkpoints.mjs";

await init();

/** A safetensors file, in bfloat16, float32 and integers. */
const someFile = () =>
  safetensorsOf({
    "a.weight": ["bfloat16", [700, 512], bfloat16Of(someValues(700 * 512))],
    "b.weight": ["float32", [96, 64], someValues(96 * 64, 7)],
    "norm.weight": ["float32", [64], someValues(64, 9)],
    ids: ["int64", [2], BigInt64Array.of(2n ** 60n, 5n)],
  });

const someModel = async () => await openModel(await someFile());

/** A model whose source gives zeros for values while `isZero` says so. */
async function changingModel() {
  const bytes = await someFile();
  const headerEnd = 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const source = {
    size: bytes.length,
    isZero: false,
    read: (offset, length) => {
      const part = bytes.slice(offset, offset + length);
      return source.isZero ? part.fill(0, Math.max(0, headerEnd - offset)) : part;
    },
  };
  return { source, model: await openModel(source) };
}

const bytesOf = async ({ stream }) => new Uint8Array(await new Response(stream()).arrayBuffer());

async function filesOf({ files }) {
  const written = new Map();
  for (const file of files) written.set(file.name, await bytesOf(file));
  return written;
}

describe("verifyOutput", () => {
  for (const [scheme, options] of [
    ["int4-g32", {}],
    ["uint8-tensor-affine", {}],
    ["int4-g64", { target: "mlx" }],
    ["w4a16", { target: "compressed-tensors" }],
    ["w8a8", { target: "compressed-tensors" }],
    ["bfloat16", {}],
    ["q8_0", { format: "gguf" }],
  ]) {
    it(`reads all tensors again: ${scheme} ${JSON.stringify(options)}`, async () => {
      const model = await someModel();
      const result = await quantizeModel(model, scheme, options);
      const { total, read, max, sqnr, rows, problems } = await verifyOutput(model, result);
      assert.deepEqual([total, read, problems], [4, 4, []]);
      assert.ok(max > 0 && sqnr > 10, `${max} ${sqnr}`);
      const small = await openOutput(openModel, result.files);
      for await (const row of compare(model, small)) {
        const own = rows.find(({ name }) => name === row.name);
        if (own !== undefined) assert.deepEqual(own, row);
      }
      const written = await filesOf(result);
      const again = await verifyOutput(model, result, { written: (name) => written.get(name) });
      assert.deepEqual([again.read, again.problems, again.rows], [4, [], rows]);
    });
  }

  it("refuses results of others", async () => {
    const model = await someModel();
    await rejects(
      () => verifyOutput(model, { files: [] }),
      TypeError,
      "ZP_INVALID_OPTION",
      /result/,
    );
  });

  it("refuses a progress function that is none, before it reads", async () => {
    const model = await someModel();
    const result = await quantizeModel(model, "float16");
    await rejects(
      verifyOutput(model, result, { onProgress: 5 }),
      TypeError,
      "ZP_INVALID_FUNCTION",
      "verifyOutput: options.onProgress must be a function, got 5",
    );
  });

  it("finds values that were zero while the files were streamed", async () => {
    for (const [scheme, options] of [
      ["int4-g32", {}],
      ["float16", {}],
      ["q4_k", { format: "gguf" }],
    ]) {
      const { source, model } = await changingModel();
      const result = await quantizeModel(model, scheme, options);
      source.isZero = true;
      const written = await filesOf(result);
      source.isZero = false;
      const known = await verifyOutput(model, result);
      assert.match(known.problems[0], /^model[\w.-]*: bytes \d+-\d+ are not those that its stream/);
      const { problems } = await verifyOutput(model, await quantizeModel(model, scheme, options), {
        written: (name) => written.get(name),
      });
      assert.match(problems[0], /^model[\w.-]* differs at byte \d+ from what its source gives$/);
      assert.ok(problems.some((problem) => /^a\.weight: SQNR 0\.0 dB: its values/.test(problem)));
      assert.ok(problems.includes("norm.weight: kept, but it differs"), String(problems));
    }
  });

  it("finds values that are zero while the files are compared: -Infinity dB", async () => {
    const { source, model } = await changingModel();
    const result = await quantizeModel(model, "int8-channel");
    const written = await filesOf(result);
    source.isZero = true;
    for (const options of [{}, { written: (name) => written.get(name) }]) {
      const { problems, sqnr } = await verifyOutput(model, result, options);
      assert.ok(problems.length > 0);
      if (options.written === undefined) continue;
      assert.equal(sqnr, -Infinity);
      assert.ok(problems.some((problem) => problem.startsWith("a.weight: SQNR -Infinity dB: ")));
    }
  });

  it("finds values that change between two readings, before any file was streamed", async () => {
    for (const count of [1, 2, 3, 4, 5, 6]) {
      const { source, model } = await changingModel();
      const result = await quantizeModel(model, "int8-channel");
      // The tensor of 700 KiB is read once for each making of the file, and once to compare it.
      let reads = 0;
      const { read } = source;
      source.read = (offset, length) => {
        if (length > 2 ** 16) reads++;
        source.isZero = length > 2 ** 16 && reads === count;
        return read(offset, length);
      };
      const { problems } = await verifyOutput(model, result);
      assert.equal(problems.length > 0, count <= reads, `reading ${count} of ${reads}`);
      if (count > reads) break;
    }
  });

  it("compares each byte of written files, in the header too, and their sizes", async () => {
    const model = await someModel();
    const result = await quantizeModel(model, "int8-channel");
    const [[name, bytes]] = await filesOf(result);
    const verify = (file) => verifyOutput(model, result, { written: () => file });
    for (const place of [bytes.length - 1, 5000]) {
      const wrong = bytes.slice();
      wrong[place] ^= 1;
      const { problems } = await verify(wrong);
      assert.ok(problems.includes(`${name} differs at byte ${place} from what its source gives`));
    }
    const size = `${name} has ${bytes.length + 1} bytes instead of ${bytes.length}`;
    const long = new Uint8Array(bytes.length + 1);
    long.set(bytes);
    const { total, read, problems } = await verify(long);
    assert.deepEqual([total, read, problems[0]], [4, 0, size]);
    assert.match(problems[1], /^model\S* cannot be read: .*expected/);
    await rejects(verify(5), TypeError, "ZP_INVALID_OPTION", /source/);
  });

  it("holds quantized tensors to minSqnr, and kept ones to equality", async () => {
    const model = await someModel();
    const result = await quantizeModel(model, "int4-g32");
    const { problems } = await verifyOutput(model, result, { minSqnr: 40 });
    assert.equal(problems.length, 2);
    assert.match(problems[0], /^[ab]\.weight: SQNR 2\d\.\d dB is below options\.minSqnr 40$/);
    for (const minSqnr of [Number.NaN, "40", Infinity]) {
      await assert.rejects(verifyOutput(model, result, { minSqnr }), { code: "ZP_INVALID_OPTION" });
    }
    await rejects(
      verifyOutput(model, result, { written: "model.safetensors" }),
      TypeError,
      "ZP_INVALID_FUNCTION",
      /options\.written must be a function/,
    );
  });

  it("takes NaN of a kept precision for no difference", async () => {
    const values = someValues(32 * 32);
    values[7] = Number.NaN;
    const model = await openModel(
      await safetensorsOf({ "a.weight": ["float32", [32, 32], values] }),
    );
    const { problems, sqnr } = await verifyOutput(model, await quantizeModel(model, "float16"));
    assert.deepEqual([problems, sqnr > 60], [[], true]);
  });
});
