// Every form of quantized ONNX weights in onnxruntime-web; npm run check:engines tries all schemes for all targets.

import { testRuntime } from "../../support/onnx/engine.mjs";

async function load() {
  const ort = await import("onnxruntime-web");
  ort.env.wasm.numThreads = 1;
  return ort;
}

testRuntime("onnxruntime-web", load, [
  { target: "portable", scheme: "int8-channel" },
  { target: "portable", scheme: "int4-g32" },
  { target: "web", scheme: "int4-g32" },
  { target: "web", scheme: "uint4-g20-affine" },
  { target: "webgpu", scheme: "int4-g32" },
  { target: "webgpu", scheme: "uint8-g32-affine" },
  { target: "web", scheme: "int8-channel", activations: "dynamic" },
]);
