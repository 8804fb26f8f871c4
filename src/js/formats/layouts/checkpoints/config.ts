// The quantization part of a checkpoint's config.json.

import { rangeError } from "../../../base/errors.js";
import { expressionOf } from "./expressions.js";

/** Rows and columns that share a scale. */
export interface ScaleBlock {
  readonly rows: number;
  readonly columns: number;
  /** Rows of each matrix of a stack, whose last block may be short. Default: one matrix. */
  readonly matrix?: number | undefined;
  /** The first row, where a weight is read from a row on. */
  readonly first?: number | undefined;
}

/** Bits and group size of a module that has its own, as far as they are given. */
export interface ModuleForm {
  readonly bits?: number | undefined;
  readonly groupSize?: number | undefined;
}

/** What config.json says of quantization, as far as the layouts need it. */
export interface QuantizationConfig {
  /** Bits that weights of the checkpoint may have. */
  readonly bits: readonly number[];
  readonly groupSize: number | undefined;
  /** MLX: bits and group size of modules that have their own, by name. */
  readonly modules: ReadonlyMap<string, ModuleForm>;
  /** GPTQ: the same by expressions that match the beginning of a name; undefined: not quantized. The first match counts. */
  readonly dynamic: readonly (readonly [
    pattern: { test(name: string): boolean },
    form: ModuleForm | undefined,
  ])[];
  /** Whether a module, or a parent of it, is named among those that are not quantized. */
  isIgnored(module: string): boolean;
  /** GPTQ: "gptq" (zero points stored minus 1) or "gptq_v2". */
  readonly checkpointFormat: string | undefined;
  readonly method: string | undefined;
  /** compressed-tensors: whether its writer is older than 0.17, whose codes do not cross words. */
  readonly isOldPacking: boolean;
  /** Blocks of rows and columns that share a scale. */
  readonly blocks: readonly ScaleBlock[];
  /** GPTQ: whether codes have the zero point in the middle. */
  readonly isSymmetric: boolean;
  /** Whether weights have zero points, where the configuration says so for all of them. */
  readonly hasZeroPoints: boolean | undefined;
  /** Whether weights have the group of each input in a tensor of their own, where the configuration says so. */
  readonly hasGroupIndex: boolean | undefined;
  /** Whether codes have fewer than 8 bits, and two of them may be in a byte. */
  readonly hasNarrowCodes: boolean;
  /** Why no layout of this configuration is read: an unknown method, or a known one that is not supported. */
  readonly refused: string | undefined;
  /**
   * ComfyUI's order of float4 and of the scales of groups: the first of two codes in the high bits, scales in tiles.
   * The rows of the weight, and the first of those to read.
   */
  readonly tiles: { readonly rows: number; readonly first: number } | undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isLength = (length: unknown): length is number =>
  Number.isSafeInteger(length) && (length as number) > 0;

/** Methods whose layouts are read, or whose tensors tell their layout. */
export const METHODS: readonly string[] = [
  ...[
    "compressed-tensors",
    "gptq",
    "awq",
    "fp8",
    "fbgemm_fp8",
    "modelopt",
    "modelopt_fp4",
    "quark",
  ],
  ...[
    "mxfp4",
    "mxfp8",
    "nvfp4",
    "int8",
    "bitsandbytes",
    "auto-round",
    "intel/auto-round",
    "auto_round",
  ],
  ...[
    "mxfp4_pack_quantized",
    "finegrained_fp8",
    "deepseek_v4_fp8",
    "modelopt_mixed",
    "modelopt_mxfp8",
  ],
];

/** MLX's modes. */
const MODES: readonly unknown[] = ["affine", "mxfp4", "mxfp8", "nvfp4"];

/** Parts of a model whose configurations hold that of their own quantization. */
const NESTED = ["text_config", "llm_config", "language_config", "decoder_config", "thinker_config"];

/** The object that describes the quantization: of the model, or of a part of it. */
function findIn(config: Record<string, unknown>, depth = 0): Record<string, unknown> | undefined {
  // compression_config: compressed-tensors before 0.5.
  for (const key of ["quantization_config", "compression_config", "quantization"]) {
    if (isObject(config[key])) return config[key];
  }
  if (depth === 2) return undefined;
  const names = Object.keys(config).filter((name) => !NESTED.includes(name));
  for (const name of [...NESTED, ...names]) {
    const found = isObject(config[name]) ? findIn(config[name], depth + 1) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Names of modules that are not quantized, or expressions. */
interface Ignored {
  test(module: string): boolean;
  /** Expressions that are not read. */
  readonly unread: readonly string[];
}

/** Names, or expressions after "re:", of modules that are not quantized. */
function ignoredIn(given: Record<string, unknown>): Ignored {
  const lists = ["ignore", "ignored_layers", "modules_to_not_convert", "llm_int8_skip_modules"];
  const names = [...lists, "exclude", "exclude_modules", "exclude_layers"].flatMap((key) => {
    const list = given[key];
    return Array.isArray(list)
      ? list.filter((name): name is string => typeof name === "string")
      : [];
  });
  const unread: string[] = [];
  const tests = names.map((name): ((module: string) => boolean) => {
    if (name.startsWith("re:")) {
      const pattern = expressionOf(name.slice(3));
      if (pattern === undefined) unread.push(name);
      return (module) => pattern?.test(module) === true;
    }
    if (name.includes("*")) {
      const [begin, ...others] = name.split("*");
      return (module) => {
        let at = module.startsWith(begin) ? begin.length : -1;
        for (const part of others) {
          if (at >= 0)
            at = module.indexOf(part, at) < 0 ? -1 : module.indexOf(part, at) + part.length;
        }
        return at >= 0;
      };
    }
    return (module) => `.${module}.`.includes(`.${name.replace(/\.$/, "")}.`);
  });
  return { unread, test: (module) => tests.some((test) => test(module)) };
}

/** GPTQModel's rules: "-:expression" for modules that are not quantized, "+:expression" or "expression" with values. */
function dynamicOf(value: unknown): {
  readonly rules: QuantizationConfig["dynamic"];
  /** Expressions that are not read. */
  readonly unread: readonly string[];
} {
  const unread: string[] = [];
  const rules = Object.entries(isObject(value) ? value : {}).flatMap(([key, form]) => {
    const pattern = expressionOf(key.replace(/^[-+]:/, ""));
    if (pattern === undefined) {
      unread.push(key);
      return [];
    }
    return [[pattern, key.startsWith("-:") ? undefined : formOf(form)] as const];
  });
  return { rules, unread };
}

const formOf = (value: unknown): ModuleForm => {
  const { bits, group_size: groupSize } = Object(value) as Record<string, unknown>;
  return {
    bits: isLength(bits) ? bits : undefined,
    groupSize: Number.isInteger(groupSize) ? (groupSize as number) : undefined,
  };
};

/**
 * Bits and group size that a configuration gives for a module: its own, by its name or by a rule, or of all.
 * MLX's names of modules may have another prefix than the tensors.
 */
export function moduleForm(
  config: QuantizationConfig | undefined,
  module: string,
): ModuleForm | undefined {
  if (config === undefined) return undefined;
  const own = config.modules.get(module);
  if (own !== undefined) return own;
  const rule = config.dynamic.find(([pattern]) => pattern.test(module));
  if (rule !== undefined) return rule[1];
  const alike = [...config.modules].filter(
    ([name]) => name.endsWith(`.${module}`) || (name !== "" && module.endsWith(`.${name}`)),
  );
  return alike.length === 1 ? alike[0][1] : undefined;
}

/** Whether a method is AutoRound's, by one of its names. */
const isAutoRound = (method: string | undefined): boolean => /auto[-_]round$/.test(method ?? "");

/**
 * The packing of AutoRound, which older files name by the backend.
 * Source: AutoRound 0.9, backend.py and convert_model.py. "auto_round:auto_gptq" is its default.
 */
function packingFormatOf({ packing_format: packing, backend }: Record<string, unknown>): string {
  const given = packing ?? backend ?? "auto";
  return given === "auto" ? "auto_round:auto_gptq" : String(given);
}

/** Reasons for which the layout of a known method is not read. */
function refusalOf(
  method: string | undefined,
  given: Record<string, unknown>,
  format: string | undefined,
  bits: readonly number[],
): string | undefined {
  const text = (key: string): string => (typeof given[key] === "string" ? given[key] : "");
  if (method !== undefined && !METHODS.includes(method))
    return `quant_method ${JSON.stringify(method)}`;
  const modes = [given, ...Object.values(given)].map((each) =>
    isObject(each) ? each.mode : undefined,
  );
  const unknown = modes.find((each) => each !== undefined && !MODES.includes(each));
  if (method === undefined && unknown !== undefined) return `mode ${JSON.stringify(unknown)}`;
  for (const version of method === "awq" ? [text("version"), format ?? ""] : [])
    if (!/^(gemm)?$/i.test(version)) return `awq of version ${version}`;
  for (const key of ["transform_config", "hadamard_config", "rotation_config"])
    if (turnsInputs(given[key])) return `${key}: engines turn the inputs of these weights, too`;
  if (given.is_marlin_format === true) return "gptq of format marlin";
  const packing = packingFormatOf(given);
  if (isAutoRound(method) && !/llm_compressor|compressed|fp8/.test(packing))
    return `auto-round of packing_format ${JSON.stringify(packing)}`;
  if (method !== "gptq") return undefined;
  if (format !== undefined && !["gptq", "gptq_v2"].includes(format))
    return `gptq of format ${format}`;
  return bits.some((each) => ![2, 3, 4, 8].includes(each))
    ? `gptq of ${bits.join(", ")} bits`
    : undefined;
}

/**
 * Whether engines rotate inputs or outputs of a module where it runs, so that its weight alone is none of the model's.
 * Rotations of weights alone, in the places "weight_input" and "weight_output", cancel each other.
 * Source: compressed-tensors 0.12, TransformArgs.is_online.
 */
function turnsInputs(transform: unknown): boolean {
  if (!isObject(transform) || Object.keys(transform).length === 0) return false;
  if (!isObject(transform.config_groups)) return true;
  return Object.values(transform.config_groups).some((scheme) => {
    const { apply } = Object(scheme) as Record<string, unknown>;
    return !(
      Array.isArray(apply) &&
      apply.every((each) => /^weight_(in|out)put$/.test(String(Object(each).location)))
    );
  });
}

/** Whether a configuration has codes of fewer than 8 bits, in no format that has a byte for each. */
function hasNarrowCodes(
  method: string | undefined,
  given: Record<string, unknown>,
  groups: readonly unknown[],
  bits: readonly number[],
): boolean {
  const { weight } = Object(given.global_quant_config) as Record<string, unknown>;
  const { dtype } = Object(weight) as Record<string, unknown>;
  const names = [given.quant_algo, given.weight_dtype, dtype].map(String);
  if (names.some((name) => /^(w4|u?int4)/i.test(name))) return true;
  if (bits.length === 0 || !bits.every((each) => each < 8)) return false;
  if (method !== "compressed-tensors") return true;
  return [given, ...groups].every((each) => {
    const { format = "pack-quantized" } = Object(each) as Record<string, unknown>;
    return format === "pack-quantized";
  });
}

/** Whether all of some values are alike, and which they are. */
const common = <T>(values: readonly T[]): T | undefined =>
  values.length > 0 && values.every((value) => value === values[0]) ? values[0] : undefined;

/**
 * Reads `quantization_config` (or MLX's `quantization`) of a config.json, also of those of a part of the model.
 * @param config  the parsed file
 */
export function describeQuantization(config: unknown): QuantizationConfig | undefined {
  if (!isObject(config)) return undefined;
  const given = findIn(config);
  if (given === undefined) return undefined;
  const named = typeof given.quant_method === "string" ? given.quant_method : undefined;
  const text = (key: string): string | undefined =>
    typeof given[key] === "string" ? (given[key] as string) : undefined;
  const packing = isAutoRound(named) ? packingFormatOf(given) : "";
  // AutoRound's own format has zero points as they are, its "auto_gptq" those minus 1.
  const isPlainZero = ["auto_round", "auto_round:gptqmodel"].includes(packing);
  const method = isPlainZero || /gptq/.test(packing) ? "gptq" : /awq/.test(packing) ? "awq" : named;
  const checkpointFormat =
    text("checkpoint_format") ?? text("format") ?? (isPlainZero ? "gptq_v2" : undefined);
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
    if (isLength(rows) && isLength(columns) && others.length === 0) blocks.push({ rows, columns });
  };
  addBlock(given.weight_block_size);
  const modules = new Map<string, ModuleForm>();
  for (const [name, value] of Object.entries(given)) {
    const form = formOf(value);
    if (isObject(value) && (form.bits !== undefined || form.groupSize !== undefined)) {
      modules.set(name, form);
    }
  }
  const groups = isObject(given.config_groups) ? Object.values(given.config_groups) : [];
  const weights = groups.flatMap((group) =>
    isObject(group) && isObject(group.weights) ? [group.weights] : [],
  );
  for (const own of weights) {
    addBits(own);
    addBlock(own.block_structure);
  }
  const dynamic = dynamicOf(given.dynamic);
  const ignored = ignoredIn(given);
  const [unread] = [...dynamic.unread, ...ignored.unread];
  const groupSize = Number.isInteger(given.group_size) ? (given.group_size as number) : undefined;
  const [, major, minor] = /^(\d+)\.(\d+)\./.exec(text("version") ?? "") ?? [undefined, "1", "0"];
  const isOldPacking = method === "compressed-tensors" && major === "0" && Number(minor) < 17;
  const isGptq = method === "gptq";
  const symmetric = common(weights.map((own) => own.symmetric));
  const actorder = common(weights.map((own) => own.actorder));
  return {
    ...{
      bits: [...bits],
      groupSize,
      modules,
      dynamic: dynamic.rules,
      checkpointFormat,
      method,
      isOldPacking,
      blocks,
    },
    tiles: undefined,
    isIgnored: ignored.test,
    isSymmetric: given.sym === true,
    hasZeroPoints: typeof symmetric === "boolean" ? !symmetric : undefined,
    hasGroupIndex:
      (isGptq && given.desc_act === true && groupSize !== -1) || actorder === "group" || undefined,
    hasNarrowCodes: hasNarrowCodes(method, given, groups, [...bits]),
    refused:
      refusalOf(method, given, checkpointFormat, [...bits]) ??
      (unread === undefined ? undefined : `the expression ${JSON.stringify(unread)}`),
  };
}

/**
 * Reads the quantization of a config.json whose layouts are read.
 * @throws {RangeError} `ZP_UNSUPPORTED_FILE` for those that are known, but not read, and for unknown methods
 */
export function readQuantizationConfig(config: unknown): QuantizationConfig | undefined {
  const found = describeQuantization(config);
  if (found?.refused === undefined) return found;
  const problem = `quantization ${found.refused} is not read`;
  throw rangeError("ZP_UNSUPPORTED_FILE", "readQuantizationConfig", problem);
}

/** A configuration that says nothing. */
export const NO_CONFIG: QuantizationConfig = {
  ...{ bits: [], groupSize: undefined, modules: new Map(), dynamic: [], isIgnored: () => false },
  ...{ checkpointFormat: undefined, method: undefined, isOldPacking: false, blocks: [] },
  ...{ hasZeroPoints: undefined, hasGroupIndex: undefined, refused: undefined, tiles: undefined },
  ...{ hasNarrowCodes: false, isSymmetric: false },
};
