// Files that a model's file names: none outside of its folder, whatever their names and wherever the model is.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { init } from "zeropoint";
import { openModel } from "zeropoint/models";
import { addressBeside, checkRelativePath } from "../../../internal/formats.mjs";
import { refuses, rejects } from "../../support/asserts.mjs";
import { safetensorsOf } from "../../support/files/checkpoints.mjs";
import { constant, onnxModel } from "../../support/onnx/models.mjs";

await init();

const SHARD = "w.safetensors";
const shard = await safetensorsOf({ w: ["float32", [1], Float32Array.of(5)] });
const json = (value) => new TextEncoder().encode(JSON.stringify(value));

/** Names that lead, or led, out of the folder. @param origin  of another server */
const names = (origin) => [
  `../${SHARD}`,
  `a/../../${SHARD}`,
  `..\\${SHARD}`,
  `%2e%2e/${SHARD}`,
  `%2E%2e/${SHARD}`,
  `.%2e/${SHARD}`,
  `%2e./${SHARD}`,
  `%252e%252e/${SHARD}`,
  `..%2f${SHARD}`,
  `..%5c${SHARD}`,
  `.\t./${SHARD}`,
  `.\n./${SHARD}`,
  `.\r.\\${SHARD}`,
  `.. /${SHARD}`,
  `../${SHARD}?`,
  `../${SHARD}#`,
  `/${SHARD}`,
  `\\${SHARD}`,
  `\t/${SHARD}`,
  ` /${SHARD}`,
  `\u0000/${SHARD}`,
  `\u0001/${SHARD}`,
  `${origin}/${SHARD}`,
  ` ${origin}/${SHARD}`,
  `\t${origin}/${SHARD}`,
  `\u0001${origin}/${SHARD}`,
  `./ ${origin}/${SHARD}`,
  `h\tttp${origin.slice(4)}/${SHARD}`,
  `ht\ntp${origin.slice(4)}/${SHARD}`,
  `${origin.slice(5)}/${SHARD}`,
  `\\\\${origin.slice(7)}/${SHARD}`,
  `/\t/${origin.slice(7)}/${SHARD}`,
  `./${origin}/${SHARD}`,
  `C:\\${SHARD}`,
  `file:///${SHARD}`,
  `\ufeff/${SHARD}`,
  "",
  ".",
  "./",
  "a/..",
  "...",
];

/** Names that stay in the folder, and their normal forms. */
const INSIDE = [
  ["a", "a"],
  ["./a", "a"],
  ["././/a", "a"],
  ["b/./a", "b/a"],
  ["b\\a", "b/a"],
  ["..a", "..a"],
  ["a..", "a.."],
  ["a b#1?x=100%.bin", "a b#1?x=100%.bin"],
  ["ä+&=@(1).bin", "ä+&=@(1).bin"],
];

