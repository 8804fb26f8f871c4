// A model in shards: jobs without communication, and finish.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { filesOf, splitFiles } from "../../internal/cli.mjs";
import { makeFolder, start, write, writeShards, zeropoint } from "../support/processes/cli.mjs";

const folder = makeFolder();
const at = (...names) => join(folder, ...names);
const SHARDS = 4;
let names;
let schemes;

before(async () => {
  names = await writeShards(at("model"), SHARDS);
  schemes = { "head.weight": "int8-channel" };
  for (let i = 0; i < SHARDS; i++) {
    schemes[`layers.${i}.up.weight`] = "int4-g32";
    schemes[`layers.${i}.down.weight`] = "int8-g32";
  }
  write(folder, {
    "plan.json": JSON.stringify({ version: 1, schemes }),
    "other.json": JSON.stringify({ version: 1, schemes: { "head.weight": "int8-tensor" } }),
  });
});

const job = (part, out, ...more) =>
  zeropoint(folder, [
    "quantize",
    "model",
    "--plan",
    "plan.json",
    "--shard",
    part,
    "-o",
    out,
    ...more,
  ]);
const finish = (out, plan = "plan.json", ...more) =>
  zeropoint(folder, ["finish", out, "--plan", plan, ...more]);
const bytesIn = (out) =>
  Object.fromEntries(
    readdirSync(at(out), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => [name, readFileSync(at(out, name)).toString("base64")]),
  );

describe("files", () => {
  const files = [5, 1, 4, 4, 2].map((size, i) => ({ name: `f${i}`, size }));
  const namesOf = (hands) => hands.map((hand) => hand.map(({ name }) => name).join(" "));

  it("are split by size, in any order of the list", () => {
    const expected = ["f0", "f2 f4", "f3 f1"];
    assert.deepEqual(namesOf(splitFiles(files, 3)), expected);
    assert.deepEqual(namesOf(splitFiles([...files].reverse(), 3)), expected);
  });

  it("are one each if there are as many jobs, and none for further jobs", () => {
    assert.deepEqual(namesOf(splitFiles(files, 5)), ["f0", "f2", "f3", "f4", "f1"]);
    assert.deepEqual(filesOf(files, { index: 6, count: 9 }), []);
    assert.deepEqual(filesOf(files, undefined), files);
  });
});

describe("jobs", () => {
  it("write together what one process writes, and finish adds the rest", () => {
    const whole = zeropoint(folder, ["quantize", "model", "--plan", "plan.json", "-o", "whole"]);
    assert.equal(whole.code, 0, whole.stderr);
    assert.match(whole.stdout, /^whole: 4 files, /);
    for (const part of ["2/3", "3/3", "1/3"]) assert.equal(job(part, "parts").code, 0);
    assert.equal(existsSync(at("parts", "SHA256SUMS")), false);
    const { code, stdout, stderr } = finish("parts");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^parts: 4 files, .*, all as their jobs wrote them; index, config and/);
    assert.deepEqual(bytesIn("parts"), bytesIn("whole"));
    const written = [...names, "SHA256SUMS", "config.json", "model.safetensors.index.json"];
    assert.deepEqual(Object.keys(bytesIn("parts")).sort(), written.sort());
  });

  it("write a result that reads again as one model, each tensor quantized", () => {
    const { code, stdout, stderr } = finish("parts", "plan.json", "--verify");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^14 of 14 tensors read again, largest difference 0\.\d+, least SQNR \d/m);
    const compared = zeropoint(folder, ["compare", "model", "parts", "--tolerance", "15dB"]);
    assert.equal(compared.code, 0, compared.stdout);
  });

  it("write a list of hashes that sha256sum -c accepts", () => {
    const lines = readFileSync(at("whole", "SHA256SUMS"), "utf8").trimEnd().split("\n");
    assert.equal(lines.length, SHARDS + 2);
    for (const line of lines) assert.match(line, /^[0-9a-f]{64} {2}[\w.-]+$/);
  });

  it("record their work in done-files", () => {
    const path = at("parts", ".zeropoint", `${names[0]}.done.json`);
    const done = JSON.parse(readFileSync(path, "utf8"));
    for (const hash of [done.job, done.plan, done.source.headerSha256, done.output.sha256]) {
      assert.match(hash, /^[0-9a-f]{64}$/);
    }
    assert.equal(done.output.size, statSync(at("parts", names[0])).size);
    assert.equal(done.source.name, names[0]);
    assert.ok(done.peakMemory > 1e6 && done.seconds >= 0);
  });

  it("end at once when their done-files match", () => {
    const before = statSync(at("parts", names[0])).mtimeMs;
    for (const part of ["1/4", "2/4", "3/4", "4/4"]) {
      assert.match(job(part, "parts").stdout, /^parts: done already/);
    }
    assert.equal(statSync(at("parts", names[0])).mtimeMs, before);
    assert.match(job("7/9", "parts").stdout, /nothing to do, there are more jobs than files/);
  });

  it("write the same bytes when two of them run at once", async () => {
    const args = ["quantize", "model", "--plan", "plan.json", "--shard", "1/1", "-o", "twice"];
    const both = [start(folder, args), start(folder, args)];
    for (const { ended } of both) {
      const { code, output } = await ended;
      assert.equal(code, 0, output);
    }
    assert.equal(finish("twice").code, 0);
    assert.deepEqual(bytesIn("twice"), bytesIn("whole"));
  });

  it("leave unfinished files when they are killed, which finish removes", async () => {
    await writeShards(at("wide"), 2, { width: 512 });
    const args = ["quantize", "wide", "int4-g16-mse", "--shard", "1/1", "-o", "killed"];
    const { child, ended } = start(folder, args);
    const partials = () =>
      (existsSync(at("killed")) ? readdirSync(at("killed")) : []).filter((n) =>
        n.endsWith(".partial"),
      );
    while (partials().length === 0) await delay(5);
    child.kill("SIGKILL");
    await ended;
    assert.equal(partials().length, 1);
    assert.equal(zeropoint(folder, args).code, 0);
    const { code } = zeropoint(folder, ["finish", "killed", "--scheme", "int4-g16-mse"]);
    assert.equal(code, 0);
    assert.deepEqual(partials(), []);
  });
});

