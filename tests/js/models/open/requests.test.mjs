// Servers that stall, are busy, send without end, or have a folder: what is waited for, and how long.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { init } from "zeropoint";
import { load, openModel } from "zeropoint/models";
import { rejects } from "../../support/asserts.mjs";
import { safetensorsOf } from "../../support/files/checkpoints.mjs";

await init();

const values = Float32Array.from({ length: 2 ** 16 }, (_, i) => i);
const file = await safetensorsOf({ w: ["float32", [2 ** 16], values] });
const END = file.length;

/** Answers a request for a range honestly. */
function honest(request, response) {
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
  if (from === undefined) return void response.end(file);
  const end = Math.min(Number(to), END - 1);
  response.writeHead(206, { "content-range": `bytes ${from}-${end}/${END}` });
  response.end(file.subarray(Number(from), end + 1));
}

let server;
let origin;
let address;
let answer;
let requests = [];
before(async () => {
  server = createServer((request, response) => {
    requests.push(request.url);
    answer(request, response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${server.address().port}`;
  address = `${origin}/m.safetensors`;
});
after(() => {
  server.close();
  server.closeAllConnections();
});

describe("options.timeout", () => {
  const STALLED = /has sent nothing for 0\.15 s \(options\.timeout\)/;
  const stalls = [
    ["before its answer", () => {}],
    [
      "in the first range",
      (_, response) => {
        response.writeHead(206, { "content-range": `bytes 0-65535/${END}` });
        response.write(file.subarray(0, 100));
      },
    ],
    ["in a whole file", (_, response) => void response.write(file.subarray(0, 100))],
  ];
  for (const [where, stall] of stalls) {
    it(`ends the wait for a server that stalls ${where}`, async () => {
      answer = stall;
      const begin = performance.now();
      await rejects(openModel(address, { timeout: 150 }), Error, "ZP_LOAD_FAILED", STALLED);
      assert.ok(performance.now() - begin < 5000);
    });
  }

  it("ends the wait for a server that stalls while a tensor is read", async () => {
    answer = honest;
    const model = await openModel(address, { timeout: 150 });
    answer = () => {};
    await rejects(model.read("w"), Error, "ZP_LOAD_FAILED", STALLED);
  });

  it("does not end a slow answer that goes on", async () => {
    answer = async (_, response) => {
      for (let at = 0; at < END; at += END / 8) {
        response.write(file.subarray(at, at + END / 8));
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
      response.end();
    };
    const model = await openModel(address, { timeout: 400 });
    assert.deepEqual((await model.read("w")).data, values);
  });

  it("is a number above 0, and Infinity waits until the signal", async () => {
    for (const timeout of [0, -1, Number.NaN]) {
      const problem = /options\.timeout must be a number above 0/;
      await rejects(openModel(address, { timeout }), RangeError, "ZP_INVALID_OPTION", problem);
    }
    answer = () => {};
    const options = { timeout: Number.POSITIVE_INFINITY, signal: AbortSignal.timeout(100) };
    await assert.rejects(openModel(address, options), { name: "TimeoutError" });
  });
});

describe("A busy server", () => {
  /** Answers a number of requests with a status first. */
  const busy = (status, times, headers) => {
    let left = times;
    return (request, response) => {
      if (left-- <= 0) return honest(request, response);
      response.writeHead(status, headers);
      response.end("busy");
    };
  };

  for (const status of [429, 503]) {
    it(`is asked again after the time that it names: ${status}`, async () => {
      answer = busy(status, 2, { "retry-after": "0" });
      const model = await openModel(address);
      answer = busy(status, 1, { "retry-after": new Date(Date.now() - 1000).toUTCString() });
      assert.deepEqual((await model.read("w")).data, values);
    });
  }

  it("is waited for as long as it says, or a second where it says nothing", async () => {
    for (const headers of [{ "retry-after": "1" }, {}, { "retry-after": "soon" }]) {
      answer = busy(429, 1, headers);
      const begin = performance.now();
      await openModel(address);
      assert.ok(performance.now() - begin > 900, JSON.stringify(headers));
    }
  });

  it("is asked five times at most", async () => {
    answer = busy(503, 99, { "retry-after": "0" });
    requests = [];
    await rejects(openModel(address), Error, "ZP_LOAD_FAILED", /answers 503/);
    assert.equal(requests.length, 5);
  });

  it("is not waited for longer than options.timeout", async () => {
    answer = busy(429, 1, { "retry-after": "3600" });
    requests = [];
    await rejects(openModel(address), Error, "ZP_LOAD_FAILED", /answers 429/);
    assert.equal(requests.length, 1);
  });

  it("is not waited for when the signal is aborted", async () => {
    answer = busy(429, 9, { "retry-after": "30" });
    const begin = performance.now();
    const opened = openModel(address, { signal: AbortSignal.timeout(100) });
    await assert.rejects(opened, { name: "TimeoutError" });
    assert.ok(performance.now() - begin < 5000);
  });

  it("is not asked again for what it does not have", async () => {
    answer = busy(404, 9, { "retry-after": "0" });
    requests = [];
    await rejects(openModel(address), Error, "ZP_LOAD_FAILED", /answers 404/);
    assert.equal(requests.length, 1);
  });
});

describe("A file that comes as a whole", () => {
  const LIMIT = /comes as a whole .* at most 1048576 bytes \(options\.maxBytes\)/;
  const maxBytes = 2 ** 20;
  let sent = 0;
  /** Sends chunks for as long as they are read. */
  const endless = (headers, chunk) => async (_, response) => {
    sent = 0;
    response.writeHead(200, headers);
    while (!response.destroyed && sent < 2 ** 28) {
      sent += chunk.length;
      if (response.write(chunk)) continue;
      await new Promise((resolve) => {
        response.once("drain", resolve).once("close", resolve);
      });
    }
    response.end();
  };

  it("is opened where it fits", async () => {
    answer = (_, response) => void response.end(file);
    const model = await openModel(address, { maxBytes });
    assert.deepEqual((await model.read("w")).data, values);
  });

  it("has at most options.maxBytes, from a server that sends without end", async () => {
    answer = endless({}, new Uint8Array(2 ** 16));
    await rejects(openModel(address, { maxBytes }), RangeError, "ZP_UNSUPPORTED_FILE", LIMIT);
    assert.ok(sent < 2 ** 25, `${sent} bytes were sent`);
  });

  it("has at most options.maxBytes, once it is decompressed", async () => {
    answer = endless({ "content-encoding": "gzip" }, gzipSync(new Uint8Array(2 ** 24)));
    await rejects(openModel(address, { maxBytes }), RangeError, "ZP_UNSUPPORTED_FILE", LIMIT);
    assert.ok(sent < 2 ** 24, `${sent} bytes were sent`);
  });

  it("is refused by the length that its server names", async () => {
    answer = (_, response) => {
      response.writeHead(200, { "content-length": String(2 ** 40) });
      response.write("x");
    };
    await rejects(openModel(address, { maxBytes }), RangeError, "ZP_UNSUPPORTED_FILE", LIMIT);
    await rejects(openModel(address), RangeError, "ZP_UNSUPPORTED_FILE", /at most 4294967296/);
    await rejects(load(address), RangeError, "ZP_UNSUPPORTED_FILE", /at most 4294967296/);
  });

  it("has at most options.maxBytes, as a response or a stream", async () => {
    const chunks = () => {
      let left = 64;
      return new ReadableStream({
        pull: (controller) => {
          if (left-- > 0) controller.enqueue(new Uint8Array(2 ** 16));
          else controller.close();
        },
      });
    };
    for (const make of [chunks, () => new Response(chunks()), () => chunks().values()]) {
      await rejects(openModel(make(), { maxBytes }), RangeError, "ZP_UNSUPPORTED_FILE", LIMIT);
    }
  });
});

describe("The address of a folder", () => {
  /** Serves files by path; other paths have a status, and a text. */
  const folder = (files, status = 404, text = "none") => {
    requests = [];
    answer = (request, response) => {
      const path = request.url.split("?")[0];
      if (Object.hasOwn(files, path)) return void response.end(files[path]);
      response.writeHead(status);
      response.end(text);
    };
  };
  const small = (value) => safetensorsOf({ w: ["float32", [1], Float32Array.of(value)] });

  it("opens the files that a model has by custom, in one order", async () => {
    const index = JSON.stringify({ weight_map: { w: "s.safetensors" } });
    for (const [files, value] of [
      [{ "/m/model.safetensors": await small(1) }, 1],
      [{ "/m/model.safetensors.index.json": index, "/m/s.safetensors": await small(2) }, 2],
    ]) {
      folder(files);
      for (const source of [`${origin}/m/`, new URL(`${origin}/m/?download=true`)]) {
        const model = await openModel(source);
        assert.deepEqual([...(await model.read("w")).data], [value]);
      }
    }
    assert.equal(requests[0], "/m/model.safetensors.index.json");
  });

  it("says that a file must be named where there is none of them", async () => {
    for (const status of [403, 404]) {
      folder({ "/m/other.safetensors": await small(3) }, status);
      const problem = /\/m\/ has none of .*onnx\/model\.onnx; name the file in it/;
      await rejects(openModel(`${origin}/m/`), Error, "ZP_LOAD_FAILED", problem);
      folder({ "/m/": "<!doctype html><a href=other.safetensors>" }, status);
      await rejects(openModel(`${origin}/m/`), Error, "ZP_LOAD_FAILED", problem);
    }
  });

  it("may be that of a file all the same", async () => {
    folder({ "/latest/": await small(4) });
    assert.deepEqual([...(await (await openModel(`${origin}/latest/`)).read("w")).data], [4]);
  });

  it("is told apart from a server that fails", async () => {
    folder({}, 500);
    await rejects(openModel(`${origin}/m/`), Error, "ZP_LOAD_FAILED", /index\.json answers 500/);
  });

  it("has the files of a model in a folder of its own beside each other", async () => {
    const config = { "/m/onnx/config.json": "{" };
    folder({ "/m/onnx/model.safetensors": await small(5), ...config });
    const model = await openModel(`${origin}/m/onnx/model.safetensors?download=true`);
    assert.deepEqual([...(await model.read("w")).data], [5]);
  });
});
