// ComfyUI's description of a quantized module: JSON in a tensor beside the weight, or in the file's metadata.
// Source: ComfyUI's QUANTIZATION.md and its table of formats, QUANT_ALGOS.

import { readJson } from "../../json.js";
import type { TensorInfo } from "../unpack.js";
import type { QuantizationConfig } from "./config.js";
import { matrixOf } from "./floats.js";
import type { LayoutName } from "./patterns.js";

/** Fields that do not change what the codes mean. */
const HARMLESS = ["full_precision_matrix_mult", "orig_dtype", "orig_shape"];

/** What is known of the formats: the layout of the tensors, the shape of scales, the blocks where none are given. */
const FORMATS: Readonly<
  Record<
    string,
    { layout: LayoutName; scales: "whole" | "rows" | "blocks" | "tiles"; block?: number }
  >
> = {
  float8_e4m3fn: { layout: "float8", scales: "whole" },
  float8_e5m2: { layout: "float8", scales: "whole" },
  float8_e4m3fn_rowwise: { layout: "float8", scales: "rows" },
  float8_e4m3fn_blockwise: { layout: "float8", scales: "blocks", block: 64 },
  int8_tensorwise: { layout: "int8", scales: "whole" },
  int8_blockwise: { layout: "int8", scales: "blocks", block: 128 },
  nvfp4: { layout: "float4", scales: "tiles" },
  mxfp8: { layout: "float8", scales: "tiles" },
};

/** The JSON in the tensor of a marker; undefined if it is none. */
export function markerIn(bytes: Uint8Array): unknown {
  try {
    return readJson("comfy_quant", bytes);
  } catch {
    return undefined;
  }
}

/**
 * The rules of a module that a marker describes.
 * @param marker  the description
 * @param info  shape and dtype of the parts of its weight
 * @returns undefined if the marker, or a field of it, is not known, or if the tensors are of another layout
 */
export function markedRules(
  marker: unknown,
  layout: LayoutName,
  { codes, scale }: Readonly<Record<string, TensorInfo>>,
  config: QuantizationConfig,
): QuantizationConfig | undefined {
  if (typeof marker !== "object" || marker === null) return undefined;
  const { format, group_size: size, ...others } = marker as Record<string, unknown>;
  if (Object.keys(others).some((key) => !HARMLESS.includes(key))) return undefined;
  if (typeof format !== "string" || !Object.hasOwn(FORMATS, format)) return undefined;
  const known = FORMATS[format];
  if (known.layout !== layout) return undefined;
  const isFloat8 = /^float8_e\dm\d(fn)?/.exec(format)?.[0] ?? "float8_e4m3fn";
  if (layout === "float8" && codes.dtype !== isFloat8) return undefined;
  const [rows] = matrixOf(codes.shape);
  const count = scale.shape.reduce((product, length) => product * length, 1);
  switch (known.scales) {
    case "whole":
      return count === 1 ? config : undefined;
    case "rows":
      return count === rows ? config : undefined;
    case "blocks": {
      const block = size ?? known.block;
      if (!Number.isSafeInteger(block) || (block as number) < 1) return undefined;
      return { ...config, blocks: [{ rows: block as number, columns: block as number }] };
    }
    case "tiles":
      return { ...config, tiles: { rows, first: 0 } };
  }
}
