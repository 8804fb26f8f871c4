// Where commands write: never over an input, into a device or a pipe, or over files of others without --force.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import {
  makeFolder,
  safetensors,
  smallModel,
  start,
  write,
  writeShards,
  zeropoint,
} from "../support/processes/cli.mjs";

const folder = makeFolder();
const at = (...names) => join(folder, ...names);
const skip = process.platform === "win32" && "Windows has other links and pipes";
const SHARDS = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];

before(async () => {
  write(folder, { "model.safetensors": await safetensors(smallModel(1)) });
  await writeShards(at("shards"), 2);
  write(folder, { "shards/tokenizer.json": "{}", "rows.json": "[]" });
});

/** Runs a command that must fail, and leave an input as it is. */
function refused(args, path, message) {
  const bytes = readFileSync(path);
  const { code, stderr, stdout } = zeropoint(folder, args);
  assert.deepEqual([code, stdout], [4, ""], stderr);
  assert.match(stderr, message);
  assert.ok(readFileSync(path).equals(bytes));
}

describe("an output that is an input", { skip }, () => {
  it("is refused with --force, also through links", () => {
    symlinkSync(at("model.safetensors"), at("soft.safetensors"));
    linkSync(at("model.safetensors"), at("hard.safetensors"));
    for (const output of ["model.safetensors", "soft.safetensors", "hard.safetensors"]) {
      const args = ["quantize", "model.safetensors", "int8-channel", "-o", output, "--force"];
      refused(args, at("model.safetensors"), /input of this command, which is never overwritten/);
    }
    assert.ok(lstatSync(at("soft.safetensors")).isSymbolicLink());
    const report = ["inspect", "soft.safetensors", "--json", "-o", "hard.safetensors", "--force"];
    refused(report, at("model.safetensors"), /hard\.safetensors is the same file as soft\.safe/);
  });

  it("is refused for shards, index and companions of the model, and for a plan", () => {
    for (const name of [SHARDS[1], "model.safetensors.index.json", "tokenizer.json"]) {
      const args = ["inspect", "shards", "--json", "-o", `shards/${name}`, "--force"];
      refused(args, at("shards", name), /input of this command/);
    }
    const whole = ["quantize", "shards", "int8-channel", "-o", "shards", "--force"];
    refused(whole, at("shards", SHARDS[0]), /input of this command/);
    write(folder, { "plan.json": JSON.stringify({ version: 1, schemes: {} }) });
    linkSync(at("plan.json"), at("plan.safetensors"));
    const planned = ["quantize", "model.safetensors", "--plan", "plan.json", "--force"];
    refused([...planned, "-o", "plan.safetensors"], at("plan.json"), /the same file as plan\.json/);
  });
});

describe("an output that is no file", { skip }, () => {
  it("is refused by name: pipe, device, folder", () => {
    assert.equal(spawnSync("mkfifo", [at("pipe")]).status, 0);
    mkdirSync(at("folder.d"));
    // By a link: a program that replaced its output would not replace the device of the system.
    symlinkSync("/dev/null", at("device"));
    for (const [output, kind] of [
      ["pipe", "a pipe"],
      ["device", "a device"],
      ["folder.d", "a folder"],
    ]) {
      const args = ["inspect", "model.safetensors", "-o", output, "--force"];
      const { code, stderr } = zeropoint(folder, args);
      assert.equal(code, 4);
      assert.match(stderr, new RegExp(`^zeropoint inspect: ${output} is ${kind}`));
    }
    const { code } = zeropoint(folder, [
      "quantize",
      "model.safetensors",
      "keep",
      "-o",
      "/dev/null",
    ]);
    assert.equal(code, 4);
    assert.ok(lstatSync(at("device")).isSymbolicLink() && lstatSync(at("pipe")).isFIFO());
  });

  it("is standard output for /dev/stdout", () => {
    const args = ["inspect", "model.safetensors", "--json", "-o"];
    const { code, stdout } = zeropoint(folder, [...args, "/dev/stdout"]);
    assert.deepEqual([code, stdout], [0, zeropoint(folder, [...args, "-"]).stdout]);
  });

  it("is replaced only with --force if it is a link to nothing", () => {
    symlinkSync("nowhere", at("dangling.json"));
    const args = ["inspect", "model.safetensors", "-o", "dangling.json"];
    const { code, stderr } = zeropoint(folder, args);
    assert.equal(code, 4);
    assert.match(
      stderr,
      /dangling\.json is a link to a file that does not exist; --force replaces/,
    );
    assert.equal(zeropoint(folder, [...args, "--force"]).code, 0);
    assert.ok(lstatSync(at("dangling.json")).isFile() && !existsSync(at("nowhere")));
  });
});

