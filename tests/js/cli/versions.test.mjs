// Results are done for the bytes that they were made of: other values, and damaged results, are written again.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { init } from "zeropoint";
import { analyze, compare, openModel, quantizeModel } from "zeropoint/models";
import {
  makeFolder,
  safetensors,
  smallModel,
  start,
  write,
  writeShards,
  zeropoint,
} from "../support/processes/cli.mjs";

await init();

const folder = makeFolder();
const at = (...names) => join(folder, ...names);

/** Writes other values of the same size into a file, and sets its time back to the former one. */
function retrain(path) {
  const { atime, mtime } = statSync(path);
  const bytes = readFileSync(path);
  for (let i = bytes.length - 64; i < bytes.length; i++) bytes[i] ^= 1;
  writeFileSync(path, bytes);
  utimesSync(path, atime, mtime);
}

describe("a result of values that have changed since", () => {
  before(async () => {
    write(folder, { "model.safetensors": await safetensors(smallModel()) });
    await writeShards(at("shards"), 2);
  });

  it("does not count as done, and is written again with --force", () => {
    const args = ["quantize", "model.safetensors", "int8-channel", "-o", "small.safetensors"];
    assert.equal(zeropoint(folder, args).code, 0);
    assert.match(zeropoint(folder, args).stdout, /done already/);
    retrain(at("model.safetensors"));
    const { code, stderr } = zeropoint(folder, args);
    const line = "zeropoint quantize: small.safetensors exists already; --force overwrites it\n";
    assert.deepEqual([code, stderr], [4, line]);
    assert.equal(zeropoint(folder, [...args, "--force"]).code, 0);
    const fresh = [...args.slice(0, -1), "fresh.safetensors"];
    assert.equal(zeropoint(folder, fresh).code, 0);
    assert.ok(readFileSync(at("small.safetensors")).equals(readFileSync(at("fresh.safetensors"))));
  });

  it("is written again with --force although it is done", () => {
    const args = ["quantize", "model.safetensors", "int8-channel", "-o", "again.safetensors"];
    assert.equal(zeropoint(folder, args).code, 0);
    const { ino } = statSync(at("again.safetensors"));
    const { stdout } = zeropoint(folder, [...args, "--force"]);
    assert.doesNotMatch(stdout, /done already/);
    assert.notEqual(statSync(at("again.safetensors")).ino, ino);
  });

  it("does not count as done if the result itself has changed", () => {
    const args = ["quantize", "model.safetensors", "int8-channel", "-o", "damaged.safetensors"];
    assert.equal(zeropoint(folder, args).code, 0);
    retrain(at("damaged.safetensors"));
    assert.equal(zeropoint(folder, args).code, 4);
  });

  it("is refused by jobs, by the rows of jobs, and by finish", () => {
    const quantize = ["quantize", "shards", "int8-channel", "--shard", "1/1", "-o", "out"];
    const rows = ["analyze", "shards", "--schemes", "int8-channel", "--shard", "1/1", "-o", "rows"];
    for (const args of [quantize, rows]) {
      assert.equal(zeropoint(folder, args).code, 0);
      assert.match(zeropoint(folder, args).stdout, /done already/);
    }
    const finish = ["finish", "out", "--scheme", "int8-channel"];
    assert.equal(zeropoint(folder, finish).code, 0);
    retrain(at("shards", "model-00002-of-00002.safetensors"));
    assert.equal(zeropoint(folder, quantize).code, 4);
    const analyzed = zeropoint(folder, rows);
    assert.equal(analyzed.code, 4);
    assert.match(
      analyzed.stderr,
      /-00002\.safetensors\.rows\.json is of .* the model or the file itself has changed/,
    );
    const { code, stderr } = zeropoint(folder, finish);
    assert.equal(code, 1);
    assert.match(stderr, /model-00002-of-00002\.safetensors: its source has changed since its job/);
    assert.doesNotMatch(stderr, /model-00001/);
    assert.equal(zeropoint(folder, [...rows, "--force"]).code, 0);
  });
});

