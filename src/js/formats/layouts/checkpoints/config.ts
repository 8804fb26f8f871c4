// The quantization part of a checkpoint's config.json.

import { rangeError } from "../../../base/errors.js";

/** Rows and columns that share a scale. */
export interface ScaleBlock {
  readonly rows: number;
  readonly columns: number;
  /** Rows of the first block that are missing, where a weight is read from a row within it. */
  readonly skipped?: number | undefined;
}

/** What config.json says of quantization, as far as the layouts need it. */
export interface QuantizationConfig {
  /** Bits that weights of the checkpoint may have. */
  readonly bits: readonly number[];
  readonly groupSize: number | undefined;
  /** MLX: bits and group size of modules that have their own, by name. */
  readonly modules: ReadonlyMap<string, { readonly bits: number; readonly groupSize: number }>;
  /** GPTQ: "gptq" (zero points stored minus 1) or "gptq_v2". */
  readonly checkpointFormat: string | undefined;
  readonly method: string | undefined;
  /** compressed-tensors: whether its writer is older than 0.17, whose codes do not cross words. */
  readonly isOldPacking: boolean;
  /** Blocks of rows and columns that share a scale. */
  readonly blocks: readonly ScaleBlock[];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Reads `quantization_config` (or MLX's `quantization`) of a config.json.
 * @param config  the parsed file
 * @throws {RangeError} `ZP_UNSUPPORTED_FILE` for layouts that are known, but not read
 */
export function readQuantizationConfig(config: unknown): QuantizationConfig | undefined {
  const where = "readQuantizationConfig";
  if (!isObject(config)) return undefined;
  // compression_config: compressed-tensors before 0.5.
  const given = config.quantization_config ?? config.compression_config ?? config.quantization;
  if (!isObject(given)) return undefined;
  const method = typeof given.quant_method === "string" ? given.quant_method : undefined;
  const refuse = (what: string): Error =>
    rangeError("ZP_UNSUPPORTED_FILE", where, `quantization ${what} is not read`);
  const text = (key: string): string | undefined =>
    typeof given[key] === "string" ? (given[key] as string) : undefined;
  const checkpointFormat = text("checkpoint_format") ?? text("format");
  const bits = new Set<number>();
  const addBits = (value: unknown): void => {
    if (isObject(value) && Number.isInteger(value.bits ?? value.num_bits)) {
      bits.add((value.bits ?? value.num_bits) as number);
    }
  };
  addBits(given);
  const blocks: ScaleBlock[] = [];
  const addBlock = (value: unknown): void => {
    const [rows, columns, ...others] = Array.isArray(value) ? value : [];
    const isLength = (length: unknown) => Number.isSafeInteger(length) && (length as number) > 0;
    if (isLength(rows) && isLength(columns) && others.length === 0) blocks.push({ rows, columns });
  };
  addBlock(given.weight_block_size);
  const modules = new Map<string, { bits: number; groupSize: number }>();
  for (const [name, value] of Object.entries(given)) {
    if (!isObject(value) || !Number.isInteger(value.bits) || !Number.isInteger(value.group_size))
      continue;
    modules.set(name, { bits: value.bits as number, groupSize: value.group_size as number });
  }
  if (isObject(given.config_groups)) {
    for (const group of Object.values(given.config_groups)) {
      if (!isObject(group)) continue;
      addBits(group.weights);
      if (isObject(group.weights)) addBlock(group.weights.block_structure);
    }
  }
  if (method === "awq" && (text("version") ?? "gemm").toLowerCase() !== "gemm") {
    throw refuse(`awq of version ${text("version")}`);
  }
  if (method === "gptq") {
    if (checkpointFormat !== undefined && !["gptq", "gptq_v2"].includes(checkpointFormat)) {
      throw refuse(`gptq of format ${checkpointFormat}`);
    }
    if ([...bits].some((each) => ![2, 3, 4, 8].includes(each))) {
      throw refuse(`gptq of ${[...bits].join(", ")} bits`);
    }
  }
  const groupSize = Number.isInteger(given.group_size) ? (given.group_size as number) : undefined;
  const [, major, minor] = /^(\d+)\.(\d+)\./.exec(text("version") ?? "") ?? [undefined, "1", "0"];
  const isOldPacking = method === "compressed-tensors" && major === "0" && Number(minor) < 17;
  return { bits: [...bits], groupSize, modules, checkpointFormat, method, isOldPacking, blocks };
}
