// The benchmark inside Node: started by bench.mjs, under one Node or another.
//
//   node node.mjs <sizes> <file for the results> [without-others]

import { existsSync, readFileSync, writeFileSync } from "node:fs";
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
    cores: ["baseline", "relaxed"]
      .filter((build) => existsSync(new URL(`core/${build}.js`, dist)))
      .map((build) => ({
        build,
        load: async () => {
          const { default: start } = await import(new URL(`core/${build}.js`, dist).href);
          const binary = new URL(`core/${build}.wasm`, dist);
          return startCore(start, existsSync(binary) ? readFileSync(binary) : undefined);
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
// Threads of any engine may still be waiting for work.
process.exit(0);
