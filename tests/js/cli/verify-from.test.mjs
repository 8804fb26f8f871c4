// zeropoint verify: exit codes, statements, what is printed.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import {
  makeFolder,
  safetensors,
  smallModel,
  write,
  writeShards,
  zeropoint,
} from "../support/processes/cli.mjs";

const folder = makeFolder();
const at = (...path) => join(folder, ...path);
const run = (...args) => zeropoint(folder, args);
const verify = (small, ...more) => run("verify", small, "--from", "big.safetensors", ...more);

before(async () => {
  write(folder, { "big.safetensors": await safetensors(smallModel()) });
  const quantize = ["quantize", "big.safetensors"];
  assert.equal(run(...quantize, "int4-g32", "-o", "small.safetensors").code, 0);
  assert.equal(run(...quantize, "int4-g32-mse", "-o", "mse.safetensors").code, 0);
  const bad = readFileSync(at("small.safetensors"));
  bad[bad.length - 100] ^= 1;
  writeFileSync(at("bad.safetensors"), bad);
});

describe("zeropoint verify", () => {
  it("exits with 0 if every byte is what the source gives", () => {
    const { code, stdout, stderr } = verify("small.safetensors");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^tensors +13: 13 equal, 0 with ties, 0 different$/m);
    assert.match(stdout, /^result +every byte is what the source gives$/m);
  });

  it("exits with 1 and names the tensor, the row and the byte of a flipped bit", () => {
    const { code, stdout } = verify("bad.safetensors");
    assert.equal(code, 1);
    assert.match(stdout, /^result +1 difference: \S+$/m);
    const json = verify("bad.safetensors", "--json");
    assert.deepEqual([json.code, json.stderr.split(":")[0]], [1, "zeropoint verify"]);
    const { different, equal, tensors } = JSON.parse(json.stdout);
    assert.deepEqual([different.length, equal], [1, tensors - 1]);
    assert.deepEqual([different[0].kind, different[0].bytes], ["values", 1]);
    const csv = verify("bad.safetensors", "--csv").stdout.trim().split("\n");
    assert.equal(csv.length, 2);
    assert.match(csv[0], /^name,kind,block,byte,bytes,blocks,expected,found\r?$/);
  });

  it("finds how ranges were chosen, which the file does not record", () => {
    const { code, stdout } = verify("mse.safetensors");
    assert.equal(code, 0);
    assert.match(stdout, /^schemes .*int4-g32-mse 5/m);
    assert.match(
      stdout,
      /does not record how ranges of 5 weights were chosen: by trial, mse \(5\)/,
    );
  });

  it("writes a statement that a second run checks, and overwrites nothing unasked", () => {
    const state = ["--statement", "small.json"];
    assert.equal(verify("small.safetensors", ...state).code, 0);
    assert.equal(JSON.parse(readFileSync(at("small.json"))).predicate.result.verdict, "equal");
    assert.equal(verify("small.safetensors", ...state).code, 4);
    assert.equal(verify("small.safetensors", ...state, "--force").code, 0);
    assert.equal(verify("small.safetensors", "--check", "small.json").code, 0);
    const other = verify("bad.safetensors", "--check", "small.json");
    assert.equal(other.code, 1);
    assert.match(other.stdout, /^statement subject +metadata .*no file of this hash/m);
    const args = ["--check", "small.json", "--statement", "big.safetensors", "--force"];
    assert.equal(verify("small.safetensors", ...args).code, 4);
  });

  it("names a statement that is none, and exits with 3", () => {
    for (const [text, problem] of [
      ["[]", /--check wrong\.json: the statement must be a statement of in-toto/],
      ['{"_type":"\\u001b[2J"}', /--check wrong\.json: the statement\._type must be/],
    ]) {
      write(folder, { "wrong.json": text });
      const { code, stderr } = verify("small.safetensors", "--check", "wrong.json");
      assert.equal(code, 3);
      assert.match(stderr, problem);
      assert.ok(!stderr.includes("\u001b"));
    }
  });

  it("takes a folder of shards on both sides", async () => {
    await writeShards(at("sharded"), 2);
    assert.equal(run("quantize", "sharded", "int4-g64", "--target", "mlx", "-o", "mlx/").code, 0);
    const { code, stdout } = run("verify", "mlx", "--from", "sharded");
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^format +safetensors, mlx$/m);
    const config = JSON.parse(readFileSync(at("mlx", "config.json")));
    write(folder, { "mlx/config.json": JSON.stringify({ ...config, hidden_size: 65 }) });
    const changed = run("verify", "mlx", "--from", "sharded");
    assert.equal(changed.code, 1);
    assert.match(changed.stdout, /^config\.json hidden_size +metadata .* 64 +65$/m);
  });

  it("fits a narrow terminal, and pipes", () => {
    const narrow = zeropoint(folder, ["verify", "small.safetensors", "--from", "big.safetensors"], {
      env: { COLUMNS: "40" },
    });
    assert.equal(narrow.code, 0);
    const input = readFileSync(at("small.safetensors"));
    const piped = zeropoint(folder, ["verify", "-", "--from", "big.safetensors", "--quiet"], {
      input,
    });
    assert.deepEqual([piped.code, piped.stderr], [0, ""]);
  });

  it("says what is missing or wrong in its arguments", () => {
    for (const [args, problem] of [
      [["verify", "small.safetensors"], /--from is missing/],
      [["verify", "-", "--from", "-"], /cannot both be standard input/],
      [["verify", "small.safetensors", "--from", "big.safetensors", "--tie"], /there is no option/],
    ]) {
      const { code, stderr } = run(...args);
      assert.equal(code, 2);
      assert.match(stderr, problem);
    }
    const none = run("verify", "small.safetensors", "--from", "none.safetensors");
    assert.equal(none.code, 3);
    assert.ok(!existsSync(at("none.safetensors")));
  });
});
