// npm run bench -- models: conversions of model files beside cp of the same file.
//
//   npm run bench -- models [--mib 512] [--rounds 5] [--only gguf] [--no-build]
//
// Each round runs cp, then every conversion of that file, each in a process of its own; medians of all rounds. The
// files are in the page cache, since they were just written. Needs three times --mib on the disk.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Failure } from "../../../scripts/process/run.mjs";
import { summary } from "../measure.mjs";
import { makeInput } from "./inputs.mjs";

/** Conversions by format of the file: title, scheme, options of quantizeModel. */
const CONVERSIONS = {
  safetensors: [
    ["bfloat16 to int4-g128", "int4-g128", {}],
    ["bfloat16 to mlx, 4 bits", "uint4-g64-affine", { target: "mlx" }],
    ["bfloat16 to compressed-tensors W4A16", "W4A16", { target: "compressed-tensors" }],
  ],
  gguf: [
    ["float16 to Q8_0", "Q8_0", {}],
    ["float16 to Q4_K", "Q4_K", {}],
  ],
  onnx: [["float32 to int8 for the web", "int8-channel", { target: "web" }]],
};

const convert = fileURLToPath(new URL("convert.mjs", import.meta.url));

function options(args) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        mib: { type: "string", default: "512" },
        rounds: { type: "string", default: "5" },
        only: { type: "string", multiple: true },
        "no-build": { type: "boolean", default: false },
      },
    });
    const formats = Object.keys(CONVERSIONS);
    const unknown = values.only?.find((name) => !formats.includes(name));
    if (unknown) throw new Error(`--only takes ${formats.join(", ")}, got ${unknown}`);
    const [mib, rounds] = [Number(values.mib), Number(values.rounds)];
    if (!(mib >= 1 && rounds >= 1)) throw new Error("--mib and --rounds take numbers from 1 on");
    return { mib, rounds, formats: values.only ?? formats, isBuilt: values["no-build"] };
  } catch (error) {
    throw new Failure(error.message);
  }
}

/** Milliseconds of a copy. */
function copy(path, folder) {
  const to = join(folder, "copy");
  rmSync(to, { force: true });
  const start = performance.now();
  // On some file systems, cp shares blocks instead of copying them.
  const flags = process.platform === "linux" ? ["--reflink=never", "--sparse=never"] : [];
  execFileSync("cp", [...flags, path, to]);
  return performance.now() - start;
}

function runOnce(path, folder, [, scheme, given]) {
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  const args = [convert, path, folder, scheme, JSON.stringify(given)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

/** All conversions of a format: `{ title, cp, milliseconds, ratio, processor, peakBytes, bytes, inputBytes }`. */
async function measureFormat(format, { mib, rounds }) {
  const folder = mkdtempSync(join(tmpdir(), "zeropoint-bench-models-"));
  try {
    const path = await makeInput(folder, format, mib);
    const out = join(folder, "out");
    mkdirSync(out);
    const conversions = CONVERSIONS[format];
    const copies = [];
    const runs = conversions.map(() => []);
    for (let round = 0; round < rounds; round++) {
      copies.push(copy(path, folder));
      conversions.forEach((conversion, i) => void runs[i].push(runOnce(path, out, conversion)));
    }
    const cp = summary(copies).median;
    return conversions.map(([title], i) => {
      const median = (name) => summary(runs[i].map((run) => run[name])).median;
      const [{ bytes, quantized }] = runs[i];
      if (quantized === 0) throw new Failure(`${format}, ${title}: nothing is quantized`);
      return {
        ...{ format, title, cp, bytes, inputBytes: statSync(path).size },
        ...{ milliseconds: median("milliseconds"), processor: median("processor") },
        ratio: median("milliseconds") / cp,
        peakBytes: Math.max(...runs[i].map((run) => run.peakBytes)),
      };
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The results as a table. */
export function table(results) {
  const lines = results.map(({ format, title, cp, milliseconds, ratio, processor, ...result }) => {
    const cells = [
      `${format}, ${title}`,
      `${(result.inputBytes / 1e6).toFixed(0)} MB`,
      `${(cp / 1000).toFixed(2)} s`,
      `${(milliseconds / 1000).toFixed(2)} s`,
      ratio.toFixed(1),
      `${(processor / 1000).toFixed(2)} s`,
      `${(result.peakBytes / 1e6).toFixed(0)} MB`,
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    "| conversion | file | `cp` | conversion | ratio | processor | peak memory |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...lines,
  ].join("\n");
}

/** Builds the package unless told otherwise, measures and prints. */
export async function benchModels(args, build) {
  const { formats, isBuilt, ...sizes } = options(args);
  if (!isBuilt) await build();
  const results = [];
  for (const format of formats) results.push(...(await measureFormat(format, sizes)));
  console.log(`\n${table(results)}`);
}
