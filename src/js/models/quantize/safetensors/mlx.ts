// The layout of MLX: codes in 32-bit words, and a scale and an offset for each group of inputs.
// Source: MLX's affine quantization; mlx-lm's config.json.

import type { Core } from "../../../core/core.js";
import { sizeOf } from "../../../tensor/shape.js";
import type { ModelTensor } from "../../open/model.js";
import type { LinearScheme } from "../../scheme.js";
import { encodeCodes, encodeParams } from "../../weights/slabs.js";
import { type FileEncoder, groupsPerRow } from "../../weights/slices.js";
import { encodeFloats } from "../halves.js";
import type { OutputTensor } from "../output-tensor.js";
import {
  bitsOf,
  CUT_STACKS,
  EXPERTS,
  moduleOf,
  RowPacker,
  refuseScheme,
  scaleDTypeOf,
} from "./compressed-tensors.js";
import { mlxEncoder } from "./rounding.js";
import { searchingEncoder } from "./searching.js";
import { type Entry, isAnyQuantized, type Layout, metadataWith } from "./weight-layout.js";

const STACK_OF_EXPERTS = `mlx-lm loads stacks of its own (switch_mlp.gate_proj.weight); ${CUT_STACKS}`;

/** The matrix of one expert. */
const SINGLE = /(^|\.)experts\.\d+\./;

const ONE_EXPERT =
  "weights are matrices of one expert each: mlx-lm joins quantized ones for some architectures (mixtral, olmoe, qwen2_moe, deepseek_v3), and does not open those of others (qwen3_moe, qwen3_next); a stack of experts is written as mlx-lm has it";

/** The layout of MLX. */
export function mlxLayout(where: string, core: Core): Layout {
  return {
    target: "mlx",
    splitsExperts: "stacks",
    isAlwaysIndexed: true,
    style: { indent: 4, sorted: "top" },
    refuse(tensor, scheme) {
      const { name, shape } = tensor;
      const isKnown =
        [2, 3, 4, 5, 6, 8].includes(bitsOf(scheme)) &&
        [32, 64, 128].includes(scheme.groupSize ?? 0);
      if (!isKnown) {
        const takes = "groups of 32, 64 or 128 with 2, 3, 4, 5, 6 or 8 bits, such as int4-g64";
        throw refuseScheme(where, "mlx", takes, scheme.name);
      }
      const isNamed = moduleOf(name) !== undefined;
      if (shape.length === 3 && EXPERTS.test(name) && !isNamed) return STACK_OF_EXPERTS;
      if (!isNamed) return 'the layout takes tensors named "….weight"';
      const isStack = shape.length === 3 && EXPERTS.test(name);
      if (shape.length !== 2 && !isStack) return "the layout takes matrices, and stacks of experts";
      const groupSize = scheme.groupSize as number;
      const columns = shape[shape.length - 1];
      return columns % groupSize === 0
        ? undefined
        : `${columns} columns are no whole groups of ${groupSize}`;
    },
    encoderOf: (tensor, scheme) => encoderOf(core, tensor, scheme),
    parts({ tensor, scheme, source }, claim) {
      const bits = bitsOf(scheme);
      const dtype = scaleDTypeOf(tensor);
      const inputBytes = tensor.byteLength;
      const rows = tensor.shape.slice(0, -1);
      const [columns] = tensor.shape.slice(-1);
      const module = moduleOf(tensor.name) as string;
      const shape = [...rows, groupsPerRow(source.groups)];
      const packed = [...rows, (columns * bits) / 32];
      const codes: OutputTensor = {
        ...{ name: tensor.name, dtype: "uint32", shape: packed, inputBytes },
        stream(advance) {
          const packer = new RowPacker(bits, columns, 0);
          return encodeCodes(source, advance, (each) => packer.put(each));
        },
      };
      const params = (part: string, field: "scale" | "zero"): OutputTensor => ({
        ...{ name: claim(`${module}.${part}`), dtype, shape, inputBytes },
        stream: (advance) =>
          encodeParams(source, advance, ({ [field]: each }) =>
            encodeFloats(Float32Array.from(each), dtype),
          ),
      });
      return [codes, params("scales", "scale"), params("biases", "zero")];
    },
    metadata: (given) => metadataWith(given, "mlx"),
    indexed: (entries) => ({
      total_parameters: entries.reduce((sum, { tensor }) => sum + sizeOf(tensor.shape), 0),
    }),
    notes(entries) {
      const isSingle = ({ tensor, scheme }: Entry): boolean =>
        scheme !== undefined && SINGLE.test(tensor.name);
      const count = entries.filter(isSingle).length;
      return count === 0 ? [] : [`${count} ${ONE_EXPERT}`];
    },
    config(entries) {
      if (!isAnyQuantized(entries)) return undefined;
      const quantization = quantizationOf(entries);
      return { quantization, quantization_config: quantization };
    },
  };
}

function encoderOf(core: Core, tensor: ModelTensor, scheme: LinearScheme): FileEncoder {
  const dtype = scaleDTypeOf(tensor);
  const own = mlxEncoder(core, bitsOf(scheme), dtype);
  return scheme.search === "minmax" ? own : searchingEncoder(core, scheme, own, "mlx", dtype);
}

/** `quantization` of config.json: the most frequent parameters, and modules that differ. */
function quantizationOf(entries: readonly Entry[]): Readonly<Record<string, unknown>> {
  const counts = new Map<string, { readonly scheme: LinearScheme; count: number }>();
  const keyOf = (scheme: LinearScheme): string => `${bitsOf(scheme)} ${scheme.groupSize}`;
  for (const { scheme } of entries) {
    if (scheme === undefined) continue;
    const known = counts.get(keyOf(scheme)) ?? { scheme, count: 0 };
    known.count++;
    counts.set(keyOf(scheme), known);
  }
  const [most] = [...counts.values()].sort((a, b) => b.count - a.count);
  const paramsOf = (scheme: LinearScheme) => ({
    group_size: scheme.groupSize as number,
    bits: bitsOf(scheme),
  });
  const modules = new Map<string, unknown>();
  for (const { tensor, scheme } of entries) {
    const module = moduleOf(tensor.name);
    if (module === undefined) continue;
    if (scheme === undefined) {
      if (tensor.shape.length === 2) modules.set(module, false);
    } else if (keyOf(scheme) !== keyOf(most.scheme)) modules.set(module, paramsOf(scheme));
  }
  return { ...paramsOf(most.scheme), mode: "affine", ...Object.fromEntries(modules) };
}
