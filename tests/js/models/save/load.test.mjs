import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { dequantize, init, quantize, tensor } from "zeropoint";
import { load, openModel, save } from "zeropoint/models";
import {
  convert,
  getDefaultQConfig,
  predefinedQConfigs,
  prepare,
  QConfigMapping,
  quantizeDynamic,
  WeightOnlyQConfig,
} from "zeropoint/torch";
import { fuzzLimits } from "../../support/arbitraries.mjs";
import { rejects, sameTensor } from "../../support/asserts.mjs";
import { safetensorsOf } from "../../support/files/checkpoints.mjs";
import { bytesOf, openBytes, withStructure } from "../../support/files/saved.mjs";
import { batches, makeModel, weights, x } from "../../support/models.mjs";

await init();

const model = quantizeDynamic(makeModel(), new WeightOnlyQConfig({ dtype: "int4", groupSize: 4 }));
const bytes = await bytesOf(model);
const expected = model.forward(x);
const same = async (source, options) => {
  sameTensor((await load(source, options)).forward(x), expected);
};

describe("load", () => {
  let made;
  /** A folder for files, made by the first test that needs it. */
  const folder = () => (made ??= mkdtempSync(join(tmpdir(), "zeropoint-load-")));
  after(() => made && rmSync(made, { recursive: true, force: true }));

  it("takes bytes, and does not keep them", async () => {
    const given = bytes.slice();
    const restored = await load(given);
    given.fill(0);
    sameTensor(restored.forward(x), expected);
    const shifted = new Uint8Array(bytes.length + 3);
    shifted.set(bytes, 3);
    await same(shifted.subarray(3));
    await same(bytes.slice().buffer);
  });

  it("takes zero points of 32 bits, which earlier files have", async () => {
    const q = quantize(tensor([-1, 0, 3]), { dtype: "uint8", scheme: "affine" });
    const { dataOf, metadata } = openBytes(await bytesOf(q));
    const names = ["tensor", "tensor_scale"];
    const file = await safetensorsOf(
      {
        [names[0]]: ["uint8", [3], dataOf(names[0])],
        [names[1]]: ["float32", [1], dataOf(names[1])],
        tensor_zero_point: ["int32", [1], Int32Array.of(q.zeroPoint)],
      },
      Object.entries(metadata),
    );
    const restored = await load(file);
    assert.deepEqual([restored.zeroPoint, restored.data], [q.zeroPoint, q.data]);
    const opened = await openModel(file);
    assert.deepEqual((await opened.read("tensor")).data, dequantize(q).data);
  });

  it("takes streams, responses, blobs and promises of them", async () => {
    await same(save(model));
    await same(new Response(save(model)));
    await same(Promise.resolve(new Response(bytes)));
    await same(new Blob([bytes]));
    await same(new Blob([bytes]).stream());
    await same({ size: bytes.length, read: (at, length) => bytes.slice(at, at + length) });
  });

  it("takes paths and file URLs of Node", async () => {
    const path = join(folder(), "model.safetensors");
    await writeFile(path, save(model));
    await same(path);
    await same(pathToFileURL(path));
    await rejects(
      load(join(folder(), "none")),
      Error,
      "ZP_LOAD_FAILED",
      /none could not be opened/,
    );
    await rejects(load(folder()), Error, "ZP_LOAD_FAILED", /no file|could not be opened/);
  });

  it("takes addresses, by ranges where the server has them", async () => {
    const ranges = [];
    const server = createServer(({ url, headers }, response) => {
      if (url === "/none") return response.writeHead(404).end("nothing");
      const [, from, to] = /bytes=(\d+)-(\d+)/.exec(headers.range ?? "") ?? [];
      if (url === "/whole" || from === undefined) return response.end(bytes);
      ranges.push([Number(from), Number(to)]);
      const end = Math.min(bytes.length, Number(to) + 1);
      response.writeHead(206, { "content-range": `bytes ${from}-${end - 1}/${bytes.length}` });
      response.end(bytes.subarray(Number(from), end));
    });
    await new Promise((resolve) => server.listen(0, resolve));
    const at = `http://127.0.0.1:${server.address().port}`;
    try {
      await same(`${at}/ranges`);
      assert.deepEqual(ranges[0], [0, 65535]);
      await same(new URL(`${at}/whole`));
      await same(fetch(`${at}/whole`));
      await fetch(`${at}/whole`).then(load);
      await rejects(load(`${at}/none`), Error, "ZP_LOAD_FAILED", /answers 404/);
      await rejects(load(fetch(`${at}/none`)), Error, "ZP_LOAD_FAILED", /answers 404/);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  it("stops when its signal is aborted", async () => {
    const reason = new Error("enough");
    await assert.rejects(load(bytes, { signal: AbortSignal.abort(reason) }), reason);
    const stop = new AbortController();
    const slow = {
      size: bytes.length,
      read: (at, length) => {
        stop.abort(reason);
        return bytes.slice(at, at + length);
      },
    };
    await assert.rejects(load(slow, { signal: stop.signal }), reason);
  });

  it("refuses other sources and options", async () => {
    for (const source of [1, null, undefined, {}, new Float32Array(3), []]) {
      await rejects(load(source), TypeError, "ZP_INVALID_OPTION", /^load: source must be a path/);
    }
    await rejects(load(bytes, { function: {} }), TypeError, "ZP_UNKNOWN_OPTION", /did you mean/);
    await rejects(load(bytes, { functions: [] }), TypeError, "ZP_INVALID_OPTIONS", /functions/);
  });

  it("reports a file that save did not write, or a later version wrote", async () => {
    const file = (structure) => withStructure(bytes, () => structure);
    const bad = [
      [file("{"), /expected JSON/],
      [file({ version: 0 }), /expected version 1 in __metadata__, found 0/],
      [file("null"), /expected version 1/],
      [file({ version: 1 }), /expected a kind of things for zeropoint\.kind/],
    ];
    for (const [each, message] of bad) {
      await rejects(load(each), RangeError, "ZP_INVALID_FILE", message);
    }
    await rejects(load(file({ version: 2 })), RangeError, "ZP_UNSUPPORTED_FILE", /version 2/);
    const text = new TextEncoder().encode("no safetensors at all, but a text");
    await rejects(load(text), RangeError, "ZP_INVALID_FILE", /expected the header/);
  });
});

/** The paths of all fields of a structure: lists of keys. */
function* pathsOf(value, path = []) {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    const own = [...path, key];
    yield own;
    yield* pathsOf(value[key], own);
  }
}

/** Codes of errors that a file may cause. */
const ALLOWED = ["ZP_INVALID_FILE", "ZP_UNSUPPORTED_FILE", "ZP_INVALID_FUNCTION"];

/** Loads a file and uses the result: any error must be an error of a file. */
async function survive(file) {
  let thing;
  try {
    thing = await load(file);
  } catch (error) {
    assert.ok(error instanceof RangeError || error instanceof TypeError, error.stack);
    assert.ok(ALLOWED.includes(error.code), error.stack);
    return false;
  }
  try {
    thing.forward?.(x);
    String(thing);
  } catch (error) {
    assert.match(String(error.code), /^ZP_/, error.stack);
  }
  thing.dispose?.();
  return true;
}

describe("A file that was changed", () => {
  const files = [];
  const prepareFiles = async () => {
    const mapping = new QConfigMapping()
      .setGlobal(predefinedQConfigs.default_qconfig)
      .setModuleNameRegex("f", null);
    const quantized = quantize(weights.fc1, { dtype: "uint4", scheme: "affine", groupSize: 4 });
    const things = [
      makeModel(),
      model,
      prepare(makeModel(), getDefaultQConfig("x86")).calibrate(batches),
      convert(prepare(makeModel(), predefinedQConfigs.default_qconfig).calibrate(batches)),
      quantizeDynamic(makeModel()),
      { mapping, quantized, list: [x, quantize(x)] },
    ];
    for (const thing of things) files.push(await bytesOf(thing));
  };

  it("is refused or works, with any part of its structure missing or replaced", async () => {
    await prepareFiles();
    const values = [undefined, null, -1, 0, 3, 2 ** 40, 1.5, "", "fc1.weight", [], {}, true, "NaN"];
    let refused = 0;
    for (const file of files) {
      const paths = [...pathsOf(openBytes(file).structure)];
      const step = Math.ceil(paths.length / 40);
      for (let at = 0; at < paths.length; at += step) {
        const key = paths[at].at(-1);
        for (const value of values) {
          const changed = withStructure(file, (structure) => {
            const holder = paths[at].slice(0, -1).reduce((outer, name) => outer[name], structure);
            if (value === undefined && !Array.isArray(holder)) delete holder[key];
            else holder[key] = value;
          });
          if (!(await survive(changed))) refused++;
        }
      }
    }
    assert.ok(refused > 300, `${refused} were refused`);
  });

  it("is refused or works, with any bytes changed, added or missing", async () => {
    const edit = fc.record({
      file: fc.nat(files.length - 1),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      inHeader: fc.boolean(),
      put: fc.uint8Array({ maxLength: 4 }),
      remove: fc.nat(4),
    });
    const check = async ({ file, at, inHeader, put, remove }) => {
      const given = files[file];
      const end = inHeader ? openBytes(given).length + 8 : given.length;
      const place = Math.floor(at * end);
      const parts = [given.subarray(0, place), put, given.subarray(place + remove)];
      await survive(new Uint8Array(await new Blob(parts).arrayBuffer()));
    };
    await fc.assert(fc.asyncProperty(edit, check), fuzzLimits(1, 1500));
  });

  it("is refused for unlimited nesting, and for small files that need much memory", async () => {
    const nested = (depth) => {
      let text = '{"kind":"ReLU"}';
      for (let i = 0; i < depth; i++) text = `{"kind":"Sequential","layers":[["a",${text}]]}`;
      return withStructure(bytes, () => `{"version":1,"thing":${text}}`);
    };
    for (const depth of [80, 200_000]) {
      await rejects(load(nested(depth)), RangeError, "ZP_INVALID_FILE", /levels|JSON/);
    }
    const observer = { kind: "observer", class: "HistogramObserver", options: { bins: 2 ** 20 } };
    const many = { kind: "list", items: Array(1000).fill({ ...observer, state: {} }) };
    const file = withStructure(bytes, () => ({ version: 1, thing: many }));
    await rejects(load(file), RangeError, "ZP_INVALID_FILE", /json\.state|memory/);
  });

  it("is refused if a tensor is used twice, or not at all", async () => {
    const twice = withStructure(files[0], ({ thing }) => {
      thing.layers[0][1].bias = thing.layers[0][1].weight;
    });
    await rejects(load(twice), RangeError, "ZP_INVALID_FILE", /not used before/);
    const unused = withStructure(files[0], ({ thing }) => {
      delete thing.layers[0][1].bias;
    });
    await rejects(load(unused), RangeError, "ZP_INVALID_FILE", /a use of every tensor.*fc1\.bias/);
  });
});
