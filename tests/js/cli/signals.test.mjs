// A signal ends a command whatever it does: without an unfinished file also in the middle of a synchronous calculation.

import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { files, Journal } from "../../internal/cli.mjs";
import {
  makeFolder,
  safetensors,
  smallModel,
  start,
  write,
  zeropoint,
} from "../support/processes/cli.mjs";

const folder = makeFolder();
const at = (...names) => join(folder, ...names);
const partials = () => readdirSync(folder).filter((name) => name.endsWith(".partial"));

describe("a signal", {
  skip: process.platform === "win32" && "Windows has no such signals",
}, () => {
  before(async () => {
    write(folder, { "m.safetensors": await safetensors(smallModel()) });
    const analyze = ["analyze", "m.safetensors", "--schemes", "int8-channel,int4-g32"];
    assert.equal(zeropoint(folder, [...analyze, "-o", "rows.json"]).code, 0);
    assert.equal(zeropoint(folder, ["plan", "rows.json", "--size", "30%", "-o", "p.json"]).code, 0);
    assert.equal(
      zeropoint(folder, ["quantize", "m.safetensors", "--plan", "p.json", "-o", "s.safetensors"])
        .code,
      0,
    );
  });

  /** Starts a command whose n-th call of a method does not end, and sends a signal from within that call. */
  const during = async (args, patch, signal) => {
    writeFileSync(at("endless.mjs"), patch);
    const options = `--import=${pathToFileURL(at("endless.mjs"))}`;
    const { child, ended } = start(folder, args, { env: { NODE_OPTIONS: options } });
    child.stderr.on("data", (text) => {
      if (String(text).includes("ENDLESS")) child.kill(signal);
    });
    // Only this signal ends a process that has a handler for the others.
    const late = setTimeout(() => child.kill("SIGKILL"), 60_000);
    const result = await ended;
    clearTimeout(late);
    return result;
  };

  /** Makes a method endless when it is called with texts that contain a word. */
  const endless = (object, method, word) => `
    import { writeSync } from "node:fs";
    const { ${method}: own } = ${object};
    ${object}.${method} = function (...args) {
      if (String(args[0] ?? this).includes(${JSON.stringify(word)})) {
        writeSync(2, "ENDLESS\\n");
        for (;;);
      }
      return Reflect.apply(own, this, args);
    };`;

  const HEADER = ["Map.prototype", "set", "layers.0.up"];
  const LAYOUT = ["TextEncoder.prototype", "encode", '"data_offsets"'];
  const cases = [
    ["reads a header", ["inspect", "m.safetensors"], ...HEADER],
    ["reads rows", ["plan", "rows.json", "--size", "30%"], "JSON", "parse", '"rows"'],
    ["reads a plan", ["quantize", "m.safetensors", "--plan", "p.json", "-o", "a.safetensors"]],
    ["analyzes", ["analyze", "m.safetensors"], ...HEADER],
    ["lays out files of schemes for rows", ["analyze", "m.safetensors", "-o", "r.json"], ...LAYOUT],
    [
      ...["lays out files of schemes for a plan"],
      ...[["plan", "m.safetensors", "--size", "40%", "-o", "q.json"], ...LAYOUT],
    ],
    ["compares", ["compare", "m.safetensors", "s.safetensors"], ...HEADER],
    ["verifies", ["verify", "s.safetensors", "--from", "m.safetensors"], ...HEADER],
  ];
  for (const [title, args, object = "JSON", method = "parse", word = '"schemes"'] of cases) {
    it(`ends a command at once that ${title}`, async () => {
      const { signal } = await during(args, endless(object, method, word), "SIGINT");
      assert.equal(signal, "SIGINT");
      assert.deepEqual(partials(), []);
    });
  }

  it("ends one at once that solves a plan", async () => {
    const args = ["plan", "rows.json", "--size", "30%", "-o", "q.json"];
    const { signal } = await during(args, endless("Map.prototype", "get", "layers.0"), "SIGTERM");
    assert.deepEqual([signal, existsSync(at("q.json"))], ["SIGTERM", false]);
  });

  it("has handlers while a file or the rows of a journal are unfinished, and none before and after", async () => {
    const count = () => ["SIGINT", "SIGTERM"].map((name) => process.listenerCount(name));
    const none = count();
    const one = none.map((number) => number + 1);
    const { signal } = new AbortController();
    let within;
    const chunks = function* () {
      within = count();
      yield "text";
    };
    await files.writeFile(at("f.txt"), chunks, signal);
    assert.deepEqual([within, count()], [one, none]);
    await assert.rejects(files.writeFile(at("rows.json", "f"), chunks, signal));
    assert.deepEqual(count(), none);
    const failing = () => {
      throw new Error("mine");
    };
    await assert.rejects(files.writeFile(at("g.txt"), failing, signal), /mine/);
    assert.deepEqual(count(), none);
    const journal = new Journal(at("j.json"), "key");
    await journal.open(signal);
    assert.deepEqual(count(), none);
    await journal.add({ name: "w", scheme: "keep" });
    assert.deepEqual(count(), one);
    await journal.remove();
    await journal.close();
    assert.deepEqual(count(), none);
    assert.deepEqual(partials(), []);
  });
});
