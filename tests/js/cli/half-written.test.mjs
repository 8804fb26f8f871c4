// Half-written files: unchanged bytes are continued, other files are begun anew, and no link is followed.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { before, describe, it } from "node:test";
import { leftBytes, partialPath, writeFile } from "../../internal/cli.mjs";
import { shardIndexText } from "../../internal/formats.mjs";
import { Random } from "../support/asserts.mjs";
import {
  leave,
  makeFolder,
  safetensors,
  smallModel,
  weights,
  write,
  writeShards,
  zeropoint,
} from "../support/processes/cli.mjs";

const folder = makeFolder();
const at = (...names) => join(folder, ...names);
const { signal } = new AbortController();
const KEY = "0123456789abcdef";
const skip = process.platform === "win32" && "Windows has other links";

const WHOLE = Buffer.from("the whole of the bytes");
async function* from(begin) {
  yield WHOLE.subarray(begin);
}

/** The unfinished file of a process that has ended, for a path. */
function leftPath(path) {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  return partialPath(path, KEY).replace(/\d+\.partial$/, `${pid}.partial`);
}

describe("an unfinished file", () => {
  const finish = async (path) => {
    let begun;
    const chunks = (begin) => {
      begun = begin;
      return from(begin);
    };
    await writeFile(path, chunks, signal, { key: KEY });
    assert.ok(readFileSync(path).equals(WHOLE));
    return begun;
  };

  it("is continued if its bytes have the hash of its record; bytes behind them are dropped", async () => {
    const path = at("a", "file");
    const left = leftPath(path);
    leave(left, WHOLE.subarray(0, 9));
    writeFileSync(left, "more", { flag: "a" });
    assert.equal(leftBytes(path, KEY), 9);
    assert.equal(await finish(path), 9);
    assert.deepEqual(readdirSync(at("a")), ["file"]);
  });

  it("is begun anew if one byte has changed, and without a record, with a damaged or a longer one", async () => {
    const path = at("b", "file");
    for (const damage of [
      (left) => writeFileSync(left, "x", { flag: "r+" }),
      (left) => rmSync(left.replace(/\.partial$/, ".sum.partial")),
      (left) => writeFileSync(left.replace(/\.partial$/, ".sum.partial"), "9"),
      (left) => writeFileSync(left, "th"),
    ]) {
      const left = leftPath(path);
      leave(left, WHOLE.subarray(0, 9));
      damage(left);
      assert.equal(await finish(path), 0);
      assert.deepEqual(readdirSync(at("b")), ["file"]);
    }
  });

  it("is no link: what it leads to is neither read nor written", { skip }, async () => {
    const path = at("c", "file");
    write(folder, { victim: WHOLE.subarray(0, 9) });
    for (const link of [symlinkSync, linkSync]) {
      const left = leftPath(path);
      leave(left, WHOLE.subarray(0, 9));
      rmSync(left);
      link(at("victim"), left);
      assert.equal(await finish(path), 0);
      assert.ok(readFileSync(at("victim")).equals(WHOLE.subarray(0, 9)));
    }
    // The name that this process would give it.
    symlinkSync(at("victim"), partialPath(path, KEY));
    await finish(path);
    assert.ok(readFileSync(at("victim")).equals(WHOLE.subarray(0, 9)));
    assert.ok(lstatSync(path).isFile());
  });

  it("of another machine is left alone, whatever the number of its process", async () => {
    const path = at("d", "file");
    const own = leftPath(path);
    const other = own.replace(/-\w{12}-/, "-0123456789ab-");
    assert.notEqual(own, other);
    leave(other, WHOLE.subarray(0, 9));
    assert.equal(leftBytes(path, KEY), 0);
    assert.equal(await finish(path), 0);
    assert.ok(readdirSync(at("d")).includes(basename(other)));
  });
});

