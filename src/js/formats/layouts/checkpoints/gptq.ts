// GPTQ and AWQ: weights as [in, out], with groups along the inputs.
// Source: AutoGPTQ and GPTQModel, AutoAWQ.

import {
  misfit,
  type QuantizedValues,
  type StoredParts,
  transpose,
  unpackDense,
} from "../unpack.js";
import { moduleForm, type QuantizationConfig } from "./config.js";
import { floats, groupIndexOf, textOf, valueDtype, words } from "./parts.js";

/** Place of nibble i of a word among its eight columns, in AutoAWQ's order. */
const AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7];

function unpackAwq(source: Uint32Array): Uint8Array {
  const codes = new Uint8Array(8 * source.length);
  source.forEach((word, k) => {
    AWQ_ORDER.forEach((column, nibble) => {
      codes[8 * k + column] = (word >>> (4 * nibble)) & 15;
    });
  });
  return codes;
}

/** Unpacks codes of either. */
export function unpackTransposed(
  layout: "gptq" | "awq",
  { packed, zeroPoint, scale, groupIndex }: StoredParts,
  config: QuantizationConfig | undefined,
  module: string,
): QuantizedValues {
  const [groups, outputs] = scale.shape;
  const [height, width] = packed.shape;
  const bits = (32 * zeroPoint.shape[1]) / outputs;
  const inputs = layout === "awq" ? height : (32 * height) / bits;
  const isKnown =
    layout === "awq"
      ? bits === 4 && width * 8 === outputs
      : [2, 3, 4, 8].includes(bits) && width === outputs;
  if (!isKnown || !Number.isInteger(inputs) || zeroPoint.shape[0] !== groups) {
    const beside = `scales ${textOf(scale.shape)} and zero points ${textOf(zeroPoint.shape)}`;
    throw misfit(packed, `${layout} codes beside ${beside}`, textOf(packed.shape));
  }
  // The module's own group size, or that of the checkpoint, where it fits; else that of the shapes.
  const isFit = (size: number | undefined): boolean =>
    size !== undefined && size > 0 && Math.ceil(inputs / size) === groups;
  const given = [moduleForm(config, module)?.groupSize, config?.groupSize].find(isFit);
  const groupSize = given ?? inputs / groups;
  if (groupIndex === undefined && !Number.isInteger(groupSize)) {
    throw misfit(scale, `scales of groups of ${inputs} inputs`, textOf(scale.shape));
  }
  const mask = 2 ** bits - 1;
  const step = layout === "gptq" && config?.checkpointFormat !== "gptq_v2" ? 1 : 0;
  const codes =
    layout === "awq"
      ? unpackAwq(words(packed))
      : transpose(
          unpackDense(transpose(words(packed), height, width), outputs, inputs, bits),
          outputs,
          inputs,
        );
  const zeros =
    layout === "awq"
      ? unpackAwq(words(zeroPoint))
      : unpackDense(words(zeroPoint), groups, outputs, bits);
  return {
    codes,
    shape: [inputs, outputs],
    isTransposed: true,
    groupSize: Math.ceil(groupSize),
    granularity: "group",
    scale: floats(scale),
    scaleShape: scale.shape,
    zeroPoint: Int32Array.from(zeros, (zero) => (zero + step) & mask),
    ...groupIndexOf(groupIndex, inputs, groups),
    valueDtype: valueDtype(scale),
  };
}
