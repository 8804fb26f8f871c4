// Scenarios of connect.test.mjs for a connection in a page, or in a module worker of a page.

import { init, quantize } from "zeropoint";
import { connect } from "zeropoint/worker";

const isPage = typeof document === "object";

/** Hashes the bytes of an array. */
const hash = ({ data }) => {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return bytes.reduce((sum, byte) => (Math.imul(sum, 31) + byte) >>> 0, bytes.length);
};

/** Milliseconds for the answer of a worker. */
const ANSWER_LIMIT = 30_000;

const scenarios = {
  /** Location of a connection, whether its results have the library's bits, and how it stops. */
  async use() {
    await init();
    const zp = await connect();
    const { offThread, reason = null } = zp;
    const x = Float32Array.from({ length: 2 ** 21 }, (_, i) => Math.sin(i));
    const seen = [];
    const onProgress = ({ done, total }) => seen.push(done / total);
    const q = await zp.quantize(x, { onProgress });
    const controller = new AbortController();
    const stopped = zp.quantize(x, { signal: controller.signal }).catch((error) => error.name);
    // On the page's own thread a call that has begun runs as a whole.
    if (offThread) setTimeout(() => controller.abort());
    else controller.abort();
    const layer = await zp.quantizedLinear({ data: x.subarray(0, 65536), shape: [256, 256] });
    const y = await layer.forward({ data: x.subarray(0, 256), shape: [1, 256] });
    const answer = {
      offThread,
      reason,
      isSame: hash(q) === hash(quantize(x)),
      isOwn: q.data instanceof Int8Array,
      isRising: seen.every((part, i) => part > (seen[i - 1] ?? 0)) && seen.at(-1) === 1,
      stopped: await stopped,
      shape: y.shape,
    };
    zp.dispose();
    return answer;
  },

  /** A model file of every kind of source that a page has, through a connection and by direct calls. */
  async models() {
    await init();
    const models = await import("zeropoint/models");
    const zp = await connect({ entries: ["models"] });
    const { offThread, reason = null } = zp;
    const w = {
      data: Float32Array.from({ length: 2 ** 16 }, (_, i) => Math.sin(i)),
      shape: [256, 256],
    };
    const file = new Uint8Array(await new Response(models.save({ w })).arrayBuffer());
    const random = {
      size: file.length,
      read: async (offset, length) => file.subarray(offset, offset + length),
    };
    const direct = await models.openModel(file);
    const { files: expected } = await models.quantizeModel(direct, "int4-g32");
    const written = async ([first]) => {
      const data = new Uint8Array(await new Response(first.stream()).arrayBuffer());
      return hash({ data });
    };
    const results = [];
    for (const source of [
      file,
      new File([file], "m.safetensors"),
      random,
      new Blob([file]).stream(),
    ]) {
      const model = await zp.openModel(source);
      const rows = [];
      for await (const row of zp.analyze(model, { schemes: ["int8-channel"] }))
        rows.push(row.scheme);
      const { files } = await zp.quantizeModel(model, "int4-g32");
      const isSame = (await written(files)) === (await written(expected));
      results.push(`${[...(await model.tensors).keys()]} ${rows} ${isSame}`);
      model.dispose();
    }
    // Relative to the page, not to the worker's script; read in ranges by the library.
    const address = "tests/web/in-browser/connect-page.js";
    const refused = await zp.openModel(address).catch(({ code }) => code);
    const missing = await zp.openModel("no/such.safetensors").catch(({ message }) => message);
    results.push(`${refused} ${missing.includes(new URL("no/such", location.href).href)}`);
    zp.dispose();
    return { offThread, reason, results };
  },

  /** The same in a module worker of the page. */
  async inWorker() {
    const policy = globalThis.trustedTypes?.createPolicy("test", { createScriptURL: (url) => url });
    const { url } = import.meta;
    // On a busy machine Firefox occasionally does not return from the constructor of a nested worker.
    for (let attempt = 0; attempt < 3; attempt++) {
      const worker = new Worker(policy ? policy.createScriptURL(url) : url, { type: "module" });
      const answer = await new Promise((resolve) => {
        worker.addEventListener("message", ({ data }) => resolve(data));
        worker.addEventListener("error", ({ message }) => resolve({ error: message }));
        worker.postMessage("use");
        setTimeout(resolve, ANSWER_LIMIT);
      });
      worker.terminate();
      if (answer !== undefined) return answer;
    }
    return { error: "the worker does not answer" };
  },
};

const run = (scenario) =>
  scenarios[scenario]().catch((error) => ({ error: `${error}\n${error.stack}` }));

if (isPage) globalThis.run = run;
else {
  globalThis.addEventListener("message", async ({ data }) =>
    globalThis.postMessage(await run(data)),
  );
}
