// Quantized weights of safetensors checkpoints: compressed-tensors, int8, float8 and float4 with scales, MLX, GPTQ, AWQ.

import type { FileDType } from "../../formats/dtypes.js";
import { packingOf } from "../../formats/layouts/checkpoints/compressed.js";
import {
  type QuantizationConfig,
  readQuantizationConfig,
} from "../../formats/layouts/checkpoints/config.js";
import {
  isFloatLayout,
  matrixOf,
  scaleBlockOf,
  withBlock,
} from "../../formats/layouts/checkpoints/floats.js";
import {
  findQuantizedWeights,
  type QuantizedWeight,
} from "../../formats/layouts/checkpoints/patterns.js";
import { formOf, unpackWeight, type WeightForm } from "../../formats/layouts/checkpoints/weight.js";
import { scaledOf } from "../../formats/layouts/scaled.js";
import { dequantizeValues, partOf, type StoredPart } from "../../formats/layouts/unpack.js";
import { type FileTensor, readBytes, type Source } from "../../formats/source.js";
import { quantizedTensorOf, transposed } from "./quantized.js";
import { notExpressible, type StoredWeight, type Window } from "./weight.js";

type ReadBeside = (path: string) => Promise<Uint8Array | undefined>;

/** Parsed JSON of a file beside the model; undefined if there is none. */
async function jsonOf(readBeside: ReadBeside, path: string): Promise<unknown> {
  const bytes = await readBeside(path);
  try {
    return bytes && JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/**
 * The quantization that the files beside a checkpoint describe: config.json, or the older files of AutoGPTQ and AutoAWQ.
 * @throws {RangeError} `ZP_UNSUPPORTED_FILE` for known layouts that are not supported
 */
async function configOf(readBeside: ReadBeside): Promise<QuantizationConfig | undefined> {
  const found = readQuantizationConfig(await jsonOf(readBeside, "config.json"));
  if (found !== undefined) return found;
  const gptq = await jsonOf(readBeside, "quantize_config.json");
  if (Object(gptq) === gptq) {
    const own = { quant_method: "gptq", ...(gptq as object) };
    return readQuantizationConfig({ quantization_config: own });
  }
  const awq = await jsonOf(readBeside, "quant_config.json");
  if (Object(awq) !== awq) return undefined;
  const { w_bit: bits, q_group_size: group_size, version } = awq as Record<string, unknown>;
  return readQuantizationConfig({
    quantization_config: { quant_method: "awq", bits, group_size, version },
  });
}

/** Bytes between two tensors that are read with them rather than one by one. */
const MOST_BETWEEN = 2 ** 16;

/** Reads the shapes that tensors hold as int64, neighbours at once. */
async function readShapes(tensors: readonly FileTensor[]): Promise<Map<FileTensor, number[]>> {
  const shapes = new Map<FileTensor, number[]>();
  const placed = tensors.flatMap((tensor) =>
    tensor.span && tensor.dtype === "int64" && tensor.byteLength === 16
      ? [{ tensor, source: tensor.span.source, offset: tensor.span.offset }]
      : [],
  );
  placed.sort((a, b) => a.offset - b.offset);
  for (const source of new Set(placed.map((each) => each.source))) {
    const own = placed.filter((each) => each.source === source);
    for (let first = 0; first < own.length; ) {
      let end = first + 1;
      while (end < own.length && own[end].offset - own[end - 1].offset <= MOST_BETWEEN) end++;
      const begin = own[first].offset;
      const bytes = await readBytes(
        "openModel",
        source as Source,
        begin,
        own[end - 1].offset + 16 - begin,
      );
      for (const { tensor, offset } of own.slice(first, end)) {
        const words = new BigInt64Array(bytes.slice(offset - begin, offset - begin + 16).buffer);
        shapes.set(tensor, Array.from(words, Number));
      }
      first = end;
    }
  }
  return shapes;
}

/** Finds the quantized weights of a checkpoint. Weights whose parts do not fit each other stay separate tensors. */
export async function findCheckpointWeights(
  files: ReadonlyMap<string, FileTensor>,
  readBeside: ReadBeside,
): Promise<StoredWeight[]> {
  if (findQuantizedWeights(files).length === 0) return [];
  let config: QuantizationConfig | undefined;
  try {
    config = await configOf(readBeside);
  } catch {
    // An unsupported layout: its tensors are read as stored.
    return [];
  }
  const found = findQuantizedWeights(files, config);
  const part = (name: string): FileTensor => files.get(name) as FileTensor;
  const shapes = await readShapes(
    found.flatMap(({ parts }) => (parts.shape ? [part(parts.shape)] : [])),
  );
  return found.flatMap((weight) => {
    const given = weight.parts.shape && shapes.get(part(weight.parts.shape));
    return storedOf(weight, files, config, given || undefined) ?? [];
  });
}

function storedOf(
  { layout, name, module, parts }: QuantizedWeight,
  files: ReadonlyMap<string, FileTensor>,
  config: QuantizationConfig | undefined,
  given: readonly number[] | undefined,
): StoredWeight | undefined {
  const info = Object.fromEntries(
    Object.entries(parts).map(([role, name]) => [role, files.get(name) as FileTensor]),
  );
  let form: ReturnType<typeof formOf>;
  try {
    form = formOf(layout, info, config, module);
    if (layout === "compressed-tensors") form = formOf(layout, info, config, module, given);
  } catch {
    return undefined;
  }
  if (
    form === undefined ||
    !form.shape.every((length) => Number.isSafeInteger(length) && length >= 0)
  )
    return undefined;
  const { bits, shape } = form;
  const isSigned = layout === "int8" || layout === "compressed-tensors";
  const width = bits <= 2 ? 2 : bits <= 4 ? 4 : 8;
  const integer = `${isSigned ? "" : "u"}int${width}` as FileDType;
  const float8 = info.codes?.dtype ?? "float8_e4m3fn";
  const isFloat = isFloatLayout(layout) || layout === "mlx-float";
  const dtype = !isFloat ? integer : bits === 4 ? "float4_e2m1fn" : float8;
  const unpack: (
    load: Parameters<StoredWeight["read"]>[0],
  ) => Promise<ReturnType<typeof unpackWeight>> = async (load) =>
    unpackWeight(layout, await load(parts), config, module);
  return {
    name,
    shape,
    dtype,
    parts,
    window: windowOf(layout, module, form, info, config),
    async read(load) {
      const q = await unpack(load);
      const values = dequantizeValues(q);
      return q.isTransposed ? transposed(values, q.shape) : values;
    },
    async readQuantized(load) {
      const q = await unpack(load);
      const { codes } = q;
      if (codes instanceof Float32Array) throw notExpressible(name, `has codes of ${dtype}`);
      // A stack of matrices is unpacked as one, whose groups run along the last axis.
      const isStack = shape.length > 2;
      const own = scaledOf({ ...q, codes });
      const scaled = isStack ? { ...own, shape, axis: shape.length - 1 } : own;
      return quantizedTensorOf(name, scaled, dtype, bits);
    },
  };
}

/** Rows of a weight that is stored row by row: its parts are cut to these rows, and unpacked as a weight of their own. */
function windowOf(
  layout: QuantizedWeight["layout"],
  module: string,
  { shape, bits }: WeightForm,
  info: Readonly<Record<string, FileTensor>>,
  config: QuantizationConfig | undefined,
): Window | undefined {
  const [rows, columns] = matrixOf(shape);
  if (rows * columns === 0) return undefined;
  if (layout === "gptq" || layout === "awq") return undefined;
  const isOld =
    layout === "compressed-tensors" && packingOf(info.packed.shape[1], columns, config)?.isOld;
  // Zero points are packed along rows. Words of the dense packing begin with every 32nd row; those from before 0.17 hold
  // 32, 16, 10, 8, 6, 5 or 4 of them.
  const step = isOld ? 480 : 32;
  const { shape: scaleShape } = info.scale;
  const [blockRows, ...blockColumns] = matrixOf(scaleShape);
  const isBlocks = blockColumns.length === 1 && blockRows !== rows && blockRows > 1;
  const block = isBlocks ? scaleBlockOf(shape, scaleShape, config) : undefined;
  const blocks = block && [Math.ceil(rows / block.rows), Math.ceil(columns / block.columns)];
  const wordOf = (row: number): number =>
    Math.ceil(isOld ? row / Math.floor(32 / bits) : (row * bits) / 32);
  const cut = (role: string, dtype: FileDType, height: number, begin: number, end: number) => {
    if (role === "zeroPoint" && dtype === "int32") return [wordOf(begin), wordOf(end)];
    if (role === "scale" && block !== undefined) {
      return [Math.floor(begin / block.rows), Math.ceil(end / block.rows)];
    }
    return role !== "groupIndex" && height === rows ? [begin, end] : [0, height];
  };
  return {
    unit: step * columns,
    async read(load, first, out) {
      const end = first + out.length;
      const parts: Record<string, StoredPart> = {};
      for (const [role, tensor] of Object.entries(info)) {
        const { name, dtype, byteLength } = tensor;
        if (role === "shape") {
          const lengths = BigInt64Array.of(BigInt((end - first) / columns), BigInt(columns));
          parts[role] = partOf(tensor, new Uint8Array(lengths.buffer));
          continue;
        }
        const own = (role === "scale" && blocks) || matrixOf(tensor.shape);
        const [height = 1, ...others] = own;
        const [low, high] = cut(role, dtype, height, first / columns, end / columns);
        const size = byteLength / height;
        const bytes = await load(name, low * size, high * size);
        parts[role] = partOf(tensor, bytes, [high - low, ...others]);
      }
      const skipped = block && (first / columns) % block.rows;
      const cutConfig = block === undefined ? config : withBlock(config, { ...block, skipped });
      dequantizeValues(unpackWeight(layout, parts, cutConfig, module), out);
    },
  };
}
