// Quantizes a sparse file of zeros in a process of its own, and prints time and memory as JSON.
//
//   node large-file.mjs GIBIBYTES SHAPE QUANTIZED OPTIONS [verify]
//
// SHAPE: "matrices" of 4096 columns and 256 MiB each, or "rows" of one row of all values, in safetensors; "products",
// right-hand sides of MatMul with 4096 rows and 256 MiB each, in ONNX. QUANTIZED: name of a scheme, and
// how many of the tensors get it; the others are kept. OPTIONS: of quantizeModel, as JSON.

import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init } from "zeropoint";
import { openModel, quantizeModel, verifyOutput } from "zeropoint/models";
import { onnxModel } from "../onnx/models.mjs";

const [gibibytes, shape, quantized, options, verify] = process.argv.slice(2);
const [scheme, count] = quantized.split("*");
const total = Number(gibibytes) * 2 ** 30;
const each = shape === "rows" ? total : 2 ** 28;
const folder = mkdtempSync(join(tmpdir(), "zeropoint-large-"));

/** A file that begins with bytes, and has zeros behind them. */
function makeFile(name, head, length) {
  const path = join(folder, name);
  const file = openSync(path, "w");
  writeSync(file, head);
  ftruncateSync(file, length);
  closeSync(file);
  return path;
}

function makeSafetensors() {
  const header = {};
  for (let at = 0, i = 0; at < total; at += each, i++) {
    const lengths = shape === "rows" ? [1, each / 2] : [each / 8192, 4096];
    const place = { dtype: "BF16", shape: lengths, data_offsets: [at, at + each] };
    header[`layers.${i}.weight`] = place;
  }
  const text = JSON.stringify(header);
  const padded = text.padEnd(Math.ceil(text.length / 8) * 8);
  const length = new Uint8Array(new BigUint64Array([BigInt(padded.length)]).buffer);
  const head = Buffer.concat([length, Buffer.from(padded)]);
  return makeFile("model.safetensors", head, head.length + total);
}

async function makeOnnx() {
  const columns = each / 4 / 4096;
  const indices = Array.from({ length: total / each }, (_, i) => i);
  const model = await onnxModel(
    {
      inputs: [{ name: "x", shape: ["m", 4096] }],
      outputs: indices.map((i) => ({ name: `y${i}`, shape: ["m", columns] })),
      nodes: indices.map((i) => ({
        ...{ opType: "MatMul", inputs: ["x", `w${i}`], outputs: [`y${i}`] },
      })),
      initializers: indices.map((i) => ({
        ...{ name: `w${i}`, shape: [4096, columns], dtype: "float32", bytes: () => [] },
        place: { location: "model.bin", offset: i * each },
      })),
    },
    { irVersion: 10, opsets: { "": 21 } },
  );
  makeFile("model.bin", new Uint8Array(0), total);
  return makeFile("model.onnx", model, model.length);
}

try {
  const path = shape === "products" ? await makeOnnx() : makeSafetensors();
  await init();
  const model = await openModel(path);
  const chosen = new Set([...model.tensors.keys()].slice(0, Number(count ?? Infinity)));
  const wish = ({ name }) => (chosen.has(name) ? scheme : "keep");
  const result = await quantizeModel(model, wish, JSON.parse(options));
  let written = 0;
  for (const { stream } of result.files) {
    for await (const chunk of stream()) written += chunk.length;
  }
  const peak = process.resourceUsage().maxRSS * 1024;
  const verified = verify && (await verifyOutput(model, result));
  await model.close();
  const { bytesAfter } = result.report;
  const { read, total: tensors, problems } = verified ?? {};
  console.log(JSON.stringify({ written, bytesAfter, peak, read, tensors, problems }));
} finally {
  rmSync(folder, { recursive: true });
}
