// Loads the package in a realm of its own, as jest does, and prints which realm the results of a connection are of.
//
//   node --experimental-vm-modules realm.mjs

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import vm from "node:vm";

const context = vm.createContext({
  performance,
  setImmediate,
  setTimeout,
  clearTimeout,
  process,
  URL,
  TextDecoder,
  TextEncoder,
  structuredClone,
  fetch,
  AbortSignal,
  console,
});
const modules = new Map();
const load = async (url) => {
  if (!modules.has(url))
    modules.set(
      url,
      new vm.SourceTextModule(readFileSync(fileURLToPath(url), "utf8"), {
        context,
        identifier: url,
        initializeImportMeta: (meta) => {
          meta.url = url;
        },
        importModuleDynamically: async (name) => evaluate(new URL(name, url).href),
      }),
    );
  return modules.get(url);
};
const evaluate = async (url) => {
  const module = await load(url);
  if (module.status === "unlinked")
    await module.link((name, { identifier }) => load(new URL(name, identifier).href));
  await module.evaluate();
  return module;
};
const { namespace } = await evaluate(
  new URL("../../../../dist/worker/index.js", import.meta.url).href,
);
const zp = await namespace.connect();
const own = vm.runInContext("({ Float32Array, Int8Array, RangeError })", context);
for (const length of [3, 200000]) {
  const { data } = await zp.quantize(new own.Float32Array(length).fill(1));
  console.log(data instanceof own.Int8Array, data instanceof Int8Array, data[0]);
}
await zp
  .quantize(new own.Float32Array(2), { axis: 9 })
  .catch((error) => console.log(error instanceof own.RangeError, error.code));
zp.dispose();