describe("zeropoint finish", () => {
  const problems = (out, ...more) => {
    const { code, stdout, stderr } = finish(out, ...more);
    assert.deepEqual([code, stdout], [1, ""]);
    return stderr;
  };

  it("names files that are missing, and writes nothing", () => {
    assert.equal(job("1/4", "some").code, 0);
    const said = problems("some");
    const count = said.match(/: its job has not finished$/gm)?.length;
    assert.equal(count, 3);
    assert.match(said, /finish: 3 of 4 files are missing or wrong; run their jobs again\. Nothing/);
    assert.equal(existsSync(at("some", "SHA256SUMS")), false);
  });

  it("names a file that was damaged or removed since", () => {
    for (const part of ["2/4", "3/4", "4/4"]) assert.equal(job(part, "some").code, 0);
    const path = at("some", names[1]);
    const bytes = readFileSync(path);
    bytes[bytes.length - 1] ^= 1;
    writeFileSync(path, bytes);
    assert.match(problems("some"), new RegExp(`${names[1]}: damaged since its job wrote it`));
    assert.equal(finish("some", "plan.json", "--sizes-only").code, 0);
    rmSync(path);
    assert.match(problems("some"), new RegExp(`${names[1]}: missing, or not `));
    // The job of a file that is missing runs again although its done-file is there.
    for (const part of ["1/1"]) assert.equal(job(part, "some").code, 0);
    assert.equal(finish("some").code, 0);
  });

  it("refuses another plan, and jobs of two plans", () => {
    assert.match(problems("some", "other.json"), /some: the jobs had another plan/);
    const args = ["--plan", "other.json", "--shard", "2/4", "-o", "some", "--force"];
    assert.equal(zeropoint(folder, ["quantize", "model", ...args]).code, 0);
    assert.match(problems("some"), /made by another plan, option or version|had another plan/);
  });

  it("refuses a source that has changed", () => {
    const index = at("model", "model.safetensors.index.json");
    const before = readFileSync(at("model", names[2]));
    writeFileSync(
      at("model", names[2]),
      Buffer.from(before.toString("latin1").replace("pt", "tf"), "latin1"),
    );
    assert.match(problems("whole"), new RegExp(`${names[2]}: made of another source`));
    writeFileSync(at("model", names[2]), before);
    assert.ok(existsSync(index));
  });

  it("reports that no job has run", () => {
    const none = finish("nowhere");
    assert.deepEqual(
      [none.code, none.stderr],
      [3, "zeropoint finish: nowhere: there is no such folder\n"],
    );
    const model = finish("model");
    assert.equal(
      model.stderr,
      "zeropoint finish: model: no job of quantize --shard has written here\n",
    );
  });
});