describe("files beside a model's file", () => {
  let folder;
  const asked = [];
  const servers = [];
  const origins = [];
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "zeropoint-beside-"));
    mkdirSync(join(folder, "in"));
    writeFileSync(join(folder, SHARD), shard);
    for (const own of [true, false]) {
      const server = createServer(({ url }, response) => {
        asked.push({ own, url });
        try {
          response.end(readFileSync(join(folder, decodeURIComponent(url.replace(/\?.*/, "")))));
        } catch {
          response.writeHead(404).end();
        }
      });
      servers.push(server);
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      origins.push(`http://127.0.0.1:${server.address().port}`);
    }
  });
  after(() => {
    rmSync(folder, { recursive: true });
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  });

  const formatOf = (file) =>
    ({ "model.json": "tfjs", "model.onnx": "onnx" })[file] ?? "safetensors";

  /** Files that name another one, by format: their name, and their bytes for that name. */
  const namedBy = {
    "model.safetensors.index.json": async (name) => json({ weight_map: { w: name } }),
    "model.json": async (name) =>
      json({
        weightsManifest: [
          { paths: [name], weights: [{ name: "w", shape: [1], dtype: "float32" }] },
        ],
      }),
    "model.onnx": async (name) =>
      await onnxModel({
        nodes: [],
        initializers: [
          {
            ...constant("w", [1], new Float32Array(1)),
            place: { location: name, offset: 0, length: 4 },
          },
        ],
        inputs: [],
        outputs: [],
      }),
  };

  for (const [file, make] of Object.entries(namedBy)) {
    it(`are none outside of its folder: ${file}`, async () => {
      const path = join(folder, "in", file);
      for (const name of names(origins[1])) {
        writeFileSync(path, await make(name));
        const places = [path, pathToFileURL(path), `${origins[0]}/in/${file}?q=/#/`];
        for (const place of places) {
          asked.length = 0;
          const shown = `${JSON.stringify(name)} beside ${place}`;
          const reading = openModel(place, { format: formatOf(file) }).then((model) =>
            model.read("w"),
          );
          await rejects(reading, RangeError, "ZP_INVALID_FILE", /a relative path without \.\./);
          for (const { own, url } of asked) assert.ok(own && url.startsWith("/in/"), shown);
        }
        // A function that puts addresses together gets no such name, either.
        const externalData = (path) => assert.fail(path);
        const reading = openModel(await make(name), {
          ...{ externalData, format: formatOf(file) },
        }).then((model) => model.read("w"));
        await rejects(reading, RangeError, "ZP_INVALID_FILE", /a relative path without \.\./);
      }
    });
  }

  it("have names with any signs that a file can have, at addresses, too", async () => {
    const name = "a b#1?x=100%25 ä+&@.safetensors";
    const path = join(folder, "in", "model.safetensors.index.json");
    writeFileSync(path, json({ weight_map: { w: `./sub\\${name}` } }));
    mkdirSync(join(folder, "in", "sub"), { recursive: true });
    writeFileSync(join(folder, "in", "sub", name), shard);
    const address = `${origins[0]}/in/model.safetensors.index.json`;
    for (const place of [path, pathToFileURL(path), address, `${address}?token=a/b`]) {
      const model = await openModel(place, { format: "safetensors" });
      assert.deepEqual([...(await model.read("w")).data], [5], String(place));
      await model.close();
    }
  });

  it("are not looked for where a Blob's name seems to be a path", async () => {
    const name = join(folder, "in", "model.safetensors.index.json");
    const file = new File([json({ weight_map: { w: SHARD } })], name);
    writeFileSync(join(folder, "in", SHARD), shard);
    await rejects(openModel(file), RangeError, "ZP_UNSUPPORTED_FILE", /options\.externalData/);
  });

  it("are not looked for beside data: and blob: addresses", async () => {
    const bytes = json({ weight_map: { w: SHARD } });
    const blob = URL.createObjectURL(new Blob([bytes]));
    const data = `data:application/json;base64,${Buffer.from(bytes).toString("base64")}`;
    for (const address of [blob, data]) {
      const reading = openModel(address, { format: "safetensors" });
      await rejects(reading, RangeError, "ZP_UNSUPPORTED_FILE", /options\.externalData/);
    }
    URL.revokeObjectURL(blob);
  });

  it("are opened once by all names of one file", async () => {
    const weights = ["a", "./a", "././a", ".//a", ".\\a"].map((name, i) => [`w${i}`, name]);
    const shard = await safetensorsOf(
      Object.fromEntries(weights.map(([w], i) => [w, ["float32", [1], Float32Array.of(i)]])),
    );
    const opened = [];
    const externalData = (path) => opened.push(path) && shard;
    const model = await openModel(json({ weight_map: Object.fromEntries(weights) }), {
      ...{ externalData, format: "safetensors" },
    });
    assert.deepEqual(
      opened.filter((path) => !path.endsWith(".json")),
      ["a"],
    );
    assert.deepEqual([...(await model.read("w3")).data], [3]);
  });
});

describe("checkRelativePath", () => {
  it("gives each file one form", () => {
    for (const [path, normal] of INSIDE) assert.equal(checkRelativePath("f", 0, path), normal);
    for (const path of [...names("http://example.org"), "\ud800", "a\udc00b"]) {
      refuses(
        () => checkRelativePath("f", 7, path),
        RangeError,
        "ZP_INVALID_FILE",
        /^f: at byte 7/,
      );
    }
  });
});

describe("addressBeside", () => {
  it("gives an address in the folder of an address, or of a page", () => {
    const folders = ["http://h/f/", "file:///f/", "f/", "/f/", "//h/f/", "./", ""];
    for (const folder of folders) {
      for (const query of ["", "?q=/x/y", "#/x", "?#/x"]) {
        for (const [, path] of INSIDE) {
          const address = addressBeside(`${folder}m.onnx${query}`, path);
          assert.equal(decodeURIComponent(address), folder + path);
          assert.ok(!/[?#\\: ]/.test(address.slice(folder.length)), address);
        }
      }
    }
    // Whatever it is called with.
    for (const path of names("http://example.org")) {
      const address = addressBeside("http://h/f/m.onnx", path) ?? "http://h/f/x";
      assert.ok(new URL(address).href.startsWith("http://h/f/"), address);
    }
  });
});
