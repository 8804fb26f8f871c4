// Control and bidirectional characters of names never reach a terminal, JSON, CSV or HTML raw; CSV has no formulas.

import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, before, beforeEach, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Progress, printable } from "../../internal/cli.mjs";
import {
  makeFolder,
  safetensors,
  smallModel,
  write,
  writeShards,
  zeropoint,
} from "../support/processes/cli.mjs";

const folder = makeFolder();
const ESCAPE = "\u001b[31m";
// Allowed: line feeds, and carriage returns of CSV before them.
const RAW =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for
  /[\u0000-\u0009\u000b-\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\r(?!\n)/;
const HOSTILE = `${ESCAPE}\u007f\u009b\u061c\u200e\u200f\u202a\u202e\u2066\u2069`;
const clean = ({ stdout, stderr }) => {
  for (const text of [stdout, stderr]) assert.doesNotMatch(text, RAW, JSON.stringify(text));
};

describe("names with control characters", () => {
  before(async () => {
    const small = smallModel(1);
    const hostile = { ...small, [`x${HOSTILE}.weight`]: small["head.weight"] };
    for (const start of ["=", "+", "-", "@"]) {
      hostile[`${start}cmd|' /C calc'!A0`] = small["head.weight"];
    }
    const metadata = [
      ["format", "pt"],
      [`key${HOSTILE}`, `value${HOSTILE}`],
    ];
    write(folder, { [`m${ESCAPE}\u202e.safetensors`]: await safetensors(hostile, metadata) });
    await writeShards(join(folder, "shards"), 2);
  });
  const model = `m${ESCAPE}\u202e.safetensors`;

  for (const form of ["--json", "--csv", "--html", "text"]) {
    it(`are not in ${form} of inspect, analyze and compare`, () => {
      for (const args of [
        ["inspect", model],
        ["analyze", model, "--schemes", "int8-channel"],
        ["compare", model, model],
      ]) {
        const result = zeropoint(folder, form === "text" ? args : [...args, form]);
        assert.equal(result.code, 0, result.stderr);
        if (args[0] === "inspect" && form !== "--csv") assert.match(result.stdout, /key.*value/);
        clean(result);
      }
    });
  }

  it("are in JSON as escapes, so that names stay what they are", () => {
    const { stdout } = zeropoint(folder, ["compare", model, model, "--json"]);
    const { a, rows } = JSON.parse(stdout);
    assert.equal(a, model);
    assert.ok(rows.some(({ name }) => name === `x${HOSTILE}.weight`));
  });

  it("that begin like a formula are texts in CSV", () => {
    const { stdout } = zeropoint(folder, ["compare", model, model, "--csv"]);
    for (const start of ["=", "+", "-", "@"]) {
      assert.ok(stdout.includes(`\n'${start}cmd|' /C calc'!A0,`), start);
      assert.ok(!stdout.includes(`\n${start}`), start);
    }
  });

  it("are not in summaries of files that were written", () => {
    const out = (name) => ["-o", `${name}${ESCAPE}\u202e`];
    const size = ["--size", "50%", "-o", `plan${ESCAPE}.json`];
    const job = ["--shard", "1/1"];
    for (const args of [
      ["quantize", model, "int8-channel", "-o", `q${ESCAPE}.safetensors`],
      ["quantize", model, "int8-channel", "-o", `j${ESCAPE}.safetensors`, "--json"],
      ["plan", model, "--schemes", "int8-channel", ...size],
      ["analyze", "shards", "--schemes", "int8-channel", ...job, ...out("rows")],
      ["quantize", "shards", "int8-channel", ...job, ...out("out")],
      ["finish", `out${ESCAPE}\u202e`, "--scheme", "int8-channel", "--verify"],
    ]) {
      const result = zeropoint(folder, args);
      assert.equal(result.code, 0, result.stderr);
      clean(result);
    }
  });

  it("are not in what --verify finds, in tensors or in files", async () => {
    const head = smallModel(1)["head.weight"];
    write(folder, { "h.safetensors": await safetensors({ [`x${HOSTILE}.weight`]: head }) });
    const args = ["quantize", "h.safetensors", "int8-channel", "-o", "v.safetensors", "--verify"];
    const right = zeropoint(folder, args);
    assert.equal(right.code, 0, right.stderr);
    assert.match(right.stdout, /least SQNR \S+ dB \(x\ufffd/);
    clean(right);
    const low = zeropoint(folder, [...args, "--force", "--min-sqnr", "99"]);
    assert.equal(low.code, 1);
    assert.match(low.stderr, /^x\ufffd.*\.weight: SQNR .* is below --min-sqnr 99\n/);
    clean(low);
  });

  it("are not in what finish misses", () => {
    const out = `missing${ESCAPE}`;
    const job = ["quantize", "shards", "int8-channel", "--shard", "1/2", "-o", out];
    assert.equal(zeropoint(folder, job).code, 0);
    const result = zeropoint(folder, ["finish", out, "--scheme", "int8-channel"]);
    assert.equal(result.code, 1);
    assert.match(result.stderr, /missing\ufffd.*: its job has not finished\n/);
    clean(result);
  });

  it("are not in errors, of unknown commands either", () => {
    for (const args of [
      [`qu${HOSTILE}`],
      ["inspect", `none${HOSTILE}`],
      ["inspect", model, HOSTILE],
    ]) {
      const result = zeropoint(folder, args);
      assert.notEqual(result.code, 0);
      clean(result);
    }
  });

  it("are not on standard error beside a result on standard output", () => {
    const args = ["quantize", model, "int8-channel", "-o", "-"];
    const { code, stderr } = zeropoint(folder, args, { encoding: undefined });
    assert.equal(code, 0);
    assert.doesNotMatch(String(stderr), RAW);
  });
});

describe("progress", () => {
  const { write: own, isTTY, columns } = process.stderr;
  let text = "";
  beforeEach(() => {
    text = "";
    process.stderr.write = (chunk) => {
      text += chunk;
      return true;
    };
  });
  afterEach(() => Object.assign(process.stderr, { write: own, isTTY, columns }));

  it("has a last line that is printable", () => {
    new Progress("x", false).finish(`a${HOSTILE}b`);
    assert.equal(text, `${printable(`a${HOSTILE}b`)}\n`);
    assert.doesNotMatch(text, RAW);
  });

  it("has printable lines on a terminal, with the name of a tensor", async () => {
    Object.assign(process.stderr, { isTTY: true, columns: 120 });
    const progress = new Progress("x", false);
    // A line is written again after a tenth of a second.
    await delay(150);
    progress.update({ done: 1, total: 2, name: `a${HOSTILE}b` });
    // The beginning of the line, and a clear line.
    const start = "\r\u001b[K";
    assert.ok(text.startsWith(start), JSON.stringify(text));
    const line = text.slice(start.length);
    assert.match(line, /^x: 50 %, .*, a\ufffd.*b$/);
    assert.doesNotMatch(line, RAW);
  });
});
