// Quantized weights of safetensors checkpoints: compressed-tensors, int8, float8 and float4 with scales, MLX, GPTQ, AWQ,
// bitsandbytes; and those whose quantization is unknown.

import { OptionsRecord, recordOf } from "../../base/fields.js";
import { show } from "../../base/format-value.js";
import type { Budget } from "../../formats/budget.js";
import type { FileDType } from "../../formats/dtypes.js";
import { readJson } from "../../formats/json.js";
import { findBlockWeights } from "../../formats/layouts/checkpoints/bitsandbytes.js";
import { lengthsOf, packingOf } from "../../formats/layouts/checkpoints/compressed.js";
import {
  describeQuantization,
  NO_CONFIG,
  type QuantizationConfig,
} from "../../formats/layouts/checkpoints/config.js";
import {
  floatBlockOf,
  hasTiles,
  isFloatLayout,
  matrixOf,
  scaleBlockOf,
  scaleRowsOf,
  scaleShapeOf,
  tileInputs,
  withBlock,
} from "../../formats/layouts/checkpoints/floats.js";
import { markedRules, markerIn } from "../../formats/layouts/checkpoints/markers.js";
import { isCodes } from "../../formats/layouts/checkpoints/neighbours.js";
import {
  findQuantizedWeights,
  type QuantizedWeight,
} from "../../formats/layouts/checkpoints/patterns.js";
import { findUnclaimed } from "../../formats/layouts/checkpoints/unclaimed.js";
import {
  formOf,
  outputsOfWeight,
  unpackWeight,
  type WeightForm,
} from "../../formats/layouts/checkpoints/weight.js";
import { scaledOf } from "../../formats/layouts/scaled.js";
import { dequantizeValues, partOf, type StoredPart } from "../../formats/layouts/unpack.js";
import type { FileTensor } from "../../formats/source.js";
import { sizeOf } from "../../tensor/shape.js";
import { blocksOf, rowsOfBytes } from "./bitsandbytes.js";
import { quantizedTensorOf, transposed } from "./quantized.js";
import { readSmall } from "./small-parts.js";
import { type ShardIndex, unlistedOf } from "./unlisted.js";
import { notExpressible, type StoredWeight, unknownWeight, type Window } from "./weight.js";

type ReadBeside = (path: string) => Promise<Uint8Array | undefined>;

/**
 * Parsed JSON of a file beside the model; undefined if there is none.
 * @throws {RangeError} `ZP_INVALID_FILE` if it is no JSON
 */
async function jsonOf(readBeside: ReadBeside, path: string, budget: Budget): Promise<unknown> {
  const bytes = await readBeside(path);
  return bytes && readJson(`openModel: ${path}`, bytes, budget);
}

/**
 * The quantization that the files beside a checkpoint describe: config.json, or the files of AutoRound, AutoGPTQ, AutoAWQ
 * or ModelOpt.
 */
async function configOf(
  readBeside: ReadBeside,
  budget: Budget,
): Promise<QuantizationConfig | undefined> {
  const found = describeQuantization(await jsonOf(readBeside, "config.json", budget));
  if (found !== undefined) return found;
  const autoRound = await jsonOf(readBeside, "quantization_config.json", budget);
  if (Object(autoRound) === autoRound) {
    return describeQuantization({ quantization_config: autoRound });
  }
  const gptq = await jsonOf(readBeside, "quantize_config.json", budget);
  if (Object(gptq) === gptq) {
    const own = { quant_method: "gptq", ...(gptq as object) };
    return describeQuantization({ quantization_config: own });
  }
  const awq = await jsonOf(readBeside, "quant_config.json", budget);
  if (Object(awq) === awq) {
    const { w_bit: bits, q_group_size: group_size, version } = awq as Record<string, unknown>;
    return describeQuantization({
      quantization_config: { quant_method: "awq", bits, group_size, version },
    });
  }
  const modelopt = await jsonOf(readBeside, "hf_quant_config.json", budget);
  const { quantization } = Object(modelopt) as Record<string, unknown>;
  if (Object(quantization) !== quantization) return undefined;
  return describeQuantization({
    quantization_config: { quant_method: "modelopt", ...(quantization as object) },
  });
}