describe("files of others in the output folder", () => {
  const quantize = (...more) => ["quantize", "shards", "int8-channel", "-o", "others", ...more];

  it("are overwritten only with --force: config, tokenizer, index, SHA256SUMS", () => {
    for (const name of [
      "config.json",
      "tokenizer.json",
      "model.safetensors.index.json",
      "SHA256SUMS",
    ]) {
      rmSync(at("others"), { recursive: true, force: true });
      write(folder, { [`others/${name}`]: "mine" });
      const { code, stderr } = zeropoint(folder, quantize());
      assert.equal(code, 4);
      assert.match(stderr, new RegExp(`others.${name} exists already; --force overwrites it`));
      assert.deepEqual(readdirSync(at("others")), [name]);
    }
    assert.equal(zeropoint(folder, quantize("--force")).code, 0);
    assert.notEqual(readFileSync(at("others", "SHA256SUMS"), "utf8"), "mine");
  });

  it("are known from the command's own, which it writes again, unless they have changed", () => {
    rmSync(at("others"), { recursive: true, force: true });
    assert.equal(zeropoint(folder, quantize()).code, 0);
    assert.match(zeropoint(folder, quantize()).stdout, /done already/);
    writeFileSync(at("others", "config.json"), '{"mine":1}');
    const finish = ["finish", "others", "--scheme", "int8-channel"];
    const { code, stderr } = zeropoint(folder, finish);
    assert.equal(code, 4);
    assert.match(stderr, /config\.json exists already; --force overwrites it/);
    assert.equal(zeropoint(folder, [...finish, "--force"]).code, 0);
    assert.match(readFileSync(at("others", "config.json"), "utf8"), /llama/);
  });

  it("are not removed by finish, which removes unfinished files of its own names alone", () => {
    write(folder, { "others/notes.partial": "", "others/.x.0123-0123-1.partial": "" });
    const own = at("others", `.${SHARDS[0]}.0123456789abcdef-abc-999999999.partial`);
    writeFileSync(own, "");
    assert.equal(zeropoint(folder, ["finish", "others", "--scheme", "int8-channel"]).code, 0);
    const left = readdirSync(at("others")).filter((name) => name.endsWith(".partial"));
    assert.deepEqual(left.sort(), [".x.0123-0123-1.partial", "notes.partial"]);
    assert.ok(!existsSync(own));
  });
});

describe("companions of a model", { skip }, () => {
  it("are copied if they are links inside the folder or the Hub's cache, and not from elsewhere", async () => {
    const cache = at("hub", "models--a--b");
    const model = join(cache, "snapshots", "0123");
    await writeShards(model, 2);
    write(cache, { "blobs/aa": '{"own":1}' });
    write(folder, { secret: "secret" });
    symlinkSync("../../blobs/aa", join(model, "tokenizer.json"));
    symlinkSync(at("secret"), join(model, "vocab.txt"));
    symlinkSync("../../../../secret", join(model, "merges.txt"));
    symlinkSync("nothing", join(model, "added_tokens.json"));
    assert.equal(spawnSync("mkfifo", [join(model, "vocab.json")]).status, 0);
    const args = ["quantize", model, "int8-channel", "-o", "copied"];
    const { code, stderr } = zeropoint(folder, args);
    assert.equal(code, 0, stderr);
    assert.equal(readFileSync(at("copied", "tokenizer.json"), "utf8"), '{"own":1}');
    for (const name of ["vocab.txt", "merges.txt", "added_tokens.json", "vocab.json"]) {
      assert.ok(!existsSync(at("copied", name)));
      assert.match(
        stderr,
        new RegExp(`^${name} is not copied: it is (a link (out|to)|no reg)`, "m"),
      );
    }
    rmSync(join(model, "config.json"));
    symlinkSync(at("secret.json"), join(model, "config.json"));
    writeFileSync(at("secret.json"), '{"secret":1}');
    const target = ["--target", "compressed-tensors"];
    const config = zeropoint(folder, [...args.slice(0, -1), "leaked", ...target]);
    assert.equal(config.code, 3);
    assert.match(config.stderr, /config\.json of the model is a link out of the model's folder/);
    assert.ok(!existsSync(at("leaked", "config.json")));
  });

  it("do not fail or hang a command: pipes, links to nothing, names that are no UTF-8", async () => {
    await writeShards(at("odd"), 2);
    symlinkSync("nothing", at("odd", "zzz"));
    rmSync(at("odd", "config.json"));
    assert.equal(spawnSync("mkfifo", [at("odd", "config.json")]).status, 0);
    mkdirSync(at("odd", "rows"));
    assert.equal(spawnSync("mkfifo", [at("odd", "rows", "a.rows.json")]).status, 0);
    writeFileSync(Buffer.concat([Buffer.from(at("odd", "x")), Buffer.of(0xff)]), "");
    for (const [args, wanted] of [
      [["inspect", "odd"], 0],
      [["quantize", "odd", "int8-channel", "-o", "odd-out"], 0],
      [["plan", "odd/rows", "--size", "4bpw"], 3],
    ]) {
      const { child, ended } = start(folder, args);
      const end = setTimeout(() => child.kill("SIGKILL"), 60_000);
      const { code, output } = await ended;
      clearTimeout(end);
      assert.equal(code, wanted, output);
    }
  });
});
