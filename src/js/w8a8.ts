// Linear layers with int8 weights and activations in 8 bits.

import { runJob } from "./async/background.js";
import type { CheckedTensor } from "./check.js";
import type { Core } from "./core.js";
import { checkStatus } from "./errors.js";
import { oneSlice, type SliceCounts } from "./granularity.js";
import type { PackedWeight } from "./packed-weight.js";
import type { TensorQParams, TorchQuantizedTensor } from "./qtensor.js";
import { rangesOf } from "./tiles.js";
import { quantizing } from "./torch.js";
import {
  CHOSEN_BYTES,
  calculateQParams,
  chooseActivation,
  chooseActivationAt,
  nonFiniteValues,
} from "./torch-qparams.js";
import { done, type Procedure } from "./work.js";

/**
 * Turns the bias of a packed weight, in place, into whole steps, in float32, of the input's scale times
 * the weight's.
 * @param scales  of the weight
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
 * Runs float activations on an int8 weight whose zero points are 0; they are quantized on the fly with
 * one scale for all.
 * @param rows        of inFeatures values each
 * @param activation  their scale and zero point; or whether to use 7 of 8 bits when they
 *   are chosen from the values
 */
export function runDynamic(
  core: Core,
  where: string,
  weight: PackedWeight,
  { data, size }: Pick<CheckedTensor, "data" | "size">,
  rows: number,
  activation: TensorQParams | boolean,
  out: Float32Array,
): void {
  const { outFeatures } = weight;
  if (rows * outFeatures === 0) return;
  const { memory, module } = core;
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
      // PyTorch takes an input without values for one of zeros.
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
  runDynamic(core, where, weight, { data, size }, rows, activation, out);
}

/**
 * The same with quint8 activations in and out, and a bias that `setStaticBias` has turned.
 * @param codes  of rows × inFeatures
 */
export function runStatic(
  core: Core,
  where: string,
  weight: PackedWeight,
  codes: Uint8Array,
  rows: number,
  input: TensorQParams,
  output: TensorQParams,
  out: Uint8Array,
): void {
  weight.checkAlive(where);
  if (out.length === 0) return;
  const { memory, module } = core;
  const [codesAt, scratchAt, outAt] = memory.layOut(
    where,
    codes.length,
    weight.scratchBytes(rows),
    out.length,
  );
  try {
    memory.write("Uint8Array", codesAt, codes);
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
      memory.read(outAt, out);
      return;
    }
  } finally {
    memory.end();
  }
  runStatic(core, where, weight, codes, rows, input, output, out);
}

/** Scale and zero point of quint8 activations for a range that is known. */
export function activationFor(
  core: Core,
  where: string,
  [min, max]: Iterable<number>,
  reduceRange: boolean,
): TensorQParams {
  const chosen = chooseActivation(core, where, min, max, "quint8", reduceRange);
  if (chosen === undefined) throw nonFiniteValues(where, "input", [min, max]);
  return chosen;
}

/**
 * Quantizes the weights of a layer as PyTorch does for dynamic quantization: qint8, symmetric, with
 * max|w| / 127.5 for a scale; one for all weights, or one for each output.
 */
export function* quantizeInt8Weight(
  core: Core,
  where: string,
  x: CheckedTensor,
  perOutput: boolean,
): Procedure<TorchQuantizedTensor<"qint8">> {
  const { shape, size } = x;
  const counts = perOutput ? { outer: 1, slices: shape[0], inner: shape[1] } : oneSlice(size);
  // Without values there is nothing to choose from; any scale will do.
  const scales =
    size === 0
      ? new Float32Array(counts.slices).fill(1)
      : yield* chooseInt8Scales(core, where, x, counts);
  const qparams = perOutput
    ? { axis: 0, scales, zeroPoints: new Int32Array(scales.length) }
    : { scale: scales[0], zeroPoint: 0 };
  return yield* quantizing(core, where, { x, dtype: "qint8", qparams });
}

function* chooseInt8Scales(
  core: Core,
  where: string,
  x: CheckedTensor,
  counts: SliceCounts,
): Procedure<Float32Array> {
  const { data, size } = x;
  const ranges = yield* done({
    amount: size,
    here: () => rangesOf(core, where, data, counts, "keep"),
    away: (own) => runJob(core, where, own, "rangesOf", x, counts),
  });
  if (!ranges.every(Number.isFinite)) {
    const range = [Math.min, Math.max].map((pick) => ranges.reduce((a, b) => pick(a, b)));
    throw nonFiniteValues(where, "weight", range);
  }
  const { status, scales } = calculateQParams(core, where, ranges, {
    scheme: "symmetric",
    quantMin: -128,
    quantMax: 127,
    eps: 2 ** -23,
    zeroPoint: 0,
  });
  checkStatus(where, status);
  return scales;
}
