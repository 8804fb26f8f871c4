// npm run cost: builds, trains a small network if needed, quantizes it in every way and prints the cost of
// each. Writes the same numbers to build/cost/table.json.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildCore, buildJs } from "../build/build.mjs";
import { root, runAsScript, step } from "../process/run.mjs";
import { setUp } from "../toolchain/setup.mjs";

const tableFile = join(root, "build", "cost", "table.json");

await runAsScript(import.meta.url, async () => {
  const { emscripten } = await step("Set-up", () => setUp(["core"]));
  await buildCore(emscripten);
  await buildJs();

  // Imported late: the package has to be built first.
  const { loadModel } = await import("./model.mjs");
  const { formatTable, measure } = await import("./measure.mjs");
  const rows = measure(await loadModel());
  mkdirSync(dirname(tableFile), { recursive: true });
  writeFileSync(tableFile, `${JSON.stringify(rows, null, 2)}\n`);
  console.log(`\n${formatTable(rows)}`);
});
