// Servers and caches that answer requests for ranges with other bytes.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { init } from "zeropoint";
import { openModel } from "zeropoint/models";
import { rejects } from "../../support/asserts.mjs";
import { safetensorsOf } from "../../support/files/checkpoints.mjs";

await init();

const values = Float32Array.from({ length: 2 ** 16 }, (_, i) => i);
const file = await safetensorsOf({ w: ["float32", [2 ** 16], values] });
const END = file.length;

/** An honest answer to a request for bytes [from, to]. */
const honest = (from, to) => {
  const end = Math.min(to, END - 1);
  return {
    headers: { "content-range": `bytes ${from}-${end}/${END}` },
    chunks: [file.subarray(from, end + 1)],
  };
};

describe("Ranges of an address", () => {
  let server;
  let address;
  let answer;
  let written = 0;
  before(async () => {
    server = createServer(async ({ headers: { range } }, response) => {
      const asked = /^bytes=(\d+)-(\d+)$/.exec(range ?? "");
      const [from, to] = asked?.slice(1).map(Number) ?? [0, END - 1];
      const { status = asked ? 206 : 200, headers, chunks } = answer(from, to, asked !== null);
      response.writeHead(status, headers);
      for (const chunk of chunks) {
        if (response.destroyed) break;
        written += chunk.length;
        if (response.write(chunk)) continue;
        await new Promise((resolve) => {
          response.once("drain", resolve).once("close", resolve);
        });
      }
      response.end();
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    address = `http://127.0.0.1:${server.address().port}/m.safetensors`;
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });

  it("are read as they are asked for", async () => {
    answer = honest;
    assert.deepEqual((await (await openModel(address)).read("w")).data, values);
  });

  const MANY = Array.from({ length: 2 ** 12 }, () => new Uint8Array(2 ** 14));
  for (const [what, later, message] of [
    [
      "another place, and says so",
      (from, to) => honest(from - 4, to - 4),
      /answers bytes \d+-\d+\/\d+ where bytes \d+-\d+ were asked for/,
    ],
    ["fewer bytes, and says so", (from, to) => honest(from, to - 4), /were asked for/],
    ["more bytes, and says so", (from) => honest(from - 4, END), /were asked for/],
    [
      "another total",
      (from, to) => ({
        ...honest(from, to),
        headers: { "content-range": `bytes ${from}-${to}/${END + 4}` },
      }),
      /has changed while it is read/,
    ],
    [
      "another version of the file",
      (...at) => ({ ...honest(...at), headers: { ...honest(...at).headers, etag: '"2"' } }),
      /has changed while it is read/,
    ],
    [
      "no Content-Range",
      (...at) => ({ ...honest(...at), headers: {} }),
      /answers no Content-Range/,
    ],
    [
      "several ranges",
      (...at) => ({
        ...honest(...at),
        headers: { "content-type": "multipart/byteranges; boundary=x" },
      }),
      /answers no Content-Range/,
    ],
    [
      "fewer bytes than it says",
      (...at) => ({ ...honest(...at), chunks: [new Uint8Array(9)] }),
      /answers 9 bytes where it names \d+ in Content-Range/,
    ],
    [
      "64 MiB",
      (...at) => ({ ...honest(...at), chunks: MANY }),
      /answers more bytes where it names/,
    ],
    [
      "64 MiB, compressed",
      (...at) => ({
        headers: { ...honest(...at).headers, "content-encoding": "gzip" },
        chunks: [gzipSync(Buffer.alloc(2 ** 26))],
      }),
      /answers more bytes where it names/,
    ],
  ]) {
    it(`are no other bytes where a server answers ${what}`, async () => {
      answer = (from, to) => (from === 0 ? honest : later)(from, to);
      const model = await openModel(address);
      written = 0;
      await rejects(model.read("w"), Error, "ZP_LOAD_FAILED", message);
      assert.ok(written < 2 ** 24, `${written} bytes were sent`);
      await model.close();
    });
  }

  it("end when the first answer is longer than it says", async () => {
    written = 0;
    answer = (...at) => ({ ...honest(...at), chunks: MANY });
    await rejects(openModel(address), Error, "ZP_LOAD_FAILED", /answers more bytes/);
    assert.ok(written < 2 ** 24, `${written} bytes were sent`);
  });

  it("are not used where the first answer is another range, or makes no sense", async () => {
    for (const range of ["bytes 4-65539/262224", "bytes 9-3/99", "bytes 0-65535/100", "x", ""]) {
      answer = (from, to, isRange) =>
        isRange ? { ...honest(from, to), headers: { "content-range": range } } : honest(0, END - 1);
      const model = await openModel(address);
      assert.deepEqual((await model.read("w")).data, values, range);
      answer = (...at) => ({ ...honest(...at), status: 206, headers: { "content-range": range } });
      await rejects(openModel(address), Error, "ZP_LOAD_FAILED", /answers 206, a part/);
    }
  });
});