describe("a damaged record", () => {
  const quantize = (...more) => ["quantize", "shards", "int8-channel", "-o", "out", ...more];
  const records = () =>
    readdirSync(at("out", ".zeropoint")).map((name) => at("out", ".zeropoint", name));

  before(async () => {
    await writeShards(at("shards"), 2);
    write(folder, { "model.safetensors": await safetensors(smallModel(1)) });
    assert.equal(zeropoint(folder, quantize()).code, 0);
  });

  it("of jobs counts as none: it asks for --force, and finish for the jobs", () => {
    const [first] = records();
    const done = JSON.parse(readFileSync(first, "utf8"));
    const texts = ["{", "null", "[]", '{"version":1}'];
    for (const name of ["options", "source", "output", "seconds"]) {
      texts.push(JSON.stringify({ ...done, [name]: null }));
    }
    for (const text of texts) {
      for (const path of records()) writeFileSync(path, text);
      const { code, stderr } = zeropoint(folder, quantize());
      assert.deepEqual([code, /exists already; --force/.test(stderr)], [4, true], stderr);
      const finish = zeropoint(folder, ["finish", "out", "--scheme", "int8-channel"]);
      assert.deepEqual([finish.code, /no job/.test(finish.stderr)], [3, true], finish.stderr);
    }
    assert.equal(zeropoint(folder, quantize("--force")).code, 0);
    assert.match(zeropoint(folder, quantize()).stdout, /done already/);
  });

  it("of an analysis is begun anew", () => {
    const args = ["analyze", "model.safetensors", "--schemes", "int8-channel", "-o"];
    assert.equal(zeropoint(folder, [...args, "whole.json"]).code, 0);
    const { pid } = spawnSync(process.execPath, ["--version"]);
    // The key is in the name that a run gives its journal: all runs of one command have the same.
    const probe = `
      import { partialPath } from ${JSON.stringify(new URL("../../../dist/cli/output/partial.js", import.meta.url).href)};
      import { Journal } from ${JSON.stringify(new URL("../../../dist/cli/jobs/journal.js", import.meta.url).href)};
      const journal = new Journal("rows.json", "${KEY}");
      console.log((await journal.open(new AbortController().signal)).length);
      await journal.remove();
    `;
    const open = () =>
      spawnSync(process.execPath, ["--input-type=module", "-e", probe], {
        cwd: folder,
        encoding: "utf8",
      });
    const left = partialPath(at("rows.json"), KEY).replace(/\d+\.partial$/, `${pid}.partial`);
    const row = JSON.stringify([{ name: "w", scheme: "int8-channel", bytes: 1, parameters: 1 }]);
    leave(left, Buffer.from(`${row}\n`));
    assert.equal(open().stdout, "1\n");
    leave(left, Buffer.from(`${row}\n`));
    writeFileSync(left, `${row.replace(/1}/, "2}")}\n`);
    const { stdout, stderr } = open();
    assert.deepEqual([stdout, stderr], ["0\n", ""]);
    leave(left, Buffer.from(`${row}\n[{"na\n`));
    assert.equal(open().stdout, "1\n");
    assert.ok(readdirSync(folder).every((name) => !name.endsWith(".partial")));
  });
});

describe("names of shards", { skip }, () => {
  /** Quantizes a model in shards of these names. */
  async function quantizeShards(name, shards) {
    const random = new Random(1);
    const map = shards.map((shard, i) => [`w${i}`, shard]);
    write(folder, { [`${name}/model.safetensors.index.json`]: shardIndexText(new Map(), map) });
    for (const [i, shard] of shards.entries()) {
      write(folder, {
        [`${name}/${shard}`]: await safetensors({ [`w${i}`]: weights(random, [32, 32]) }),
      });
    }
    return zeropoint(folder, ["quantize", name, "int8-channel", "-o", `${name}-out`]);
  }

  it("survive: .partial, 250 characters, what sha256sum could escape", async () => {
    const names = ["a b", "x.partial", "y".repeat(250), "*c"];
    const { code, stderr } = await quantizeShards("hostile", names);
    assert.equal(code, 0, stderr);
    const out = at("hostile-out");
    for (const name of names) assert.ok(existsSync(join(out, name)), name);
    const check = spawnSync("sha256sum", ["-c", "SHA256SUMS"], { cwd: out, encoding: "utf8" });
    if (check.error === undefined) assert.deepEqual([check.status, check.stderr], [0, ""]);
    const again = zeropoint(folder, ["quantize", "hostile", "int8-channel", "-o", "hostile-out"]);
    assert.match(again.stdout, /done already/);
    const finish = zeropoint(folder, ["finish", "hostile-out", "--scheme", "int8-channel"]);
    assert.equal(finish.code, 0, finish.stderr);
    assert.ok(existsSync(join(out, "x.partial")));
    const rows = [
      "analyze",
      "hostile",
      "--schemes",
      "int8-channel",
      "--shard",
      "1/1",
      "-o",
      "rows",
    ];
    assert.equal(zeropoint(folder, rows).code, 0);
    assert.equal(zeropoint(folder, ["plan", "rows", "--size", "4bpw"]).code, 2);
  });

  it("are refused with line ends and other control characters", async () => {
    for (const [i, name] of ["a\nb", "c\r", "d\u001b"].entries()) {
      const { code, stderr } = await quantizeShards(`ends${i}`, [name]);
      assert.equal(code, 3);
      assert.match(stderr, /expected a relative path/);
    }
  });

  it("are refused where the result has the name for itself", async () => {
    for (const name of ["SHA256SUMS", "sha256sums"]) {
      const { code, stderr } = await quantizeShards(`own-${name}`, [name, "b"]);
      assert.equal(code, 3);
      assert.match(
        stderr,
        new RegExp(`the model has a file of the name ${name}, which the result`),
      );
    }
  });
});