/** dtypes of ordinary tensors, which need no configuration to be read. */
const ORDINARY: readonly FileDType[] = [
  ...(["float64", "float32", "float16", "bfloat16", "int64", "uint64", "bool"] as const),
];

/** What tells the form of MLX's weights where several bits and group sizes have the same shapes. */
const MLX_FORMS = ["bits and group size, which a config.json beside it tells"];

/** What tells int8 codes from two of 4 bits in a byte where shapes are those of two. */
const INT8_BITS = [
  "bits, which a config.json beside it tells: its columns are half of other tensors' lengths",
];

/**
 * Whether most matrices of int8 have columns that are no length of another module's tensor, while twice of them is one:
 * each byte may hold two codes. Lengths are those of floats, and the rows of other matrices. A length that is the matrix's
 * rows tells nothing: a normalization of its outputs has it, too.
 */
function haveHalfColumns(
  weights: readonly QuantizedWeight[],
  files: ReadonlyMap<string, FileTensor>,
): boolean {
  const lengthsOf = ({ dtype, shape }: FileTensor): Set<number> =>
    new Set(dtype === "int8" ? shape.slice(0, 1) : shape);
  const counts = new Map<number, number>();
  for (const tensor of files.values())
    for (const length of lengthsOf(tensor)) counts.set(length, (counts.get(length) ?? 0) + 1);
  let half = 0;
  let whole = 0;
  for (const { module, parts } of weights) {
    const names = [...Object.values(parts), `${module}.bias`];
    const own = names.flatMap((name) => [...lengthsOf(files.get(name) ?? NO_TENSOR)]);
    const isElsewhere = (length: number): boolean =>
      (counts.get(length) ?? 0) > own.filter((each) => each === length).length;
    const [rows, columns] = (files.get(parts.codes) as FileTensor).shape;
    if (isElsewhere(columns)) whole++;
    else if (2 * columns !== rows && isElsewhere(2 * columns)) half++;
  }
  return half > whole;
}

const NO_TENSOR = { dtype: "int8", shape: [] } as unknown as FileTensor;

/** Why scales of groups are not read, where those of a weight have the lengths of whole tiles. */
const tilesOf = (scale: string): string =>
  `scales that may be in tiles of 128 rows and 4 groups, as ${show(scale)} is padded to them`;

/** Text about the quantization of each module in a file's metadata, as ComfyUI has it. */
const METADATA_KEY = "_quantization_metadata";

function markersIn(metadata: ReadonlyMap<string, unknown>, budget: Budget): Map<string, unknown> {
  const text = metadata.get(METADATA_KEY);
  if (typeof text !== "string") return new Map();
  const given = readJson(`openModel: ${METADATA_KEY}`, new TextEncoder().encode(text), budget);
  const { layers } = Object(given) as { readonly layers?: unknown };
  return new Map(Object.entries(Object(layers) as object));
}

/**
 * Finds the quantized weights of a checkpoint, and the tensors that look like parts of such weights and are of no layout.
 * @param budget  bounds the memory of configurations and markers
 * @param index  which file of an index has each tensor, and what else is in these files
 * @throws {RangeError} `ZP_INVALID_FILE` if the configuration beside it cannot be read
 */
