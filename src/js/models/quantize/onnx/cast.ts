// Weights as half floats: an initializer of half the bytes, and Cast to the dtype that the model computes with.

import type { HalfType } from "../../../base/halves.js";
import type { KeptCore } from "../../../core/init.js";
import type { OnnxWeight } from "../../../formats/onnx/weights.js";
import { allValues, floatsOf, valuesOfFile } from "../../weights/values.js";
import { encodeFloats, roundInPlace } from "../halves.js";
import type { ValueWatch } from "../watch.js";
import { DATA_TYPE } from "./form.js";
import type { Rewriter } from "./rewrite.js";

/** The name of the form in reports. */
export const CAST = "Cast";

/** Why a weight cannot be stored as half floats; undefined if it can. */
export function refuseHalf(
  { opset }: Rewriter,
  { tensor }: OnnxWeight,
  dtype: HalfType,
): string | undefined {
  if (tensor.dtype === dtype) return `already ${dtype}`;
  const needed = dtype === "bfloat16" ? 13 : 6;
  return opset < needed
    ? `Cast of ${dtype} needs opset ${needed}, the model has ${opset}`
    : undefined;
}

/** Rewrites a weight: its initializer keeps its name, and its uses take the result of Cast. @returns the bytes of its values */
export function writeHalf(
  rewriter: Rewriter,
  weight: OnnxWeight,
  dtype: HalfType,
  core: KeptCore,
  onWritten: () => void,
  watch: ValueWatch,
): number {
  const { graph, name } = weight.value;
  const { shape } = weight.tensor;
  const bytes = rewriter.addTensor(graph, {
    ...{ name, dtype, shape },
    async *bytes() {
      watch.restart();
      const values = valuesOfFile("quantizeModel", core, weight.tensor);
      for await (const slab of allValues(values)) {
        const own = floatsOf(slab).slice();
        watch.see(slab, roundInPlace(own, dtype));
        yield encodeFloats(own, dtype);
      }
      onWritten();
    },
  });
  rewriter.addFront(graph, {
    ...{ name: rewriter.newName(`${name}_Cast`), opType: "Cast", inputs: [name] },
    outputs: [rewriter.renameUses(weight, `${name}_${weight.tensor.dtype}`)],
    attributes: { to: { int: DATA_TYPE[weight.tensor.dtype] } },
  });
  rewriter.removeWeight(weight);
  return bytes;
}
