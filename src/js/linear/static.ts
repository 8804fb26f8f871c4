// Products with int8 weights and quint8 activations in and out.

import { checkStatus } from "../base/errors.js";
import type { Core } from "../core/core.js";
import type { TensorQParams } from "../torch/scales.js";
import type { Rows } from "./input.js";
import type { PackedWeight } from "./packed-weight.js";

/**
 * Quantizes the bias of a packed weight in place: round(bias / (inputScale * weightScale)), as float32.
 * @param scales  scales of the weight
 */
export function setStaticBias(
  { memory, module }: Core,
  where: string,
  weight: PackedWeight,
  bias: Float32Array,
  scales: Float32Array,
  { scale }: TensorQParams,
): void {
  const [biasAt, scalesAt] = memory.layOut(where, 4 * bias.length, 4 * scales.length);
  try {
    memory.write("Float32Array", biasAt, bias);
    memory.write("Float32Array", scalesAt, scales);
    const status = module.quantizeBias(
      biasAt,
      bias.length,
      scale,
      scalesAt,
      scales.length,
      weight.biasAt,
    );
    checkStatus(where, status);
  } finally {
    memory.end();
  }
}

/**
 * Multiplies quint8 activations by an int8 weight, with a bias quantized by `setStaticBias`, and
 * requantizes the results to quint8.
 * @param batch  rows of inFeatures codes
 * @param out    outFeatures codes per row of the batch
 */
export function runStatic(
  core: Core,
  where: string,
  weight: PackedWeight,
  batch: Rows,
  input: TensorQParams,
  output: TensorQParams,
  out: Uint8Array,
): void {
  weight.checkAlive(where);
  const { data, rows } = batch;
  const size = rows * weight.inFeatures;
  const outSize = rows * weight.outFeatures;
  if (outSize === 0) return;
  const { memory, module } = core;
  const [codesAt, scratchAt, outAt] = memory.layOut(
    where,
    size,
    weight.scratchBytes(rows),
    outSize,
  );
  try {
    memory.copyIn(where, "Uint8Array", codesAt, data, size);
    const status = module.linearStatic(
      codesAt,
      rows,
      input.scale,
      input.zeroPoint,
      weight.at,
      weight.biasAt,
      output.scale,
      output.zeroPoint,
      scratchAt,
      outAt,
    );
    checkStatus(where, status);
    if (memory.holds(codesAt)) {
      memory.read(outAt, out, outSize);
      return;
    }
  } finally {
    memory.end();
  }
  runStatic(core, where, weight, batch, input, output, out);
}