export async function findCheckpointWeights(
  files: ReadonlyMap<string, FileTensor>,
  readBeside: ReadBeside,
  metadata: ReadonlyMap<string, unknown>,
  budget: Budget,
  index?: ShardIndex,
): Promise<StoredWeight[]> {
  const isPlain = [...files.values()].every(({ dtype }) => ORDINARY.includes(dtype));
  if (isPlain && findUnclaimed(budget, files, [], undefined, new Map()).reasons.size === 0)
    return [];
  const config = await configOf(readBeside, budget);
  const blocks = findBlockWeights(files);
  const found = findQuantizedWeights(files, config);
  const part = (name: string): FileTensor => files.get(name) as FileTensor;
  const small = await readSmall(
    [
      ...found.flatMap(({ parts }) => [parts.shape, parts.marker]),
      ...blocks.map(({ parts }) => parts.state),
    ].flatMap((name) => (name === undefined ? [] : [part(name)])),
    budget,
  );
  const markers = markersIn(metadata, budget);
  const unreadable = new Map<string, readonly string[]>();
  const noted = new Map<string, readonly string[]>();
  const tiled = found.find(
    ({ layout, parts }) =>
      isFloatLayout(layout) && parts.marker === undefined && hasTiles(layout, infoOf(parts, files)),
  );
  const plain = config === undefined ? found.filter(({ layout }) => layout === "int8") : [];
  const isHalved = haveHalfColumns(plain, files);
  const claims: { readonly parts: readonly string[]; readonly weight: StoredWeight }[] = [];
  const claim = (parts: Readonly<Record<string, string>>, make: () => StoredWeight | undefined) => {
    const names = Object.values(parts);
    const weight = make();
    if (weight === undefined)
      unreadable.set(names[0], [...(noted.get(names[0]) ?? []), ...names.slice(1)]);
    else claims.push({ parts: names, weight });
  };
  for (const { name, parts } of blocks) {
    claim(parts, () => blocksOf(name, parts, files, small.get(part(parts.state))));
  }
  for (const weight of found) {
    const { layout, module, parts, name } = weight;
    if (layout === "rows-int8") {
      claim(parts, () => rowsOfBytes(name, parts, files));
      continue;
    }
    const marker = parts.marker === undefined ? undefined : small.get(part(parts.marker));
    const own = marker === undefined ? markers.get(module) : markerIn(marker);
    const info = infoOf(parts, files);
    const given =
      parts.shape === undefined
        ? undefined
        : lengthsIn(part(parts.shape), small.get(part(parts.shape)));
    const hasMarker = parts.marker !== undefined || markers.has(module);
    if (layout === "mlx" && config === undefined) noted.set(parts.packed, MLX_FORMS);
    const isTiled =
      tiled !== undefined && !hasMarker && isFloatLayout(layout) && tileInputs(info) !== undefined;
    if (isTiled) noted.set(parts.codes, [tilesOf(tiled.parts.scale)]);
    const isHalf = isHalved && layout === "int8" && !hasMarker;
    if (isHalf) noted.set(parts.codes, INT8_BITS);
    claim(parts, () => {
      if (isHalf || isTiled) return undefined;
      const ruled = hasMarker ? markedRules(own, layout, info, config ?? NO_CONFIG) : config;
      if (hasMarker && ruled === undefined) return undefined;
      return storedOf(weight, files, ruled, given);
    });
  }
  // Modules that the metadata describes and no layout claims.
  const known = new Set(claims.map(({ weight }) => weight.name));
  for (const module of markers.keys()) {
    const name = `${module}.weight`;
    if (files.has(name) && !known.has(name) && !unreadable.has(name)) {
      unreadable.set(name, [METADATA_KEY]);
    }
  }
  const unclaimed = findUnclaimed(budget, files, claims, config, unreadable);
  const { companions } = unclaimed;
  const reasons = new Map(unclaimed.reasons);
  const dropped = new Set(unclaimed.dropped);
  // Loaders take all that is in a file: codes whose scale or zero point the index alone leaves out are no values without it.
  const unlisted = unlistedOf(index);
  if (unlisted.size > 0) {
    const all = new Map([...unlisted, ...files]);
    for (const [name, why] of findUnclaimed(budget, all, claims, config, unreadable).reasons) {
      const left = why
        .filter((each) => unlisted.has(each))
        .map((each) => `${show(each)}, which the index leaves out`);
      if (left.length > 0 && files.has(name) && isCodes(part(name).dtype))
        reasons.set(name, [...(reasons.get(name) ?? []), ...left]);
    }
    for (const each of claims) if (reasons.has(each.parts[0])) dropped.add(each);
  }
  const beside = [...companions];
  return [
    ...claims.filter((each) => !dropped.has(each)).map(({ weight }) => weight),
    ...Array.from(reasons, ([name, why]) => unknownWeight(part(name), why, beside)),
  ];
}

