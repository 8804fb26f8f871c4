// Selection of a QConfig for each layer of a model.

import { checkInteger, wrongKind } from "../base/check.js";
import { refuseClones, refuseJSON } from "../base/cloning.js";
import { typeError } from "../base/errors.js";
import { INSPECT, kindOf, show } from "../base/format-value.js";
import { checkOptions, isPlainObject } from "../base/options.js";
import { explainReceivers } from "../base/receivers.js";
import type { FittingScheme, OneGranularity, QuantizeOptions } from "../quantize/options.js";
import { QConfig } from "./qconfig.js";

/** All options for the quantized weights of a layer with float32 activations. */
interface AnyWeightOnlyOptions extends Omit<QuantizeOptions, "scale" | "zeroPoint" | "offset"> {
  /** The scale is chosen. */
  scale?: undefined;
  /** `"float"`: a real offset instead of a zero point, see `quantize`. */
  zeroPoint?: "float" | undefined;
  /**
   * Bits of a code, 2 to 8, instead of a dtype: symmetric codes from −(2^(bits − 1) − 1) to
   * 2^(bits − 1) − 1, in the smallest dtype that holds them.
   */
  bits?: number | undefined;
}

/** Options for the quantized weights of a layer with float32 activations. */
export type WeightOnlyOptions = AnyWeightOnlyOptions & FittingScheme & OneGranularity;

const WEIGHT_ONLY_OPTIONS = [
  "dtype",
  "bits",
  "scheme",
  "axis",
  "groupSize",
  "zeroPoint",
  "includeZero",
  "nonFinite",
  "range",
] as const;

/**
 * Configuration of a layer with quantized weights and float32 activations. Weights are quantized by
 * `quantize` in any dtype (for a Linear, 1 to 8 bits), per tensor, per channel or per group. Accepted
 * wherever a `QConfig` is.
 *
 * @example mapping.setModuleName("fc1", new WeightOnlyQConfig({ dtype: "int4", groupSize: 16 }))
 */
export class WeightOnlyQConfig {
  /** The given options. */
  declare readonly options: Readonly<WeightOnlyOptions>;

  static {
    explainReceivers(WeightOnlyQConfig, "WeightOnlyQConfig", Object.isFrozen);
  }

  /**
   * @param options  options of `quantize` that choose qparams, or `bits`; checked when a model is
   *   converted
   * @throws {TypeError|RangeError} `ZP_INVALID_OPTION` for bits that are not an integer from 2 to 8;
   *   `ZP_CONFLICTING_OPTIONS` for bits with a dtype, the affine scheme or range "mse"; `ZP_UNKNOWN_OPTION`
   */
  constructor(options?: WeightOnlyOptions) {
    const where = "WeightOnlyQConfig";
    const given = checkOptions(where, options, WEIGHT_ONLY_OPTIONS);
    this.options = Object.freeze({ ...given });
    const { bits, dtype, scheme, range, zeroPoint } = given;
    if (bits !== undefined) {
      checkInteger(where, "options.bits", bits, 8, 2, 8);
      if (dtype !== undefined || scheme === "affine" || zeroPoint !== undefined) {
        throw typeError(
          "ZP_CONFLICTING_OPTIONS",
          where,
          "options.bits stands for a symmetric dtype; it goes with neither options.dtype " +
            `nor scheme "affine" nor zeroPoint`,
        );
      }
      if (range === "mse" || range === "hqq") {
        throw typeError(
          "ZP_CONFLICTING_OPTIONS",
          where,
          `options.range "${range}" measures the error of a dtype; it needs options.dtype, not options.bits`,
        );
      }
    }
    Object.freeze(this);
  }

