// One conversion in a process of its own: node convert.mjs <file> <folder> <scheme> <options as JSON>.
// Prints wall time from opening the file to the last written byte, processor time, and the process's peak memory.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cpuUsage, resourceUsage } from "node:process";
import { init } from "../../../dist/index.js";
import { openModel, quantizeModel } from "../../../dist/models/index.js";

const [, , path, folder, scheme, options] = process.argv;
await init();
const before = cpuUsage();
const start = performance.now();
const model = await openModel(path);
const { files, report } = await quantizeModel(model, scheme, JSON.parse(options));
for (const file of files) await writeFile(join(folder, file.name), file.stream());
await model.close();
const milliseconds = performance.now() - start;
const { user, system } = cpuUsage(before);
const kept = report.rows.filter((row) => row.scheme === "keep").length;
const result = {
  milliseconds,
  processor: (user + system) / 1000,
  peakBytes: resourceUsage().maxRSS * 1024,
  bytes: files.reduce((sum, { size }) => sum + size, 0),
  quantized: report.rows.length - kept,
};
console.log(JSON.stringify(result));
