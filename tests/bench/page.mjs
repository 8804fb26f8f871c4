// The benchmark inside a page: bench.mjs calls window.runBenchmark, which resolves to the results as JSON.

import { startCore } from "./contestants/core.mjs";
import { prepareOrt, prepareTf } from "./engines.mjs";
import { runSuite, SIZES } from "./suite.mjs";

const modules = new URL("node_modules/", import.meta.url).href;

/** Loads a classic script, the form in which tfjs is distributed. */
function loadScript(src) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = src;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${src} cannot be loaded`));
    document.head.append(script);
  });
}

async function otherEngines() {
  const ort = await import(`${modules}onnxruntime-web/dist/ort.wasm.min.mjs`);
  await loadScript(`${modules}@tensorflow/tfjs-core/dist/tf-core.min.js`);
  await loadScript(`${modules}@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.min.js`);
  const { tf } = globalThis;
  return {
    ort: prepareOrt(ort, `${modules}onnxruntime-web/dist/`),
    tf: await prepareTf(tf, tf.wasm, `${modules}@tensorflow/tfjs-backend-wasm/dist/`),
  };
}

window.runBenchmark = async ({ name, sizes, builds, withOthers }) => {
  if (!crossOriginIsolated) throw new Error("the page has no shared memory");
  const results = await runSuite(
    {
      name,
      zeropoint: await import("/dist/index.js"),
      torch: await import("/dist/torch.js"),
      models: await import("/dist/models/index.js"),
      connect: (await import("/dist/worker/index.js")).connect,
      cores: builds.map((build) => ({
        build,
        load: async () => {
          const { instantiate } = await import("/dist/core/bindings.js");
          const binary = await fetch(`/dist/wasm/${build}.wasm`);
          return startCore(instantiate, await binary.arrayBuffer());
        },
      })),
      limits: Object.fromEntries(
        ["baseline", "relaxed"].map((build) => [
          build,
          () => WebAssembly.compileStreaming(fetch(`/build/bench/limits-${build}.wasm`)),
        ]),
      ),
      ...(withOthers ? await otherEngines() : {}),
    },
    SIZES[sizes],
    (line) => console.log(line),
  );
  return JSON.stringify(results);
};
