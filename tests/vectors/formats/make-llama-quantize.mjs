// Records what llama-quantize makes of small models: llama-quantize.json.
//
//   node tests/vectors/formats/make-llama-quantize.mjs PROGRAM DEEP_TYPES
//
// PROGRAM is llama-quantize of llama.cpp 0.7.0 (Debian's llama.cpp-tools 0.7.0+dfsg-2); DEEP_TYPES a JSON text of the
// dtypes that it gives the weights of models of 17 and 24 layers. The models are those of tests/js/support/files/llama.mjs.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { makeImatrix, makeLlama } from "../../js/support/files/llama.mjs";

const [program, deepTypes] = process.argv.slice(2).map((path) => resolve(path));

const MODELS = {
  tiny: { layers: 2, kv: 1, seed: 1 },
  odd: { d: 96, ff: 160, heads: 3, kv: 3, tied: true, seed: 2 },
  half: { dtype: "float16", heads: 4, kv: 2, ff: 512, tied: true, seed: 3 },
  brain: { dtype: "bfloat16", d: 160, ff: 96, heads: 5, kv: 1, seed: 4 },
  experts: { experts: 8, ff: 32, layers: 1, kv: 4, seed: 5 },
};

const TYPES =
  "F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q2_K_S Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K IQ4_NL " +
  "IQ4_XS TQ1_0 TQ2_0 MXFP4_MOE Q1_0 Q2_0 COPY";

const folder = mkdtempSync(join(tmpdir(), "llama-quantize-"));
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Runs llama-quantize. @returns size and hash of its file; null if it refuses */
function run(type, pure, imatrix) {
  const options = [...(pure ? ["--pure"] : []), ...(imatrix ? ["--imatrix", "imatrix.gguf"] : [])];
  rmSync(join(folder, "out.gguf"), { force: true });
  const args = [...options, "model.gguf", "out.gguf", type, "1"];
  if (spawnSync(program, args, { cwd: folder }).status !== 0) return null;
  const bytes = readFileSync(join(folder, "out.gguf"));
  return { bytes: bytes.length, sha256: sha256(bytes) };
}

const cases = [];
const models = {};
for (const [model, settings] of Object.entries(MODELS)) {
  const bytes = await makeLlama(settings);
  models[model] = { ...settings, sha256: sha256(bytes) };
  writeFileSync(join(folder, "model.gguf"), bytes);
  writeFileSync(join(folder, "imatrix.gguf"), await makeImatrix(settings));
  for (const type of TYPES.split(" ")) {
    for (const pure of [false, true]) {
      for (const imatrix of [false, true]) {
        cases.push({ model, type, pure, imatrix, file: run(type, pure, imatrix) });
      }
    }
  }
}
rmSync(folder, { recursive: true });

const deep = JSON.parse(readFileSync(deepTypes, "utf8")).cases;
const lines = (items) => `[\n${items.map((item) => JSON.stringify(item)).join(",\n")}\n]`;
const text = `{"meta":{"llama.cpp":"0.7.0+dfsg-2 (Debian)","ggml":"0.27.0-1 (Debian)"},
"about":"files that llama-quantize makes of models of tests/js/support/files/llama.mjs; null where it refuses. deep: dtypes of weights, the default and the exceptions by name",
"models":${JSON.stringify(models)},
"cases":${lines(cases)},
"deep":${lines(deep)}}
`;
writeFileSync(join(import.meta.dirname, "llama-quantize.json"), text);
console.log(`${cases.length} cases, ${cases.filter(({ file }) => file === null).length} refused`);
