// Milliseconds of x · w in ONNX Runtime for every form that quantizeModel gives a weight: the figures behind the
// choice in src/js/models/quantize/onnx/choose.ts.
//
//   node tests/bench/onnx-forms.mjs [size] [folder of node_modules with onnxruntime-node]

import { createRequire } from "node:module";
import { join } from "node:path";
import { init } from "../../dist/index.js";
import { openModel, quantizeModel } from "../../dist/models/index.js";
import { constant, normals, onnxModel } from "../js/support/onnx/models.mjs";

const size = Number(process.argv[2] ?? 1024);
const folder = process.argv[3];
const ROWS = [1, 16, 128];
/** Time for each number of rows, in milliseconds. */
const PATIENCE = 500;

await init();

const web = await import("onnxruntime-web");
web.env.wasm.numThreads = 1;
const engines = { wasm: web };
if (folder) engines.node = createRequire(join(folder, "x.js"))("onnxruntime-node");

const floats = await onnxModel(
  {
    inputs: [{ name: "x", shape: ["rows", size] }],
    outputs: [{ name: "y", shape: ["rows", size] }],
    nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
    initializers: [constant("w", [size, size], normals(size * size))],
  },
  { irVersion: 10, opsets: { "": 21 } },
);

const CASES = [
  ["int8-channel", { target: "web" }],
  ["int4-g32", { target: "web" }],
  ["int8-channel", { target: "portable" }],
  ["int4-g32", { target: "portable" }],
  ["int4-g32", { target: "webgpu" }],
  ["int8-g32", { target: "webgpu" }],
  ["int8-channel", { activations: "dynamic" }],
];

const models = [["float32", "", floats]];
for (const [scheme, options] of CASES) {
  const { files, report } = await quantizeModel(await openModel(floats), scheme, options);
  const bytes = new Uint8Array(await new Response(files[0].stream()).arrayBuffer());
  models.push([scheme, report.rows[0].form, bytes]);
}

for (const [engine, ort] of Object.entries(engines)) {
  console.log(
    `\n${engine}: ${ROWS.join(", ")} rows × ${size} × ${size}, best of ${PATIENCE} ms each`,
  );
  for (const [scheme, form, bytes] of models) {
    const options = { intraOpNumThreads: 1, logSeverityLevel: 4 };
    const session = await ort.InferenceSession.create(bytes, options);
    const times = [];
    for (const rows of ROWS) {
      const x = new ort.Tensor("float32", normals(rows * size, 9), [rows, size]);
      let best = Number.POSITIVE_INFINITY;
      await session.run({ x });
      for (const end = performance.now() + PATIENCE; performance.now() < end; ) {
        const start = performance.now();
        await session.run({ x });
        best = Math.min(best, performance.now() - start);
      }
      times.push(best.toFixed(2).padStart(8));
    }
    console.log(`${scheme.padEnd(14)}${form.padEnd(42)}${times.join("")}`);
    await session.release();
  }
}
