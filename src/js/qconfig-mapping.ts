// Which layer of a model is quantized how.

import { checkInteger, checkOptions, wrongKind } from "./check.js";
import { typeError } from "./errors.js";
import { QConfig } from "./qconfig.js";
import type { QuantizeOptions } from "./qparams.js";
import { INSPECT, kindOf, show } from "./show.js";

// ---------------------------------------------------------------------------------------------
// Weights alone.

/** How the weights of a layer are quantized where its activations stay float32. */
export interface WeightOnlyOptions extends Omit<QuantizeOptions, "scale" | "zeroPoint"> {
  /**
   * Bits of a code, 2 to 8, instead of a dtype: symmetric codes of any width, at most 2^(bits − 1) − 1
   * either way, kept in the smallest dtype that holds them.
   */
  bits?: number | undefined;
}

const WEIGHT_ONLY_OPTIONS = [
  "dtype",
  "bits",
  "scheme",
  "axis",
  "groupSize",
  "includeZero",
  "nonFinite",
] as const;

/**
 * How a layer is quantized whose activations stay float32: its weights by `quantize`, in any dtype (that
 * of a Linear of 2 to 8 bits), per tensor, per channel or per group. It may stand wherever a `QConfig`
 * may.
 *
 * @example mapping.setModuleName("fc1", new WeightOnlyQConfig({ dtype: "int4", groupSize: 16 }))
 */
export class WeightOnlyQConfig {
  /** What was given. */
  declare readonly options: Readonly<WeightOnlyOptions>;

  /**
   * @param options  those of `quantize` that choose qparams, or `bits`; checked when a model is
   *   converted
   * @throws {TypeError|RangeError} `ZP_INVALID_OPTION` for bits that are not an integer from 2 to 8;
   *   `ZP_CONFLICTING_OPTIONS` for bits beside a dtype or the affine scheme; `ZP_UNKNOWN_OPTION`
   */
  constructor(options?: WeightOnlyOptions) {
    const where = "WeightOnlyQConfig";
    this.options = Object.freeze({ ...checkOptions(where, options, WEIGHT_ONLY_OPTIONS) });
    const { bits, dtype, scheme } = this.options;
    if (bits !== undefined) {
      checkInteger(where, "options.bits", bits, 8, 2, 8);
      if (dtype !== undefined || scheme === "affine") {
        throw typeError(
          "ZP_CONFLICTING_OPTIONS",
          where,
          "options.bits stands for a symmetric dtype; it goes with neither options.dtype " +
            `nor scheme "affine"`,
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
    // Not by JSON.stringify, which throws for what only a conversion refuses.
    const fields = given.map(([name, value]) => `"${name}":${show(value)}`);
    return `WeightOnlyQConfig({${fields.join(",")}})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

// ---------------------------------------------------------------------------------------------
// Which layer has which.

/** What a layer may be given: null leaves it as it is. */
export type LayerQConfig = QConfig | WeightOnlyQConfig | null;

/** A class of layers, or its name in PyTorch: `Linear` or `"Linear"`. */
export type LayerType = string | { readonly typeName: string };

/** What a layer may be given. @throws {TypeError} `ZP_INVALID_QCONFIG` */
function checkLayerQConfig(where: string, value: unknown): LayerQConfig {
  return value === null ? null : checkQConfig(where, value, "null");
}

/**
 * What says how a layer is quantized.
 * @param other  what else is taken
 * @throws {TypeError} `ZP_INVALID_QCONFIG`
 */
export function checkQConfig(
  where: string,
  value: unknown,
  other: string,
): QConfig | WeightOnlyQConfig {
  if (value instanceof QConfig || value instanceof WeightOnlyQConfig) return value;
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

/** A layer's name and those of the models that it is in, from the inside out: "head.fc1", "head". */
export const namesAround = (name: string): string[] =>
  name.split(".").map((_, i, parts) => parts.slice(0, parts.length - i).join("."));

/**
 * Says which layer of a model is quantized how. The most special word counts: a layer's name, then that
 * of a model around it, then a pattern of names, then its type, then what holds for all. null leaves a
 * layer as it is.
 *
 * A name that a model does not have is refused when the model is prepared; a pattern or a type may match
 * none of its layers, since one mapping serves many models. `report` says what became of each layer.
 *
 * Source: torch.ao.quantization.QConfigMapping.
 *
 * @example
 * new QConfigMapping()
 *   .setGlobal(getDefaultQConfig("x86"))
 *   .setObjectType(Embedding, floatQParamsWeightOnlyQConfig)
 *   .setModuleNameRegex("head\\..*", perChannelDynamicQConfig)
 *   .setModuleName("head.last", null);
 */
export class QConfigMapping {
  #global: LayerQConfig = null;
  readonly #types = new Map<string, LayerQConfig>();
  readonly #patterns = new Map<string, readonly [test: RegExp, qconfig: LayerQConfig]>();
  readonly #names = new Map<string, LayerQConfig>();

  /** @throws {TypeError} `ZP_INVALID_QCONFIG` for whatever is given to it, which would be lost */
  constructor(...given: never[]) {
    if (given.length === 0) return;
    const wanted = "given to setGlobal or its kin";
    throw wrongKind("ZP_INVALID_QCONFIG", "QConfigMapping", "QConfigs", wanted, given[0]);
  }

  /** What holds for every layer that nothing else is said about. @returns this */
  setGlobal(qconfig: LayerQConfig): this {
    this.#global = checkLayerQConfig("QConfigMapping.setGlobal", qconfig);
    return this;
  }

  /**
   * What holds for all layers of a type.
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
   * What holds for layers whose name a pattern matches from its beginning, as Python's re.match does;
   * of several patterns the first one said.
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
      // "g" and "y" would remember where the last match ended.
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
   * What holds for one layer, or for all of a model in the model.
   * @param name  its name in the model, with those of the models around it: `"head.fc1"`
   * @returns this
   * @throws {TypeError} `ZP_INVALID_OPTION`, `ZP_INVALID_QCONFIG`
   */
  setModuleName(name: string, qconfig: LayerQConfig): this {
    const where = "QConfigMapping.setModuleName";
    checkName(where, name);
    this.#names.set(name, checkLayerQConfig(where, qconfig));
    return this;
  }

  /** The names that something is said about, for finding those that a model does not have. */
  get moduleNames(): readonly string[] {
    return [...this.#names.keys()];
  }

  /**
   * How a layer is quantized.
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
   * What is said, from the most general word to the most special.
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

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}
