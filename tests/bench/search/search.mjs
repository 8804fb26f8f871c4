// npm run bench -- search: searches of vectors beside the machine's speed of reading, plain JavaScript and other
// programs from npm, in the newest Node and in Chromium.
//
//   npm run bench -- search [--rows 100000] [--dimensions 768] [--rounds 31] [--only node] [--alone] [--no-build]
//   npm run bench -- search --readme     writes the results into the README and RESULTS.md
//   npm run bench -- search --readme --from build/bench/search.json      publishes an earlier run
//
// --only takes node or chromium; --alone leaves other programs out. Writes build/bench/search.json, or what --out names,
// and the tables beside it.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { install as installWithoutScripts } from "../../../scripts/checks/check-engines.mjs";
import { Failure, root, run, step } from "../../../scripts/process/run.mjs";
import { inPage } from "../chromium.mjs";
import { publishSearch, searchSection } from "./publish.mjs";

const ENGINES = ["node", "chromium"];
const folder = join(root, "build", "bench");
const programs = join(folder, "search-programs");

function options(args) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        rows: { type: "string", default: "100000" },
        dimensions: { type: "string", default: "768" },
        rounds: { type: "string", default: "31" },
        only: { type: "string" },
        alone: { type: "boolean", default: false },
        "no-build": { type: "boolean", default: false },
        readme: { type: "boolean", default: false },
        from: { type: "string" },
        out: { type: "string", default: join("build", "bench", "search.json") },
      },
    });
    const numbers = [values.rows, values.dimensions, values.rounds].map(Number);
    if (numbers.some((number) => !(Number.isInteger(number) && number > 0))) {
      throw new Error("--rows, --dimensions and --rounds take numbers from 1 on");
    }
    if (values.only !== undefined && !ENGINES.includes(values.only)) {
      throw new Error(`--only takes ${ENGINES.join(" or ")}, got ${values.only}`);
    }
    if (values.readme && (values.alone || values.only !== undefined)) {
      throw new Error("--readme publishes a run of all, not --alone or --only");
    }
    const [rows, dimensions, rounds] = numbers;
    const engines = values.only === undefined ? ENGINES : [values.only];
    return { ...values, sizes: { rows, dimensions, rounds }, engines };
  } catch (error) {
    throw new Failure(error.message);
  }
}

async function inNode({ rows, dimensions, rounds }, withOthers) {
  const newest = join(root, "tests", "bench", "node_modules", "node", "bin", "node");
  const program = withOthers && existsSync(newest) ? newest : process.execPath;
  const file = join(folder, `search-node-${process.pid}.json`);
  const script = fileURLToPath(new URL("run.mjs", import.meta.url));
  const more = withOthers ? [] : ["without-others"];
  await run(program, [script, rows, dimensions, rounds, file, ...more].map(String), {
    env: { NODE_NO_WARNINGS: "1", ZEROPOINT_PROGRAMS: programs },
  });
  const result = JSON.parse(readFileSync(file, "utf8"));
  rmSync(file);
  return result;
}

const inChromium = (sizes, withOthers) =>
  inPage([], async ({ name, call }) => ({
    engine: name,
    ...(await call("runSearch", { ...sizes, withOthers })),
  }));

async function measure({ sizes, engines, alone }, install) {
  const { buildLimits } = await import("../limits/build.mjs");
  await buildLimits();
  mkdirSync(folder, { recursive: true });
  if (!alone) {
    await install();
    // Its installation runs a script, which it does not need: it has binaries.
    await installWithoutScripts(["usearch@2.26.2", "hnswlib-wasm@0.8.2"], programs);
  }
  const before = loadavg()[0];
  const measured = [];
  for (const name of engines) {
    const one = name === "node" ? inNode : inChromium;
    measured.push(await step(name === "node" ? "Node" : "Chromium", () => one(sizes, !alone)));
  }
  const [cpu] = cpus();
  return {
    date: new Date().toISOString(),
    machine: { cpu: cpu?.model.trim() ?? "unknown", cores: cpus().length },
    load: [before, loadavg()[0]],
    engines: measured,
  };
}

/** Measures, prints and writes the tables; publishes them if asked. */
export async function benchSearch(args, build, install) {
  const chosen = options(args);
  const file = resolve(root, chosen.out);
  let run;
  if (chosen.from === undefined) {
    if (!chosen["no-build"]) await build();
    run = await measure(chosen, install);
    writeFileSync(file, `${JSON.stringify(run)}\n`);
  } else {
    run = JSON.parse(readFileSync(resolve(root, chosen.from), "utf8"));
  }
  const text = searchSection(run);
  writeFileSync(file.replace(/(\.json)?$/, ".md"), `${text}\n`);
  console.log(`\n${text}`);
  if (chosen.readme) publishSearch(run);
}
