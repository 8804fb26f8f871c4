// Tables, progress and files of the command line.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  distinct,
  files,
  isPartialOf,
  Progress,
  partialPath,
  shorten,
  tableText,
  wrap,
  writeError,
} from "../../internal/cli.mjs";
import { makeFolder } from "../support/processes/cli.mjs";

const plain = { bold: String, dim: String };
const columns = [
  { title: "name", isText: true, value: (row) => row.name },
  ...[1, 2, 3, 4].map((i) => ({ title: `int${i}\ng32`, value: (row) => 100 * i + row.index })),
];
const rows = [
  { name: "model.layers.0.self_attn.q_proj.weight", index: 1 },
  { name: "model.layers.0.self_attn.k_proj.weight", index: 22 },
];
const signal = new AbortController().signal;

describe("a table", () => {
  it("has any width in a pipe", () => {
    assert.equal(
      tableText(columns, rows, undefined, plain),
      `                                        int1  int2  int3  int4
name                                     g32   g32   g32   g32
model.layers.0.self_attn.q_proj.weight   101   201   301   401
model.layers.0.self_attn.k_proj.weight   122   222   322   422
`,
    );
  });

  for (const width of [60, 40, 30, 24]) {
    it(`fits a terminal of ${width} columns, and loses no figure`, () => {
      const text = tableText(columns, rows, width, plain);
      for (const line of text.split("\n")) assert.ok(line.length <= width, line);
      for (const figure of ["101", "222", "322", "401"]) assert.match(text, new RegExp(figure));
    });
  }

  it("removes the common part of names before it shortens them", () => {
    assert.deepEqual(distinct(["m.layers.0.up.weight", "m.layers.0.down.weight"]), [
      "…up…",
      "…down…",
    ]);
    assert.deepEqual(distinct(["m.a.weight", "m.a.weight.scale"]), ["…weight", "…weight.scale"]);
    assert.deepEqual(distinct(["head.weight", "bias"]), ["head.weight", "bias"]);
    assert.deepEqual(distinct(["a.b"]), ["a.b"]);
    assert.match(tableText(columns, rows, 40, plain), /…self_attn\.q_proj…|…q_proj…/);
  });

  it("breaks lines at spaces", () => {
    assert.equal(wrap("one two three", 9, 2), "one two\n  three");
    assert.equal(wrap("  one two three", 11, 2), "  one two\n    three");
  });

  it("shortens names in the middle", () => {
    assert.equal(shorten("model.layers.0.weight", 11), "model…eight");
    assert.equal(shorten("abc", 3), "abc");
    assert.equal(shorten("abcd", 1), "…");
  });
});

describe("a file", () => {
  const folder = makeFolder();

  it("gets its name when it is complete", async () => {
    const path = join(folder, "new", "a.txt");
    async function* chunks() {
      yield "abc";
      assert.equal(existsSync(path), false);
      assert.ok(readdirSync(join(folder, "new")).every((name) => isPartialOf(path, name)));
      yield Uint8Array.of(100);
    }
    const { size, sha256 } = await files.writeFile(path, chunks, signal);
    assert.equal(readFileSync(path, "utf8"), "abcd");
    assert.equal(size, 4);
    assert.match(sha256, /^88d4266f/);
    assert.deepEqual(readdirSync(join(folder, "new")), ["a.txt"]);
  });

  it("leaves nothing after an error or an abort", async () => {
    const path = join(folder, "failed", "a.txt");
    const abort = new AbortController();
    async function* failing() {
      yield "abc";
      throw new Error("cut");
    }
    async function* aborting() {
      yield "abc";
      abort.abort(new Error("stop"));
      yield "d";
    }
    await assert.rejects(files.writeFile(path, failing, signal), /cut/);
    await assert.rejects(files.writeFile(path, aborting, abort.signal), /stop/);
    assert.deepEqual(readdirSync(join(folder, "failed")), []);
  });

  it("is named in errors, not its unfinished file", async () => {
    const path = join(folder, "taken");
    mkdirSync(path);
    await assert.rejects(
      files.writeFile(path, () => ["abc"], signal),
      {
        code: 4,
        message: /taken: it is a folder$/,
      },
    );
    const full = Object.assign(new Error("no space"), { code: "ENOSPC", syscall: "write" });
    const partial = partialPath(path);
    const { message } = writeError(path, partial, full);
    assert.match(message, /taken: no space left on the device; nothing was left of it$/);
    const reading = Object.assign(new Error("damaged"), { code: "EIO", syscall: "read" });
    assert.equal(writeError(path, partial, reading), reading);
  });

  it("is refused before it is begun where the disk has no room", async () => {
    await files.checkRoom(join(folder, "not", "there", "yet"), 1000);
    await assert.rejects(files.checkRoom(join(folder, "big"), 1e18), {
      code: 4,
      message: /big needs 1000000 TB, and the disk of .* has .* left$/,
    });
  });
});

describe("progress", () => {
  /** Output on standard error. */
  function said(stream, work) {
    const { write, isTTY, columns: before } = process.stderr;
    const texts = [];
    process.stderr.write = (text) => texts.push(text) > 0;
    Object.assign(process.stderr, stream);
    try {
      work();
    } finally {
      Object.assign(process.stderr, { write, isTTY, columns: before });
    }
    return texts;
  }
  const later = (t, seconds) => t.mock.method(performance, "now", () => 1000 * seconds);

  it("is one line that fits the terminal, with rate and time left", (t) => {
    later(t, 0);
    const texts = said({ isTTY: true, columns: 60 }, () => {
      const progress = new Progress("analyzing model.safetensors", false);
      later(t, 10);
      progress.update({ done: 1e9, total: 4e9, name: "model.layers.0.self_attn.q_proj.weight" });
      progress.finish("done");
    });
    const [line, clear, last] = texts;
    assert.equal(line.slice(0, 4), "\r\u001b[K");
    assert.ok(line.slice(4).length < 60, line);
    assert.equal(clear, "\r\u001b[K");
    assert.equal(last, "done\n");
  });

  it("is a line from time to time in a pipe", (t) => {
    later(t, 0);
    const texts = said({ isTTY: false }, () => {
      const progress = new Progress("writing", false);
      progress.update({ done: 0, total: 4e9 });
      for (let i = 1; i <= 25; i++) {
        later(t, i);
        progress.update({ done: i * 1e8, total: 4e9, name: "w" });
      }
    });
    assert.deepEqual(texts, [
      "writing: 25 %, 100 MB/s, 30 s left, w\n",
      "writing: 50 %, 100 MB/s, 20 s left, w\n",
    ]);
  });

  it("computes the rate of a continued job without the earlier part", (t) => {
    later(t, 0);
    const texts = said({ isTTY: false }, () => {
      const progress = new Progress("writing", false);
      progress.update({ done: 2e9, total: 4e9 });
      later(t, 10);
      progress.update({ done: 3e9, total: 4e9 });
    });
    assert.deepEqual(texts, ["writing: 75 %, 100 MB/s, 10 s left\n"]);
  });

  it("is nothing with --quiet", (t) => {
    later(t, 0);
    const texts = said({ isTTY: true, columns: 60 }, () => {
      const progress = new Progress("writing", true);
      later(t, 10);
      progress.update({ done: 1, total: 2 });
      progress.finish("done");
    });
    assert.deepEqual(texts, []);
  });
});
