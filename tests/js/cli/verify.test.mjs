// --verify compares the result on the disk with the bytes that its source gives now.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import {
  makeFolder,
  safetensors,
  smallModel,
  write,
  writeShards,
  zeropoint,
} from "../support/processes/cli.mjs";

const folder = makeFolder();
const at = (...names) => join(folder, ...names);
const SHARD = "model-00002-of-00002.safetensors";
let count = 0;

describe("finish --verify", () => {
  let [source, out] = ["", ""];
  const quantize = (to) => ["quantize", source, "int8-channel", "--shard", "1/1", "-o", to];
  const finish = () => ["finish", out, "--scheme", "int8-channel", "--sizes-only", "--verify"];

  beforeEach(async () => {
    [source, out] = [`shards${count}`, `out${count}`];
    count++;
    await writeShards(at(source), 2);
    assert.equal(zeropoint(folder, quantize(out)).code, 0);
  });

  it("passes for the bytes that the jobs wrote, and then writes SHA256SUMS", () => {
    const { code, stdout } = zeropoint(folder, finish());
    assert.equal(code, 0);
    assert.match(stdout, /tensors read again/);
    assert.ok(existsSync(at(out, "SHA256SUMS")));
  });

  it("fails for one code that is off by one, names file and byte, and writes no SHA256SUMS", () => {
    const path = at(out, SHARD);
    const bytes = readFileSync(path);
    const text = bytes.toString("latin1", 8, 8 + Number(bytes.readBigUInt64LE(0)));
    const [name, { data_offsets: offsets }] = Object.entries(JSON.parse(text)).find(
      ([, { dtype }]) => dtype === "I8",
    );
    const place = 8 + text.length + offsets[0] + 5;
    bytes[place] ^= 1;
    writeFileSync(path, bytes);
    const { code, stderr } = zeropoint(folder, finish());
    assert.equal(code, 1, name);
    assert.match(stderr, new RegExp(`${SHARD} differs at byte ${place} from what its source`));
    assert.ok(!existsSync(at(out, "SHA256SUMS")));
  });

  it("fails for a source whose values were zero while a job read it", () => {
    const kept = readFileSync(at(source, SHARD));
    const start = 8 + Number(kept.readBigUInt64LE(0));
    writeFileSync(at(source, SHARD), Buffer.from(kept).fill(0, start));
    assert.equal(zeropoint(folder, [...quantize(out), "--force"]).code, 0);
    writeFileSync(at(source, SHARD), kept);
    // The job's record has the version of the source as it is now.
    assert.equal(zeropoint(folder, quantize(`${out}-now`)).code, 0);
    const record = (name) => at(name, ".zeropoint", `${SHARD}.done.json`);
    const done = JSON.parse(readFileSync(record(out), "utf8"));
    done.source.version = JSON.parse(readFileSync(record(`${out}-now`), "utf8")).source.version;
    writeFileSync(record(out), JSON.stringify(done));
    const { code, stderr } = zeropoint(folder, finish());
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`${SHARD} differs at byte \\d+ from what its source gives`));
    assert.ok(!existsSync(at(out, "SHA256SUMS")));
  });

  it("fails below --min-sqnr, and names tensors", () => {
    const { code, stderr } = zeropoint(folder, [...finish(), "--min-sqnr", "80"]);
    assert.equal(code, 1);
    assert.match(stderr, /head\.weight: SQNR 4\d\.\d dB is below --min-sqnr 80/);
    assert.ok(!existsSync(at(out, "SHA256SUMS")));
    assert.equal(zeropoint(folder, [...finish(), "--min-sqnr", "20dB"]).code, 0);
  });
});

describe("quantize --verify", () => {
  it("takes --min-sqnr, which asks for --verify", async () => {
    write(folder, { "model.safetensors": await safetensors(smallModel()) });
    const args = ["quantize", "model.safetensors", "int4-g32", "-o", "v.safetensors"];
    const alone = zeropoint(folder, [...args, "--min-sqnr", "10"]);
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /--min-sqnr is a limit of --verify/);
    const wrong = zeropoint(folder, [...args, "--verify", "--min-sqnr", "much"]);
    assert.deepEqual([wrong.code, existsSync(at("v.safetensors"))], [2, false]);
    const { code, stdout } = zeropoint(folder, [...args, "--verify", "--min-sqnr", "10", "--json"]);
    assert.deepEqual([code, JSON.parse(stdout).output], [0, "v.safetensors"]);
    const low = zeropoint(folder, [...args, "--verify", "--min-sqnr", "40", "--force"]);
    assert.equal(low.code, 1);
    assert.match(low.stderr, /head\.weight: SQNR 2\d\.\d dB is below --min-sqnr 40/);
  });
});
