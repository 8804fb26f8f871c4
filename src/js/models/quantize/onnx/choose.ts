// Which form a quantized weight gets, by the engine that is to run it.

import { rangeError } from "../../../base/errors.js";
import { show } from "../../../base/format-value.js";
import { packedBlocks } from "./blocks.js";
import { dequantizeLinear } from "./dequantize.js";
import { TRANSFORMERS_JS } from "./dtypes.js";
import { dynamicProduct } from "./dynamic.js";
import type { Form, FormContext } from "./form.js";
import { lookUpCodes } from "./look-up.js";
import { castAndMultiply } from "./multiply.js";

/** An engine: wasm in browsers, onnxruntime-node, WebGPU in browsers, transformers.js, or any that knows ONNX's own operators. */
export type OnnxTarget = "web" | "node" | "webgpu" | "portable" | "transformers.js";

const ONNX_TARGETS: readonly OnnxTarget[] = ["web", "node", "webgpu", "portable", TRANSFORMERS_JS];

/** Float weights of a model up to which wasm can hold all of them, in bytes; its memory ends at 4 GiB. */
const MOST_FLOATS = 2 ** 30;

/**
 * Forms from the fastest to the slowest; a weight gets the first one that it fits. Measured by
 * tests/bench/onnx-forms.mjs with ONNX Runtime 1.30 on one thread of an AMD EPYC: ms of x [rows, 1024] times
 * w [1024, 1024], for 1 and 16 rows:
 *
 *     form                                             wasm          onnxruntime-node
 *     float32                                          0.05  0.85    0.05  0.14
 *     Cast and Mul, int8 or int4                       0.05  0.85    0.04  0.14
 *     DequantizeLinear, int8 per channel               1.1   1.9     0.02  0.11
 *     DequantizeLinear, int4 per group of 32           1.5   2.4     0.02  0.13
 *     MatMulNBits, 4 bits                              1.5   2.3     0.04  0.24
 *     MatMulNBits, 8 bits                              1.1   1.9     0.83  1.00
 *     DynamicQuantizeLinear and MatMulInteger          0.14  0.41    0.02  0.05
 */
const PREFERRED: Readonly<Record<OnnxTarget, readonly Form[]>> = {
  web: [lookUpCodes, castAndMultiply, packedBlocks, dequantizeLinear],
  node: [lookUpCodes, dequantizeLinear, packedBlocks, castAndMultiply],
  webgpu: [packedBlocks, lookUpCodes, dequantizeLinear, castAndMultiply],
  portable: [lookUpCodes, dequantizeLinear, castAndMultiply],
  // It runs in browsers and in Node, by wasm and WebGPU.
  "transformers.js": [packedBlocks, lookUpCodes, dequantizeLinear, castAndMultiply],
};

/** For wasm, where all weights as floats would not fit. */
const PREFERRED_IN_LITTLE_MEMORY: readonly Form[] = [
  ...[lookUpCodes, packedBlocks, dequantizeLinear, castAndMultiply],
];

/** Reads the target. @throws {RangeError} `ZP_INVALID_OPTION` */
export function checkTarget(where: string, target: string | undefined): OnnxTarget {
  if (target === undefined) return "portable";
  const found = ONNX_TARGETS.find((each) => each === target);
  if (found !== undefined) return found;
  const names = ONNX_TARGETS.map(show).join(", ");
  const problem = `options.target must be one of ${names} for ONNX, got ${show(target)}`;
  throw rangeError("ZP_INVALID_OPTION", where, problem);
}

/** The forms to try for a model. */
export function formsFor(
  target: OnnxTarget,
  activations: "float32" | "dynamic",
  floatBytes: number,
): readonly Form[] {
  const isLarge = target === "web" && floatBytes > MOST_FLOATS;
  const forms = isLarge ? PREFERRED_IN_LITTLE_MEMORY : PREFERRED[target];
  return activations === "dynamic" ? [dynamicProduct, ...forms] : forms;
}

/** The first form that a weight can have, or why it can have none. */
export function chooseForm(forms: readonly Form[], context: FormContext): Form | string {
  const reasons: string[] = [];
  for (const form of forms) {
    const reason = form.refuse(context);
    if (reason === undefined) return form;
    if (reason !== "") reasons.push(reason);
  }
  return reasons.join("; ");
}

/** What a report says of the choice. */
export function notesOf(
  target: OnnxTarget,
  used: ReadonlyMap<string, number>,
  activations: "float32" | "dynamic",
): string[] {
  const forms = Array.from(used, ([name, count]) => `${name} (${count})`).join(", ");
  const isInVain = activations === "dynamic" && !used.has(dynamicProduct.name) && used.size > 0;
  const notes = [`forms of the weights: ${forms === "" ? "none" : forms}`];
  if (isInVain) {
    notes.push(
      'activations "dynamic" apply to no weight: all inputs stay float32, and the rows say why',
    );
  }
  const has = (form: Form): boolean => used.has(form.name);
  if (target === "web" && has(castAndMultiply)) {
    notes.push(
      "wasm: weights are dequantized when the session starts, and products run at the speed of float32. Weight-only " +
        "operators are slower there: for one row of input, 4 bits take 30 times as long, 8 bits 20 times",
    );
  }
  if (target === "web" && activations === "float32") {
    notes.push(
      'wasm: activations "dynamic" with int8-channel make MatMul and Gemm faster from 16 rows of input on',
    );
  }
  if (target === "portable" && has(dequantizeLinear)) {
    notes.push('ONNX Runtime in wasm dequantizes in every run, with target "web" once');
  }
  if (target === TRANSFORMERS_JS) {
    notes.push("transformers.js looks for config.json and the tokenizer in the folder above onnx");
  }
  if (target === "webgpu") notes.push("WebGPU: chosen by its operators, not measured");
  return notes;
}