/** Shape and dtype of each part, by its role. */
const infoOf = (
  parts: Readonly<Record<string, string>>,
  files: ReadonlyMap<string, FileTensor>,
): Readonly<Record<string, FileTensor>> =>
  recordOf(Object.entries(parts).map(([role, name]) => [role, files.get(name) as FileTensor]));

/** The two lengths that the tensor of a shape holds. */
function lengthsIn(tensor: FileTensor, bytes: Uint8Array | undefined): number[] | undefined {
  const isShape = ["int64", "int32"].includes(tensor.dtype) && sizeOf(tensor.shape) === 2;
  return bytes && isShape ? lengthsOf(partOf(tensor, bytes)) : undefined;
}

function storedOf(
  { layout, name, module, parts }: QuantizedWeight,
  files: ReadonlyMap<string, FileTensor>,
  config: QuantizationConfig | undefined,
  given: readonly number[] | undefined,
): StoredWeight | undefined {
  const info = infoOf(parts, files);
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
    ...{ name, shape, dtype, parts, layout },
    window: windowOf(layout, module, form, info, config),
    async read(load, checkOpen) {
      const whole = await load(parts);
      const some = outputsOfWeight(layout, whole);
      if (some === undefined) return dequantizeValues(unpackWeight(layout, whole, config, module));
      const values = new Float32Array(sizeOf(shape));
      for (const { first, parts: own } of some) {
        // Signals and events wait for one part, which takes some 20 ms.
        await new Promise((resolve) => setTimeout(resolve));
        checkOpen?.();
        const q = unpackWeight(layout, own, config, module);
        values.set(transposed(dequantizeValues(q), q.shape), first);
      }
      return values;
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
  const scaleShape = scaleShapeOf(info.scale.shape);
  const isTiled = config?.tiles !== undefined && info.scale.dtype !== "float32";
  const [blockRows, ...blockColumns] = matrixOf(scaleShape);
  const isBlocks = blockColumns.length === 1 && blockRows !== rows && blockRows > 1 && !isTiled;
  const block = isBlocks
    ? isFloatLayout(layout)
      ? floatBlockOf(layout, info, config)
      : scaleBlockOf(shape, scaleShape, config)
    : undefined;
  const blocks = block && [scaleRowsOf(block, 0, rows)[1], Math.ceil(columns / block.columns)];
  const wordOf = (row: number): number =>
    Math.ceil(isOld ? row / Math.floor(32 / bits) : (row * bits) / 32);
  const cut = (role: string, dtype: FileDType, height: number, begin: number, end: number) => {
    if (role === "zeroPoint" && dtype === "int32") return [wordOf(begin), wordOf(end)];
    if (role === "scale" && block !== undefined) return scaleRowsOf(block, begin, end);
    if (role === "scale" && isTiled) return [0, height];
    return role !== "groupIndex" && role !== "marker" && height === rows
      ? [begin, end]
      : [0, height];
  };
  return {
    unit: step * columns,
    async read(load, first, out) {
      const end = first + out.length;
      const parts = new OptionsRecord() as Record<string, StoredPart>;
      for (const [role, tensor] of Object.entries(info)) {
        const { name, dtype, byteLength } = tensor;
        if (role === "shape") {
          const lengths = [(end - first) / columns, columns];
          const array =
            dtype === "int32" ? Int32Array.from(lengths) : BigInt64Array.from(lengths, BigInt);
          parts[role] = partOf(tensor, new Uint8Array(array.buffer));
          continue;
        }
        const own =
          (role === "scale" && blocks) || matrixOf(role === "scale" ? scaleShape : tensor.shape);
        const [height = 1, ...others] = own;
        const [low, high] = cut(role, dtype, height, first / columns, end / columns);
        const size = byteLength / height;
        const bytes = await load(name, low * size, high * size);
        parts[role] = partOf(tensor, bytes, [high - low, ...others]);
      }
      const row = first / columns;
      const cutConfig = isTiled
        ? ({ ...config, tiles: { rows, first: row } } as QuantizationConfig)
        : block === undefined
          ? config
          : withBlock(config, { ...block, first: row });
      dequantizeValues(unpackWeight(layout, parts, cutConfig, module), out);
    },
  };
}
