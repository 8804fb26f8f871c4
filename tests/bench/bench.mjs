// npm run bench: compares zeropoint, onnxruntime-web, tfjs and plain JavaScript with each other and with the
// machine's limits, in Chromium and in Node.
//
//   npm run bench                        all cases; minutes
//   npm run bench -- --quick             the main ones; about a minute
//   npm run bench -- --builds            the default beside both builds in all kinds of layers, without the other engines
//   npm run bench -- --smoke             tiny sizes without the other engines, to test the benchmark itself
//   npm run bench -- --only node         one engine: chromium, node (this one) or newest (Node)
//   npm run bench -- --no-avx-vnni       as on x86 processors without AVX-VNNI: V8 does not use it
//   npm run bench -- --no-build          uses dist/ without a build
//   npm run bench -- models              conversions of model files beside cp: models/models.mjs
//   npm run bench -- search              searches of vectors, also with --readme: search/search.mjs
//   npm run bench -- --readme            writes the results into the README, RESULTS.md and the page
//   npm run bench -- --readme --from build/bench/results.json      publishes an earlier run
//
// Writes build/bench/results.json, with the raw samples, and results.md beside it. A wrong result of any contestant
// fails the run.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { arch, cpus, platform, totalmem } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildCore, buildJs } from "../../scripts/build/build.mjs";
import {
  capture,
  Failure,
  root,
  run,
  runAsScript,
  step,
  which,
} from "../../scripts/process/run.mjs";
import { setUp } from "../../scripts/toolchain/setup.mjs";

const here = join(root, "tests", "bench");
const folder = join(root, "build", "bench");
/** V8's flag for processors without AVX-VNNI. */
const NO_AVX_VNNI = "--no-enable-avx-vnni";
const ENGINES = ["chromium", "node", "newest"];

function options(args) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        quick: { type: "boolean", default: false },
        builds: { type: "boolean", default: false },
        smoke: { type: "boolean", default: false },
        readme: { type: "boolean", default: false },
        only: { type: "string", multiple: true },
        from: { type: "string" },
        out: { type: "string" },
        "no-avx-vnni": { type: "boolean", default: false },
        "no-build": { type: "boolean", default: false },
      },
    });
    const unknown = values.only?.find((name) => !ENGINES.includes(name));
    if (unknown) throw new Error(`--only takes ${ENGINES.join(", ")}, got ${unknown}`);
    const sizes = ["smoke", "builds", "quick"].find((name) => values[name]) ?? "full";
    if (values.readme && sizes !== "full") {
      throw new Error(`--readme publishes a full run, not --${sizes}`);
    }
    const file = sizes === "full" ? "results.json" : `${sizes}.json`;
    return { ...values, sizes, out: values.out ?? join("build", "bench", file) };
  } catch (error) {
    throw new Failure(error.message);
  }
}

