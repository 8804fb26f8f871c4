// Collects files that reference implementations wrote, and what these read in them, into one JSON text per format.
//
//   node tests/vectors/formats/make.mjs FOLDER
//
// FOLDER holds gguf/, safetensors/, npy/, onnx/ (each with expect.json, or plain.json and quantized.json, and bad/),
// f16/ and checkpoints/, as README.md of this folder describes.

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder] = process.argv.slice(2);
const here = import.meta.dirname;

const read = (...path) => JSON.parse(readFileSync(join(folder, ...path), "utf8"));

/** Files of a folder as base64 by name, subfolders (but bad/) included; those above 40 kB are left out. */
function files(path, prefix = "") {
  const found = {};
  for (const name of readdirSync(path).sort()) {
    const file = join(path, name);
    if (statSync(file).isDirectory()) {
      if (name !== "bad") Object.assign(found, files(file, `${prefix}${name}/`));
    } else if (!["expect.json", "plain.json", "quantized.json"].includes(name) && statSync(file).size < 40_000) {
      if (name !== "nbits_packing.json" && !name.endsWith("-quantized.json")) {
        found[prefix + name] = readFileSync(file).toString("base64");
      }
    }
  }
  return found;
}

/** One case a line. */
function write(name, content) {
  const parts = Object.entries(content).map(([key, value]) => {
    const lines = Array.isArray(value)
      ? `[\n${value.map((item) => JSON.stringify(item)).join(",\n")}\n]`
      : key.endsWith("iles")
        ? `{\n${Object.entries(value)
            .map(([file, bytes]) => `${JSON.stringify(file)}:${JSON.stringify(bytes)}`)
            .join(",\n")}\n}`
        : JSON.stringify(value);
    return `${JSON.stringify(key)}:${lines}`;
  });
  writeFileSync(join(here, `${name}.json`), `{${parts.join(",\n")}}\n`);
}

/** How the reference reads a bad file matters less than whether it must be refused. */
const verdicts = (path) =>
  read(path, "bad", "expect.json").cases.map(({ file, what, zeropoint }) => ({ file, what, zeropoint }));

function format(name, cases) {
  const { meta } = read(name, name === "onnx" ? "plain.json" : "expect.json");
  write(name, {
    meta,
    cases,
    files: files(join(folder, name)),
    bad: verdicts(name),
    badFiles: files(join(folder, name, "bad")),
  });
}

const isKept = (name) => (files(join(folder, "gguf"))[name] ? true : name === "big-endian.gguf");
format(
  "gguf",
  read("gguf", "expect.json").cases.filter(({ file }) => isKept(file)),
);
format("safetensors", read("safetensors", "expect.json").cases);
format("npy", read("npy", "expect.json").cases);
format(
  "onnx",
  ["plain", "quantized"].flatMap((name) =>
    read("onnx", `${name}.json`).cases.map(
      ({ inputs: _inputs, outputs: _outputs, optimized_differs_by: _differs, ...rest }) => rest,
    ),
  ),
);
const { meta, cases } = read("f16", "f16.json");
write("floats", { meta, cases: cases.filter(({ id }) => id.startsWith("decode/")) });

/** Every n-th case; inputs, of which only the writers of these layouts know, are left out. */
const some = (name, n) => {
  const { made_with: madeWith, cases } = read("checkpoints", `${name}.json`);
  const kept = cases.filter((_, i) => i % n === 0).map(({ input: _input, ...rest }) => rest);
  return { madeWith, cases: kept };
};
const layouts = {
  "compressed-tensors": some("compressed-tensors", 6),
  "compressed-tensors-old-packing": some("compressed-tensors-old-packing", 1),
  mlx: some("mlx", 7),
  gptq: some("gptq", 2),
  awq: some("awq", 3),
};
write("layouts", {
  meta: Object.fromEntries(Object.entries(layouts).map(([name, { madeWith }]) => [name, madeWith])),
  cases: Object.entries(layouts).flatMap(([layout, { cases }]) =>
    cases.map((each) => ({ layout, ...each })),
  ),
});

/** Every n-th case, with its input. */
const whole = (name, n) => {
  const { made_with: madeWith, cases } = read("checkpoints", `${name}.json`);
  return { madeWith, cases: cases.filter((_, i) => i % n === 0) };
};
const quantized = {
  "compressed-tensors": whole("compressed-tensors", 5),
  mlx: whole("mlx", 5),
  checkpoint: whole("compressed-tensors-checkpoints", 1),
};
write("quantized", {
  meta: Object.fromEntries(Object.entries(quantized).map(([name, { madeWith }]) => [name, madeWith])),
  cases: Object.entries(quantized).flatMap(([layout, { cases }]) =>
    cases.map((each) => ({ layout, ...each })),
  ),
});
