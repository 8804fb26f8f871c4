// Quantized ONNX models in onnxruntime-node, and all forms in onnxruntime-web. Run by npm run check:engines, which
// installs onnxruntime-node into ZEROPOINT_ENGINES.

import { createRequire } from "node:module";
import { join } from "node:path";
import { ALL_WISHES, testRuntime } from "../js/support/onnx/engine.mjs";

const require = createRequire(join(process.env.ZEROPOINT_ENGINES ?? "", "node_modules", "x.js"));

testRuntime("onnxruntime-node", () => require("onnxruntime-node"), ALL_WISHES);
testRuntime("onnxruntime-web", () => import("onnxruntime-web"), ALL_WISHES);