/** Installs the other engines from a separate package.json on the first run. */
async function installOthers() {
  const stamp = join(here, "node_modules", ".zeropoint-lock");
  const lock = createHash("sha256")
    .update(readFileSync(join(here, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  console.log("Installing the engines that zeropoint is compared with");
  const ci = ["ci", "--include=dev", "--loglevel=error"];
  const npm = process.env.npm_execpath ?? "";
  if (/npm-cli\.c?js$/.test(npm)) await run(process.execPath, [npm, ...ci], { cwd: here });
  else await run(which("npm") ?? "npm", ci, { cwd: here });
  writeFileSync(stamp, lock);
}

/** Whether the other engines are measured, too. */
const hasOthers = (sizes) => sizes !== "smoke" && sizes !== "builds";

const builtCores = () =>
  ["baseline", "relaxed"].filter((build) => existsSync(join(root, "dist", "wasm", `${build}.js`)));

async function inNode(program, sizes, flags) {
  const resultFile = join(folder, `node-${process.pid}.json`);
  const more = hasOthers(sizes) ? [] : ["without-others"];
  await run(program, [...flags, join(here, "node.mjs"), sizes, resultFile, ...more], {
    env: { NODE_NO_WARNINGS: "1" },
  });
  const result = JSON.parse(readFileSync(resultFile, "utf8"));
  rmSync(resultFile);
  return result;
}

async function inChromium(sizes, flags) {
  const { inPage } = await import("./chromium.mjs");
  const withOthers = hasOthers(sizes);
  return inPage(flags, async ({ name, call, browser, server }) => {
    const result = await call("runBenchmark", { name, sizes, builds: builtCores(), withOthers });
    if (sizes === "builds") return result;
    console.log(`${name}: a page's first script to its first result`);
    const measured = builtCores().filter((build) =>
      result.results.some((entry) => entry.contestant === "zeropoint" && entry.build === build),
    );
    // A quick run measures only the default build: every page takes seconds.
    const builds = sizes === "quick" ? measured.slice(-1) : measured;
    const rounds = { full: 11, quick: 3, smoke: 1 }[sizes];
    const { measureStart } = await import("./start.mjs");
    const starts = await measureStart(browser, server, { builds, withOthers, rounds });
    result.results.push(...starts);
    return result;
  });
}

const nodeVersion = (program) => capture(program, ["--version"]).stdout.trim();

function versionsOf(names) {
  const version = (name) =>
    JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8")).version;
  return Object.fromEntries(names.map((name) => [name.split("/").at(-1), version(name)]));
}

/** The processor's vector instruction sets, by Linux's names; empty if Linux does not list them. */
function vectorFeatures(cpuinfo) {
  const [, names = ""] = /^(?:flags|Features)\s*:(.*)$/m.exec(cpuinfo) ?? [];
  return names.split(" ").filter((name) => /^(avx|sse4|ssse3|fma|asimd|i8mm|sve|bf16)/.test(name));
}

function processorFeatures() {
  try {
    return vectorFeatures(readFileSync("/proc/cpuinfo", "utf8"));
  } catch {
    return [];
  }
}

async function buildPackage(purposes) {
  const { emscripten } = await step("Set-up", () => setUp(purposes));
  await buildCore(emscripten);
  await buildJs();
}

async function measure({ sizes, only, "no-build": isBuilt, "no-avx-vnni": isWithout }) {
  const flags = isWithout ? [NO_AVX_VNNI] : [];
  const usual = { smoke: ["node"], quick: ["chromium", "node"], builds: ["chromium", "node"] };
  const wanted = only ?? usual[sizes] ?? ENGINES;
  if (!isBuilt) await buildPackage(wanted.includes("chromium") ? ["core", "chromium"] : ["core"]);
  const { buildLimits } = await import("./limits/build.mjs");
  await step("Limits", buildLimits);
  mkdirSync(folder, { recursive: true });
  if (hasOthers(sizes) || wanted.includes("newest")) await step("Other engines", installOthers);

  const { measureMemory } = await import("./memory.mjs");
  const memory = sizes === "builds" ? undefined : await step("Memory", () => measureMemory(sizes));
  const newest = join(here, "node_modules", "node", "bin", "node");
  const hasNewest = existsSync(newest) && nodeVersion(newest) !== process.version;
  const engines = [];
  const start = performance.now();
  for (const name of wanted) {
    if (name === "newest" && !hasNewest) {
      console.log("Left out: the newest Node is not installed.");
      continue;
    }
    engines.push(
      await step(name === "chromium" ? "Chromium" : name === "node" ? "Node" : "Newest Node", () =>
        name === "chromium"
          ? inChromium(sizes, flags)
          : inNode(
              name === "node" ? process.execPath : newest,
              sizes === "quick" && wanted.length > 1 ? "quick-node" : sizes,
              flags,
            ),
      ),
    );
  }
  const [cpu] = cpus();
  return {
    version: JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version,
    date: new Date().toISOString(),
    sizes,
    seconds: Math.round((performance.now() - start) / 1000),
    machine: {
      cpu: cpu?.model.trim() ?? "unknown",
      cores: cpus().length,
      features: processorFeatures(),
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      platform: `${platform()} ${arch()}`,
    },
    packages: !hasOthers(sizes)
      ? {}
      : versionsOf(["onnxruntime-web", "@tensorflow/tfjs-core", "@tensorflow/tfjs-backend-wasm"]),
    memory,
    engines: engines.map((result) => ({ ...result, flags })),
  };
}

/** Fails the run if any contestant computed a wrong result. */
function failIfWrong({ engines }) {
  const wrong = engines.flatMap(({ engine, results }) =>
    results
      .filter(({ check }) => check.problem)
      .map(({ name, check }) => `${engine}, ${name}: ${check.problem}`),
  );
  if (wrong.length > 0) throw new Failure(`wrong results:\n  ${wrong.join("\n  ")}`);
}

await runAsScript(import.meta.url, async (args) => {
  if (args[0] === "models") {
    const { benchModels } = await import("./models/models.mjs");
    await benchModels(args.slice(1), () => buildPackage(["core"]));
    return;
  }
  if (args[0] === "search") {
    const { benchSearch } = await import("./search/search.mjs");
    await benchSearch(args.slice(1), () => buildPackage(["core", "chromium"]), installOthers);
    return;
  }
  const chosen = options(args);
  const resultFile = resolve(root, chosen.out);
  const results = chosen.from
    ? JSON.parse(readFileSync(resolve(root, chosen.from), "utf8"))
    : await measure(chosen);
  const { overview } = await import("./report.mjs");
  if (!chosen.from) {
    mkdirSync(dirname(resultFile), { recursive: true });
    writeFileSync(resultFile, `${JSON.stringify(results)}\n`);
    writeFileSync(resultFile.replace(/(\.json)?$/, ".md"), `${overview(results)}\n`);
  }
  if (!chosen.smoke) console.log(`\n${overview(results)}`);
  if (!chosen.from) console.log(`Results are in ${chosen.out}`);
  failIfWrong(results);
  if (chosen.readme) {
    const { publish } = await import("./publish.mjs");
    publish(results);
  }
});
