// The benchmarks inside a page: bench.mjs calls window.runBenchmark, and search/search.mjs window.runSearch; they
// resolve to the results as JSON.

import { startCore } from "./contestants/core.mjs";
import { prepareOrt, prepareTf } from "./engines.mjs";
import { hnswlib, tfjs, voy } from "./search/others.mjs";
import { measureSearch } from "./search/suite.mjs";
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
  return { ort: prepareOrt(ort, `${modules}onnxruntime-web/dist/`), tf: await loadTf() };
}

async function loadTf() {
  await loadScript(`${modules}@tensorflow/tfjs-core/dist/tf-core.min.js`);
  await loadScript(`${modules}@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.min.js`);
  const { tf } = globalThis;
  return prepareTf(tf, tf.wasm, `${modules}@tensorflow/tfjs-backend-wasm/dist/`);
}

/** The other programs that search vectors and run in pages. */
const searchPrograms = () => [
  tfjs(loadTf),
  hnswlib(async () => {
    const programs = "/build/bench/search-programs/node_modules";
    return (await import(`${programs}/hnswlib-wasm/dist/hnswlib.js`)).loadHnswlib();
  }),
  voy(
    () => import(`${modules}voy-search/voy_search_bg.js`),
    async () => (await fetch(`${modules}voy-search/voy_search_bg.wasm`)).arrayBuffer(),
  ),
];

const compileLimits = (build) =>
  WebAssembly.compileStreaming(fetch(`/build/bench/limits-${build}.wasm`));

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
        ["baseline", "relaxed"].map((build) => [build, () => compileLimits(build)]),
      ),
      ...(withOthers ? await otherEngines() : {}),
    },
    SIZES[sizes],
    (line) => console.log(line),
  );
  return JSON.stringify(results);
};

window.runSearch = async ({ rows, dimensions, rounds, withOthers }) => {
  if (!crossOriginIsolated) throw new Error("the page has no shared memory");
  const { save } = await import("/dist/models/index.js");
  const measured = await measureSearch(
    {
      create: (await import("/dist/index.js")).create,
      search: await import("/dist/search.js"),
      limits: await compileLimits("baseline"),
      store: async (index) => {
        const source = await new Response(save(index)).blob();
        return {
          source,
          bytes: source.size,
          read: () => source.arrayBuffer(),
          remove: () => {},
        };
      },
      others: withOthers ? searchPrograms() : [],
    },
    { rows, dimensions, rounds },
  );
  return JSON.stringify(measured);
};
