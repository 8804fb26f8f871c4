import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import * as zeropoint from "zeropoint";
import * as slim from "zeropoint/slim";
import { examineEngine } from "../internal/core.mjs";
import { rejects } from "./support/asserts.mjs";
import { addressOf, bytesOf, serveBinaries } from "./support/binaries.mjs";

const { create, tensor } = slim;
const best = examineEngine().relaxed === true ? "relaxed" : "baseline";

/** Asserts that an instance has this build and computes. */
function runs(instance, build, threads = 1) {
  assert.equal(instance.build, build);
  assert.equal(instance.threads, threads);
  assert.deepEqual([...instance.quantize(tensor([1, 2])).data], [64, 127]);
  instance.dispose();
}

describe("zeropoint/slim", () => {
  let server;
  let site;
  before(async () => {
    server = await serveBinaries();
    ({ site } = server);
  });
  after(() => server.close());

  it("has the same exports as zeropoint", () => {
    assert.deepEqual(Object.keys(slim), Object.keys(zeropoint));
    assert.equal(slim.quantize, zeropoint.quantize);
  });

  it("reports that it needs a binary", async () => {
    const message = /options\.wasm is needed, for zeropoint\/slim brings no binary of its own/;
    await rejects(slim.init(), TypeError, "ZP_INVALID_OPTION", message);
    await rejects(create({ build: "baseline" }), TypeError, "ZP_INVALID_OPTION", message);
  });

  it("takes bytes and their views", async () => {
    const bytes = await bytesOf("baseline.wasm");
    const padded = new Uint8Array(bytes.length + 20);
    padded.set(bytes, 10);
    runs(await create({ wasm: padded.subarray(10, 10 + bytes.length) }), "baseline");
    runs(await create({ wasm: new Uint8Array(bytes).buffer }), "baseline");
  });

  it("takes a compiled module, for several instances", async () => {
    const wasm = await WebAssembly.compile(await bytesOf("baseline.wasm"));
    const instances = await Promise.all([create({ wasm }), create({ wasm, build: "baseline" })]);
    for (const instance of instances) runs(instance, "baseline");
  });

  it("takes a URL of a file, and of a server", async () => {
    runs(await create({ wasm: addressOf("baseline.wasm") }), "baseline");
    runs(await create({ wasm: addressOf("baseline.wasm").href }), "baseline");
    runs(await create({ wasm: new URL(`${site}/right/baseline.wasm`) }), "baseline");
    runs(await create({ wasm: `${site}/wrong/baseline.wasm` }), "baseline");
  });

  it("takes a response, whatever its MIME type", async () => {
    for (const how of ["right", "wrong", "parameter"]) {
      runs(await create({ wasm: fetch(`${site}/${how}/baseline.wasm`) }), "baseline");
      runs(await create({ wasm: await fetch(`${site}/${how}/baseline.wasm`) }), "baseline");
    }
  });

  it("takes bytes in every type of view, also in the middle of a buffer", async () => {
    const bytes = await bytesOf("baseline.wasm");
    const padded = new Uint8Array(bytes.length + 24);
    padded.set(bytes, 8);
    const views = [
      new DataView(padded.buffer, 8, bytes.length),
      new Uint8Array(padded.buffer, 8, bytes.length),
      new Int8Array(padded.buffer, 8, bytes.length),
      padded.slice(8, 8 + bytes.length).buffer,
    ];
    for (const wasm of views) runs(await create({ wasm }), "baseline");
    runs(await create({ build: "baseline", wasm: () => views[0] }), "baseline");
  });

  it("reports truncated bytes, at any length and with any engine", async () => {
    for (const file of ["baseline.wasm", "relaxed-threads.wasm"]) {
      const bytes = new Uint8Array(await bytesOf(file));
      const lengths = [9, 10, 12, 50, 1000, ...endsBeforeCode(bytes)];
      for (const length of [...lengths, bytes.length / 2, bytes.length - 1]) {
        const cut = bytes.slice(0, length);
        await rejects(
          create({ wasm: cut }),
          Error,
          "ZP_LOAD_FAILED",
          /^create: the binary in options\.wasm could not be loaded: it ends early: it has \d+ of at least \d+ bytes$/,
        );
      }
    }
  });

  it("calls a function for the file of the build that fits the engine", async () => {
    const files = [];
    const wasm = (file) => {
      files.push(file);
      return bytesOf(file);
    };
    runs(await create({ wasm }), best);
    runs(await create({ wasm, build: "baseline" }), "baseline");
    runs(await create({ wasm, threads: 2 }), best, 2);
    assert.deepEqual(files, [`${best}.wasm`, "baseline.wasm", `${best}-threads.wasm`]);
  });

  it("runs threads with a binary that has them, and gives the reason otherwise", async () => {
    runs(await create({ wasm: addressOf("baseline-threads.wasm"), threads: 3 }), "baseline", 3);
    runs(await create({ wasm: addressOf("baseline-threads.wasm") }), "baseline", 1);
    const single = await create({ wasm: addressOf("baseline.wasm"), threads: 3 });
    assert.equal(single.reason, 'options.wasm is "baseline", which has no threads');
    runs(single, "baseline", 1);
  });

  it("runs the relaxed build where the engine computes it correctly, and refuses it elsewhere", async () => {
    const wasm = addressOf("relaxed.wasm");
    if (best === "relaxed") return runs(await create({ wasm }), "relaxed");
    // Without relaxed SIMD an engine does not compile the binary; others compile it but compute wrong results.
    // The function receives the name of the requested file, which shows whether the engine can compile this one.
    const why = /this engine (has no|computes) relaxed SIMD.*, which the "relaxed" build needs$/;
    const other = 'create: options.wasm gave "relaxed" for "baseline.wasm"';
    for (const given of [wasm, await bytesOf("relaxed.wasm"), () => wasm]) {
      await assert.rejects(create({ wasm: given }), ({ code, message }) => {
        if (typeof given === "function" && code === "ZP_BUILD_UNAVAILABLE") {
          assert.equal(message, other);
        } else {
          assert.ok(["ZP_UNSUPPORTED_ENGINE", "ZP_LOAD_FAILED"].includes(code), code);
          assert.match(message, why);
        }
        return true;
      });
    }
  });

  it("refuses a binary of another build", async () => {
    const wasm = addressOf("baseline.wasm");
    const code = "ZP_BUILD_UNAVAILABLE";
    if (best === "relaxed") {
      const message = 'create: options.build is "relaxed", and options.wasm is "baseline"';
      await rejects(create({ wasm, build: "relaxed" }), RangeError, code, message);
    }
    await rejects(
      create({ wasm: () => addressOf("baseline-threads.wasm"), build: "baseline" }),
      RangeError,
      code,
      'create: options.wasm gave "baseline-threads" for "baseline.wasm"',
    );
    const empty = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
    await rejects(
      create({ wasm: empty }),
      RangeError,
      code,
      "create: options.wasm is not zeropoint's core",
    );
  });

  it("refuses the binary of another version", async () => {
    const bytes = await bytesOf("baseline.wasm");
    const manifest = new URL("../../package.json", import.meta.url);
    const { version } = JSON.parse(await readFile(manifest, "utf8"));
    const at = new TextDecoder("latin1").decode(bytes).lastIndexOf(`${version} baseline`);
    bytes[at] += 1;
    await rejects(
      create({ wasm: bytes }),
      RangeError,
      "ZP_BUILD_UNAVAILABLE",
      /^create: options\.wasm is the core of zeropoint "1\.\d+\.\d+ baseline", this is 0\./,
    );
  });

  const fails = (wasm, reason) =>
    rejects(create({ wasm, build: "baseline" }), Error, "ZP_LOAD_FAILED", reason);

  it("reports the reason why an address cannot be loaded", async () => {
    await fails(
      `${site}/missing/baseline.wasm`,
      /options\.wasm .*missing\/baseline\.wasm answers 404/,
    );
    await fails(
      `${site}/page/baseline.wasm`,
      /could not be loaded: .*page\/baseline\.wasm begins with "<!doctype html>.*", not as WebAssembly does$/i,
    );
    // A page under a strict policy must not request this address.
    if (globalThis.process !== undefined) {
      await fails("http://localhost:1/x.wasm", /not be loaded: http:\/\/localhost:1\/x\.wasm: /);
    }
  });

  it("reports the reason why a function or promise gives no binary", async () => {
    const throwNull = () => {
      throw null;
    };
    await fails(throwNull, 'create: the "baseline" build could not be loaded: null');
    await fails(() => fetch(`${site}/missing/x`), /"baseline" build could not .* answers 404/);
    await fails(Promise.reject(new Error("no net")), /could not be loaded: no net$/);
    const used = await fetch(`${site}/wrong/baseline.wasm`);
    await used.text();
    await fails(used, /could not be loaded/);
  });

  it("reports the first bytes of a binary that is not WebAssembly", async () => {
    // The message has no hint at relaxed SIMD, which engines may lack.
    const page = new TextEncoder().encode("  <!doctype html><title>Not found</title>");
    const begins = (text) =>
      `create: the binary in options.wasm could not be loaded: it begins with ${text}, not as WebAssembly does`;
    await fails(page, begins('"  <!doctype html><title>Not found</title>"'));
    await fails(page.subarray(2, 5).slice().buffer, begins('"<!d"'));
    await fails(new DataView(page.buffer, 2, 9), begins('"<!doctype"'));
    await fails(new Uint8Array(0), begins('""'));
  });
});

/** The ends of a binary's sections between that of its functions (3) and that of their code (10). */
function endsBeforeCode(bytes) {
  const ends = [];
  for (let at = 8; bytes[at] !== 10; ) {
    const id = bytes[at];
    let size = 0;
    let shift = 1;
    do {
      at++;
      size += (bytes[at] & 127) * shift;
      shift *= 128;
    } while (bytes[at] > 127);
    at += 1 + size;
    if (id === 3 || ends.length > 0) ends.push(at);
  }
  return ends;
}
