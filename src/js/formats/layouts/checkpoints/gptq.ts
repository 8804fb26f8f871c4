// GPTQ and AWQ: weights as [in, out], with groups along the inputs.
// Source: AutoGPTQ and GPTQModel, AutoAWQ.

import { recordOf } from "../../../base/fields.js";
import {
  misfit,
  type QuantizedValues,
  type StoredPart,
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

/** Bits and lengths of a weight of either, and its number of groups. @throws {RangeError} `ZP_INVALID_FILE` for parts that do not fit */
function formOfTransposed(layout: "gptq" | "awq", { packed, zeroPoint, scale }: StoredParts) {
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
  return { bits, inputs, outputs, groups };
}

/** Outputs whose zero points are whole words, of all bits. */
const WHOLE_OUTPUTS = 32;

/** Values of a weight that are unpacked at once, unless 32 outputs have more. */
const BLOCK_VALUES = 2 ** 18;

/**
 * Cuts a weight of either into weights of some of its outputs each. `first`: the index of their values in the order [out, in].
 * @throws {RangeError} `ZP_INVALID_FILE` for parts that do not fit each other
 */
export function* outputsOf(
  layout: "gptq" | "awq",
  parts: StoredParts,
): Generator<{ readonly first: number; readonly parts: StoredParts }> {
  const { inputs, outputs } = formOfTransposed(layout, parts);
  const step = WHOLE_OUTPUTS * Math.max(1, Math.floor(BLOCK_VALUES / (WHOLE_OUTPUTS * inputs)));
  for (let begin = 0; begin < outputs; begin += step) {
    const end = Math.min(outputs, begin + step);
    const own = Object.entries(parts).map(([role, part]): [string, StoredPart] => [
      role,
      role === "groupIndex" ? part : columnsOf(part, begin / outputs, end / outputs),
    ]);
    yield { first: begin * inputs, parts: recordOf(own) };
  }
}

/** Some columns of a matrix. @param begin  as a share of all columns, as `end` */
function columnsOf(part: StoredPart, begin: number, end: number): StoredPart {
  const [rows, columns] = part.shape;
  const [low, high] = [begin, end].map((share) => Math.round(share * columns));
  const size = part.bytes.length / (rows * columns);
  const bytes = new Uint8Array(rows * (high - low) * size);
  for (let row = 0, at = 0; row < rows; row++, at += (high - low) * size) {
    const start = row * columns;
    bytes.set(part.bytes.subarray((start + low) * size, (start + high) * size), at);
  }
  return { ...part, shape: [rows, high - low], bytes };
}

/** Unpacks codes of either. */
export function unpackTransposed(
  layout: "gptq" | "awq",
  parts: StoredParts,
  config: QuantizationConfig | undefined,
  module: string,
): QuantizedValues {
  const { packed, zeroPoint, scale, groupIndex } = parts;
  const { bits, inputs, outputs, groups } = formOfTransposed(layout, parts);
  const [height, width] = packed.shape;
  // The module's own group size, or that of the checkpoint, where it fits; else that of the shapes.
  const isFit = (size: number | undefined): boolean =>
    size !== undefined && size > 0 && Math.ceil(inputs / size) === groups;
  const given = [moduleForm(config, module)?.groupSize, config?.groupSize].find(isFit);
  const groupSize = given ?? inputs / groups;
  if (groupIndex === undefined && !Number.isInteger(groupSize)) {
    throw misfit(scale, `scales of groups of ${inputs} inputs`, textOf(scale.shape));
  }
  const mask = 2 ** bits - 1;
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
  // Writers that are newer than the format's name, GPTQModel 5 among them, store zero points as they are. It shows where
  // codes are symmetric.
  const middle = 2 ** (bits - 1);
  const isAsStored = config?.isSymmetric && zeros.every((zero) => zero === middle);
  const isOld = layout === "gptq" && config?.checkpointFormat !== "gptq_v2" && !isAsStored;
  return {
    codes,
    shape: [inputs, outputs],
    isTransposed: true,
    groupSize: Math.ceil(groupSize),
    granularity: "group",
    scale: floats(scale),
    scaleShape: scale.shape,
    zeroPoint: Int32Array.from(zeros, (zero) => (zero + (isOld ? 1 : 0)) & mask),
    ...groupIndexOf(groupIndex, inputs, groups, "from the end"),
    valueDtype: valueDtype(scale),
  };
}