it("rows of jobs that have changed do not count as done, nor does plan take them", async () => {
  await writeShards(at("edited"), 2);
  const args = ["analyze", "edited", "--schemes", "int8-channel", "--shard", "1/1", "-o", "kept"];
  assert.equal(zeropoint(folder, args).code, 0);
  const plan = ["plan", "kept", "--size", "60%", "--json"];
  const { code, stdout } = zeropoint(folder, plan);
  assert.equal(code, 0);
  const path = at("kept", "model-00002-of-00002.safetensors.rows.json");
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace(/"bytes":\d/, '"bytes":9'));
  const again = zeropoint(folder, args);
  assert.equal(again.code, 4);
  assert.match(
    again.stderr,
    /-00002\.safetensors\.rows\.json is of .* the file itself has changed/,
  );
  const planned = zeropoint(folder, plan);
  assert.equal(planned.code, 1);
  assert.match(planned.stderr, /-00002\.safetensors\.rows\.json: changed since its job wrote it/);
  assert.equal(zeropoint(folder, [...args, "--force"]).code, 0);
  assert.equal(zeropoint(folder, plan).stdout, stdout);
});

it("finish says that an address without a version may have changed since its jobs", async () => {
  const bytes = await safetensors(smallModel());
  const server = createServer(({ url }, response) => {
    response.statusCode = url === "/m.safetensors" ? 200 : 404;
    response.end(response.statusCode === 200 ? bytes : "");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${server.address().port}/m.safetensors`;
  const run = async (...args) => await start(folder, args).ended;
  try {
    const job = ["quantize", address, "int8-channel", "--shard", "1/1", "-o", "remote/"];
    assert.equal((await run(...job)).code, 0);
    const finish = ["finish", "remote", "--scheme", "int8-channel"];
    const said = await run(...finish);
    assert.equal(said.code, 0);
    assert.match(said.output, /m\.safetensors has no version .* found by --verify alone/);
    bytes[bytes.length - 1] ^= 64;
    const { code, output } = await run(...finish, "--force", "--verify");
    assert.equal(code, 1);
    assert.match(output, /differs at byte \d+ from what its source gives/);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

describe("a model that changes while it is read", () => {
  const open = async () => {
    write(folder, { "live.safetensors": await safetensors(smallModel()) });
    const model = await openModel(at("live.safetensors"));
    // Times of some file systems have a resolution of 10 ms.
    await delay(20);
    return model;
  };
  const changed = { code: "ZP_LOAD_FAILED", message: /live\.safetensors has changed while it was/ };

  it("ends the streams of quantizeModel with an error", async () => {
    const model = await open();
    const { files } = await quantizeModel(model, "int8-channel");
    retrain(at("live.safetensors"));
    await assert.rejects(new Response(files[0].stream()).arrayBuffer(), changed);
    await model.close();
  });

  it("ends analyze and compare with an error", async () => {
    const model = await open();
    const other = await openModel(at("live.safetensors"));
    retrain(at("live.safetensors"));
    for (const rows of [analyze(model, { schemes: ["int8-channel"] }), compare(model, other)]) {
      await assert.rejects(async () => {
        for await (const _ of rows);
      }, changed);
    }
    await other.close();
    await model.close();
  });
});

it("a named pipe is no model file, and does not keep a command waiting", {
  skip: process.platform === "win32" && "Windows has no named pipes in folders",
}, async () => {
  assert.equal(spawnSync("mkfifo", [at("pipe.safetensors")]).status, 0);
  const { child, ended } = start(folder, ["inspect", "pipe.safetensors"]);
  const end = setTimeout(() => child.kill("SIGKILL"), 20_000);
  const { code, output } = await ended;
  clearTimeout(end);
  assert.equal(code, 3);
  assert.match(output, /pipe\.safetensors is no file/);
});
