// Products with int8 weights and activations quantized to 8 bits on the fly.

import { checkStatus } from "../base/errors.js";
import type { Core } from "../core/core.js";
import { CHOSEN_BYTES, chooseActivationAt, nonFiniteValues } from "../torch/qparams.js";
import type { TensorQParams } from "../torch/scales.js";
import type { Rows } from "./input.js";
import type { PackedWeight } from "./packed-weight.js";

/**
 * Multiplies float activations by an int8 weight with zero points 0. The activations are quantized on
 * the fly with one scale for all.
 * @param batch       rows of inFeatures values
 * @param activation  scale and zero point of the activations; or, to choose them from the values,
 *   whether to use 7 of 8 bits
 */
export function runDynamic(
  core: Core,
  where: string,
  weight: PackedWeight,
  batch: Rows,
  activation: TensorQParams | boolean,
  out: Float32Array,
): void {
  const { data, rows } = batch;
  const { outFeatures } = weight;
  if (rows * outFeatures === 0) return;
  const { memory, module } = core;
  const size = rows * weight.inFeatures;
  const [xAt, codesAt, rangeAt, chosenAt, scratchAt, outAt] = memory.layOut(
    where,
    4 * size,
    size,
    8,
    CHOSEN_BYTES,
    weight.scratchBytes(rows),
    4 * rows * outFeatures,
  );
  try {
    memory.copyIn(where, "Float32Array", xAt, data, size);
    let chosen: TensorQParams | undefined;
    if (typeof activation === "boolean") {
      // PyTorch treats an input without values as zeros.
      memory.write("Float32Array", rangeAt, [0, 0]);
      if (size > 0) module.minMax(xAt, size, rangeAt);
      const min = memory.readOne("Float32Array", rangeAt);
      const max = memory.readOne("Float32Array", rangeAt + 4);
      const at = chosenAt;
      chosen = chooseActivationAt(core, where, min, max, "quint8", activation, at);
      if (chosen === undefined) throw nonFiniteValues(where, "input", [min, max]);
    } else {
      chosen = activation;
    }
    const { scale, zeroPoint } = chosen;
    const quantized = module.quantizePerTensor(
      xAt,
      size,
      scale,
      zeroPoint,
      "quint8",
      "saturate",
      codesAt,
    );
    checkStatus(where, quantized);
    const status = module.linearDynamic(
      codesAt,
      rows,
      scale,
      zeroPoint,
      weight.at,
      weight.biasAt,
      scratchAt,
      outAt,
    );
    checkStatus(where, status);
    if (memory.holds(xAt)) {
      memory.read(outAt, out, rows * outFeatures);
      return;
    }
  } finally {
    memory.end();
  }
  runDynamic(core, where, weight, batch, activation, out);
}
