// Products with int8 weights and quint8 activations, from layer to layer in the core's heap.

import { checkStatus } from "../base/errors.js";
import { subarrayOf } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { TILE } from "../tensor/tiles.js";
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

/** A layer of a run. */
export interface StaticStep {
  /** With a bias quantized by `setStaticBias`. */
  readonly weight: PackedWeight;
  readonly output: TensorQParams;
  /** Whether negative outputs become 0. */
  readonly relu: boolean;
}

/** Rows of a block have at most this many values in each layer, or there are LEAST_ROWS of them. */
const LEAST_ROWS = 64;

/**
 * Multiplies quint8 activations by int8 weights, layer after layer, each of the outputs of the one before.
 * Rows are independent, and a block of them stays in the processor's cache through all layers.
 * @param batch  rows of values, quantized with `input`; or of codes, as a Uint8Array, if `isCodes`
 * @param out    one row of outputs per row: codes, or as a Float32Array their values
 */
export function runStatic(
  core: Core,
  where: string,
  steps: readonly StaticStep[],
  batch: Rows,
  isCodes: boolean,
  input: TensorQParams,
  out: Uint8Array | Float32Array,
): void {
  for (const { weight } of steps) weight.checkAlive(where);
  const last = steps[steps.length - 1].weight.outFeatures;
  const first = steps[0].weight.inFeatures;
  const { data, rows, size } = batch;
  if (rows * last === 0) return;
  let widest = first;
  for (const { weight } of steps) widest = Math.max(widest, weight.outFeatures);
  const most = Math.min(rows, Math.max(LEAST_ROWS, Math.floor(TILE / Math.max(widest, 1))));
  for (let row = 0; row < rows; row += most) {
    const count = Math.min(most, rows - row);
    const isWhole = count === rows;
    const part = isWhole ? data : subarrayOf(data, row * first, (row + count) * first);
    const to = isWhole ? out : subarrayOf(out, row * last, (row + count) * last);
    const block = { data: part, rows: count, size: isWhole ? size : count * first };
    runBlock(core, where, steps, block, isCodes, input, to, widest);
  }
}

/** The same for a block of rows. @param widest  the largest number of features */
function runBlock(
  core: Core,
  where: string,
  steps: readonly StaticStep[],
  batch: Rows,
  isCodes: boolean,
  input: TensorQParams,
  out: Uint8Array | Float32Array,
  widest: number,
): void {
  const { memory, module } = core;
  const { data, rows, size } = batch;
  const asFloats = out instanceof Float32Array;
  let scratchBytes = 0;
  for (const { weight } of steps) scratchBytes = Math.max(scratchBytes, weight.scratchBytes(rows));
  const floats = Math.max(isCodes ? 0 : size, asFloats ? out.length : 0);
  const [floatsAt, codesAt, outAt, scratchAt] = memory.layOut(
    where,
    4 * floats,
    rows * widest,
    rows * widest,
    scratchBytes,
  );
  try {
    let [from, to] = [codesAt, outAt];
    if (isCodes) memory.copyIn(where, "Uint8Array", from, data, size);
    else {
      memory.copyIn(where, "Float32Array", floatsAt, data, size);
      const { scale, zeroPoint } = input;
      const status = module.quantizePerTensor(
        floatsAt,
        size,
        scale,
        zeroPoint,
        "quint8",
        "saturate",
        from,
      );
      checkStatus(where, status);
    }
    let qparams = input;
    for (const { weight, output, relu } of steps) {
      const status = module.linearStatic(
        from,
        rows,
        qparams.scale,
        qparams.zeroPoint,
        weight.at,
        weight.biasAt,
        output.scale,
        output.zeroPoint,
        relu,
        scratchAt,
        to,
      );
      checkStatus(where, status);
      [from, to] = [to, from];
      qparams = output;
    }
    if (asFloats) {
      const { scale, zeroPoint } = qparams;
      const status = module.dequantizePerTensor(
        from,
        out.length,
        scale,
        zeroPoint,
        "quint8",
        floatsAt,
      );
      checkStatus(where, status);
    }
    if (memory.holds(floatsAt)) {
      memory.read(asFloats ? floatsAt : from, out, out.length);
      return;
    }
  } finally {
    memory.end();
  }
  runBlock(core, where, steps, batch, isCodes, input, out, widest);
}
