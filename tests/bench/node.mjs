// The benchmark inside Node; bench.mjs starts it with each Node version.
//
//   node node.mjs <sizes> <file for the results> [without-others]

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { startCore } from "./contestants/core.mjs";
import { prepareOrt, prepareTf } from "./engines.mjs";
import { limitFile } from "./limits/build.mjs";
import { runSuite, SIZES } from "./suite.mjs";

const [, , sizes, resultFile, others] = process.argv;
const dist = new URL("../../dist/", import.meta.url);

async function otherEngines() {
  const require = createRequire(import.meta.url);
  const ort = prepareOrt(await import("onnxruntime-web"));
  const tf = await prepareTf(
    require("@tensorflow/tfjs-core"),
    require("@tensorflow/tfjs-backend-wasm"),
  );
  return { ort, tf };
}

const result = await runSuite(
  {
    name: `Node ${process.versions.node}`,
    zeropoint: await import(new URL("index.js", dist).href),
    torch: await import(new URL("torch.js", dist).href),
    models: await import(new URL("models/index.js", dist).href),
    connect: (await import(new URL("worker/index.js", dist).href)).connect,
    cores: ["baseline", "relaxed"].map((build) => ({
      build,
      load: async () => {
        const { instantiate } = await import(new URL("core/bindings.js", dist).href);
        return startCore(instantiate, readFileSync(new URL(`wasm/${build}.wasm`, dist)));
      },
    })),
    limits: Object.fromEntries(
      ["baseline", "relaxed"].map((build) => [
        build,
        () => WebAssembly.compile(readFileSync(limitFile(build))),
      ]),
    ),
    ...(others === "without-others" ? {} : await otherEngines()),
  },
  SIZES[sizes],
  console.log,
);
writeFileSync(resultFile, JSON.stringify(result));
// Exit explicitly: an engine's idle threads keep the process alive.
process.exit(0);
