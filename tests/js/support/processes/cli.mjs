// Runs the command line in a folder of its own, with small models in it.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { layoutSafetensors, shardIndexText, writeSafetensors } from "../../../internal/formats.mjs";
import { Random } from "../asserts.mjs";
import { collect } from "../files/formats.mjs";

/** The program. */
export const program = fileURLToPath(new URL("../../../../dist/cli/main.js", import.meta.url));

const environment = { ...process.env, NO_COLOR: "1", NODE_TEST_CONTEXT: undefined };

/** A new folder, removed after the tests of the file. */
export function makeFolder() {
  const folder = mkdtempSync(join(tmpdir(), "zeropoint-cli ä-"));
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** Runs the command line: exit code, standard output and standard error. */
export function zeropoint(folder, args, { input, env = {}, encoding = "utf8" } = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: folder,
    env: { ...environment, ...env },
    input,
    encoding: encoding ?? "buffer",
    timeout: 120_000,
    maxBuffer: 2 ** 26,
  });
  return { code: status, stdout, stderr };
}

/** Options of tests of shell commands. */
export const inPosixShell = {
  skip: process.platform === "win32" && "they are for a POSIX shell",
};

/** Makes a function that runs lines of a POSIX shell in a folder, in which `zeropoint` and `npx zeropoint` are the program. */
export function makeShell(folder) {
  write(folder, {
    "bin/zeropoint": `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`,
    "bin/npx": '#!/bin/sh\nexec "$@"\n',
  });
  for (const name of ["zeropoint", "npx"]) chmodSync(join(folder, "bin", name), 0o755);
  const env = { ...environment, PATH: `${join(folder, "bin")}:${process.env.PATH}` };
  return (line, cwd = folder) => {
    const options = { cwd, env, encoding: "utf8", timeout: 120_000 };
    const { status, stdout, stderr } = spawnSync("sh", ["-c", line], options);
    return { code: status, stdout, stderr };
  };
}

/** Starts the command line. @returns the process, and a promise of its exit code and output */
export function start(folder, args, { env = {}, stdio = ["ignore", "pipe", "pipe"] } = {}) {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: { ...environment, ...env },
    stdio,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const ended = new Promise((done) => {
    child.on("close", (code, signal) => done({ code, signal, output }));
  });
  return { child, ended };
}

/** A safetensors file of float32 tensors by name. */
export async function safetensors(tensors, metadata) {
  const list = Object.entries(tensors).map(([name, { shape, values }]) => ({
    name,
    dtype: "float32",
    shape,
    bytes: () => [new Uint8Array(values.buffer, values.byteOffset, values.byteLength)],
  }));
  return await collect(writeSafetensors(layoutSafetensors(list, metadata)));
}

/** Random weights of a shape. */
export function weights(random, shape) {
  const size = shape.reduce((product, length) => product * length, 1);
  return { shape, values: Float32Array.from(random.normal(size, 0.05)) };
}

/** The tensors of a small model: layers with a norm and a bias, and a head. */
export function smallModel(layers = 2, width = 64, seed = 5) {
  const random = new Random(seed);
  const tensors = {};
  for (let i = 0; i < layers; i++) {
    tensors[`layers.${i}.up.weight`] = weights(random, [2 * width, width]);
    tensors[`layers.${i}.down.weight`] = weights(random, [width, 2 * width]);
    tensors[`layers.${i}.norm.weight`] = weights(random, [width]);
  }
  tensors["head.weight"] = weights(random, [32, width]);
  tensors["head.bias"] = weights(random, [32]);
  return tensors;
}

/** Writes files by their paths. */
export function write(folder, files) {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

/** Leaves an unfinished file with its record, as an interrupted run does. */
export function leave(path, bytes) {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const record = `${String(bytes.length).padStart(16, "0")} ${sha256}\n`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
  writeFileSync(path.replace(/\.partial$/, ".sum.partial"), record);
}

/** Writes a model in shards, one layer each. @returns the names of the shards */
export async function writeShards(folder, count, { width = 64 } = {}) {
  const tensors = smallModel(count, width);
  const number = (i) => String(i).padStart(5, "0");
  const names = Array.from(
    { length: count },
    (_, i) => `model-${number(i + 1)}-of-${number(count)}.safetensors`,
  );
  const shards = names.map(() => ({}));
  for (const [name, tensor] of Object.entries(tensors)) {
    shards[Number(/^layers\.(\d+)/.exec(name)?.[1] ?? count - 1)][name] = tensor;
  }
  const map = shards.flatMap((shard, i) => Object.keys(shard).map((name) => [name, names[i]]));
  write(folder, {
    "model.safetensors.index.json": shardIndexText(new Map([["total_size", 0]]), map),
    "config.json": JSON.stringify({ model_type: "llama", hidden_size: width }),
  });
  for (const [i, shard] of shards.entries()) {
    write(folder, { [names[i]]: await safetensors(shard, [["format", "pt"]]) });
  }
  return names;
}