  /**
   * Its name and options.
   * @example String(new WeightOnlyQConfig({ bits: 3 })) // 'WeightOnlyQConfig({"bits":3})'
   */
  toString(): string {
    const given = Object.entries(this.options).filter(([, value]) => value !== undefined);
    // Not JSON.stringify: it throws for values that are refused only at conversion.
    const fields = given.map(([name, value]) => `"${name}":${show(value)}`);
    return `WeightOnlyQConfig({${fields.join(",")}})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

/** The configuration of a layer; null leaves it float32. */
export type LayerQConfig = QConfig | WeightOnlyQConfig | null;

/** A class of layers, or its name in PyTorch: `Linear` or `"Linear"`. */
export type LayerType = string | { readonly typeName: string };

/** Checks the configuration of a layer. @throws {TypeError} `ZP_INVALID_QCONFIG` */
function checkLayerQConfig(where: string, value: unknown): LayerQConfig {
  return value === null ? null : checkQConfig(where, value, "null");
}

/**
 * Checks a QConfig or WeightOnlyQConfig.
 * @param other  other accepted value, for messages
 * @throws {TypeError} `ZP_INVALID_QCONFIG`
 */
export function checkQConfig(
  where: string,
  value: unknown,
  other: string,
): QConfig | WeightOnlyQConfig {
  if (value instanceof QConfig || value instanceof WeightOnlyQConfig) return value;
  if (isPlainObject(value)) {
    throw typeError(
      "ZP_INVALID_QCONFIG",
      where,
      `qconfig must be a QConfig, a WeightOnlyQConfig or ${other}, got options; ` +
        "new WeightOnlyQConfig(options) quantizes weights by the options of quantize",
    );
  }
  throw wrongKind(
    "ZP_INVALID_QCONFIG",
    where,
    "qconfig",
    `a QConfig, a WeightOnlyQConfig or ${other}`,
    value,
  );
}

function checkName(where: string, name: unknown): void {
  if (typeof name === "string") return;
  throw wrongKind("ZP_INVALID_OPTION", where, "name", "a string", name);
}

/** The names of a layer and of its enclosing models, innermost first: "head.fc1", "head". */
export const namesAround = (name: string): string[] =>
  name.split(".").map((_, i, parts) => parts.slice(0, parts.length - i).join("."));

/**
 * Maps layers of a model to QConfigs. The most specific entry applies: the layer's name, the name of an
 * enclosing model, a pattern of names, the layer's type, the global QConfig. null leaves a layer float32.
 *
 * `prepare` refuses names that the model does not have; a pattern or a type may match no layer, since one
 * mapping serves many models. `report` shows the method of each layer.
 *
 * Source: torch.ao.quantization.QConfigMapping.
 *
 * @example
 * new QConfigMapping()
 *   .setGlobal(getDefaultQConfig("x86"))
 *   .setObjectType(Embedding, predefinedQConfigs.float_qparams_weight_only_qconfig)
 *   .setModuleNameRegex("head\\..*", predefinedQConfigs.per_channel_dynamic_qconfig)
 *   .setModuleName("head.last", null);
 */
export class QConfigMapping {
  #global: LayerQConfig = null;
  readonly #types = new Map<string, LayerQConfig>();
  readonly #patterns = new Map<string, readonly [test: RegExp, qconfig: LayerQConfig]>();
  readonly #names = new Map<string, LayerQConfig>();

  static {
    explainReceivers(QConfigMapping, "QConfigMapping", (object) => #global in object);
  }

  /** @throws {TypeError} `ZP_INVALID_QCONFIG` for any argument, which would be ignored */
  constructor(...given: never[]) {
    refuseClones(this);
    if (given.length === 0) return;
    const wanted = "given to setGlobal or its kin";
    throw wrongKind("ZP_INVALID_QCONFIG", "QConfigMapping", "QConfigs", wanted, given[0]);
  }

  /** Sets the QConfig of all layers without a more specific entry. @returns this */
  setGlobal(qconfig: LayerQConfig): this {
    this.#global = checkLayerQConfig("QConfigMapping.setGlobal", qconfig);
    return this;
  }

  /**
   * Sets the QConfig of all layers of a type.
   * @param type  a class of layers, or its name: `Linear` or `"Linear"`
   * @returns this
   * @throws {TypeError} `ZP_INVALID_MODEL` if it is neither, `ZP_INVALID_QCONFIG`
   */
  setObjectType(type: LayerType, qconfig: LayerQConfig): this {
    const where = "QConfigMapping.setObjectType";
    const name =
      typeof type === "string" ? type : (type as { typeName?: unknown } | null)?.typeName;
    if (typeof name !== "string") {
      throw wrongKind("ZP_INVALID_MODEL", where, "type", "a class of layers or its name", type);
    }
    this.#types.set(name, checkLayerQConfig(where, qconfig));
    return this;
  }

  /**
   * Sets the QConfig of layers with a name that a pattern matches from its beginning, as Python's re.match
   * does. Of several matching patterns, the one set first applies.
   * @param pattern  a RegExp, or its text
   * @returns this
   * @throws {TypeError} `ZP_INVALID_OPTION` if it is neither, or no pattern; `ZP_INVALID_QCONFIG`
   */
  setModuleNameRegex(pattern: RegExp | string, qconfig: LayerQConfig): this {
    const where = "QConfigMapping.setModuleNameRegex";
    const checked = checkLayerQConfig(where, qconfig);
    const { source, flags } =
      kindOf(pattern) === "RegExp" ? (pattern as RegExp) : { source: pattern, flags: "" };
    let test: RegExp;
    try {
      if (typeof source !== "string") throw new TypeError("not a string");
      // "g" and "y" would make the next match start at the end of the last one.
      test = new RegExp(`^(?:${source})`, flags.replaceAll(/[gy]/g, ""));
    } catch (cause) {
      throw typeError(
        "ZP_INVALID_OPTION",
        where,
        `pattern must be a RegExp or its text, got ${show(pattern)}: ${(cause as Error).message}`,
      );
    }
    this.#patterns.set(`${source}/${flags}`, [test, checked]);
    return this;
  }

  /**
   * Sets the QConfig of one layer, or of all layers of an inner model.
   * @param name  its name in the model, prefixed by the names of the enclosing models: `"head.fc1"`
   * @returns this
   * @throws {TypeError} `ZP_INVALID_OPTION`, `ZP_INVALID_QCONFIG`
   */
  setModuleName(name: string, qconfig: LayerQConfig): this {
    const where = "QConfigMapping.setModuleName";
    checkName(where, name);
    this.#names.set(name, checkLayerQConfig(where, qconfig));
    return this;
  }

  /** @internal The calls that build an equal mapping. */
  get calls(): readonly { readonly method: string; readonly args: readonly unknown[] }[] {
    const patterns = [...this.#patterns].map(([key, [, qconfig]]) => {
      const slash = key.lastIndexOf("/");
      return [new RegExp(key.slice(0, slash), key.slice(slash + 1)), qconfig];
    });
    return [
      { method: "setGlobal", args: [this.#global] },
      ...[...this.#types].map((args) => ({ method: "setObjectType", args })),
      ...patterns.map((args) => ({ method: "setModuleNameRegex", args })),
      ...[...this.#names].map((args) => ({ method: "setModuleName", args })),
    ];
  }

  /** The names with an entry, to find names that a model does not have. */
  get moduleNames(): readonly string[] {
    return [...this.#names.keys()];
  }

  /**
   * The QConfig of a layer.
   * @param name  its name in the model
   * @param type  the name of its type, for example `"Linear"`
   * @throws {TypeError} `ZP_INVALID_OPTION` if the name is no string
   */
  qconfigFor(name: string, type: string): LayerQConfig {
    checkName("QConfigMapping.qconfigFor", name);
    for (const around of namesAround(name)) {
      const named = this.#names.get(around);
      if (named !== undefined) return named;
    }
    for (const [test, qconfig] of this.#patterns.values()) {
      if (test.test(name)) return qconfig;
    }
    const typed = this.#types.get(type);
    return typed === undefined ? this.#global : typed;
  }

  /**
   * The entries, from the most general to the most specific.
   * @example
   * String(new QConfigMapping().setModuleName("fc1", null))
   * // "QConfigMapping(global: null, fc1: null)"
   */
  toString(): string {
    const said = [
      ["global", this.#global],
      ...this.#types,
      ...this.#patterns.values(),
      ...this.#names,
    ];
    return `QConfigMapping(${said.map(([what, qconfig]) => `${what}: ${qconfig}`).join(", ")})`;
  }

  /** @internal @throws {TypeError} `ZP_NOT_CLONEABLE` */
  toJSON(): never {
    return refuseJSON();
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}
