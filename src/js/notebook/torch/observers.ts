// torch's observers and QConfigs with Python's names, on the toolkit's.

import { define } from "../../base/fields.js";
import { INSPECT, show } from "../../base/format-value.js";
import { isPlainObject } from "../../base/options.js";
import { explainReceivers } from "../../base/receivers.js";
import * as histogram from "../../observers/histogram.js";
import * as minMax from "../../observers/min-max.js";
import * as toolkit from "../../observers/observer.js";
import * as passive from "../../observers/placeholders.js";
import { predefinedQConfigs } from "../../observers/predefined.js";
import * as qconfigs from "../../observers/qconfig.js";
import { RangeObserver } from "../../observers/range-observer.js";
import {
  type AnyObserverFactory,
  classText,
  isFactory,
  shortName,
} from "../../observers/with-args.js";
import type { Tensor as FloatTensor } from "../../tensor/tensor.js";
import type { IntegerTensor } from "../../torch/integer-tensor.js";
import { bindArguments, bindMethods, hasKeyword } from "../python/arguments.js";
import { refuseUnknownOf } from "../python/attributes.js";
import { type Tuple, tuple } from "../python/builtins.js";
import { pythonError } from "../python/errors.js";
import { plain } from "../tensor/cast.js";
import { DType, dtypes } from "../tensor/dtype.js";
import { checkTensor, type Tensor } from "../tensor/tensor.js";
import {
  QDType,
  QScheme,
  type QSchemeName,
  qdtypes,
  qschemes,
  runToolkit,
  tensorFrom,
  toInt64,
} from "./quantized.js";

/** Keyword arguments of observers; the accepted ones depend on the class. */
export interface ObserverKeywords {
  /** The quantized dtype that qparams are chosen for. */
  dtype?: QDType | DType;
  /** One for the tensor or for each channel, symmetric or affine. */
  qscheme?: QScheme;
  /** Whether to leave one bit unused. */
  reduce_range?: boolean;
  /** The smallest code; None for that of the dtype. */
  quant_min?: number | null;
  /** The largest code; None for that of the dtype. */
  quant_max?: number | null;
  /** The smallest scale. */
  eps?: number;
  /** Whether qparams are chosen anew for every input. */
  is_dynamic?: boolean;
  /** The weight of the newest batch in a moving average. */
  averaging_constant?: number;
  /** The axis of the channels. */
  ch_axis?: number;
  /** How many bins the histogram has. */
  bins?: number;
}

/** Makes observers with the same keyword arguments, as functools.partial does in PyTorch. */
export interface PartialObserver {
  /** Makes an observer; keyword arguments given here override those of the partial. */
  (keywords?: ObserverKeywords): Observer;
  /** The same with further keyword arguments, which override these. */
  with_args(keywords: ObserverKeywords): PartialObserver;
  /** As Python prints it. */
  toString(): string;
}

/** A class of observers. */
export interface ObserverClass {
  new (keywords?: ObserverKeywords): Observer;
  /** The name of the class. */
  readonly name: string;
  /** A factory of observers with these keyword arguments, for a `QConfig`. */
  with_args(keywords: ObserverKeywords): PartialObserver;
  /** As Python prints it. */
  toString(): string;
}

type ToolkitClass = toolkit.ObserverClass;

const ALL_DTYPES: Readonly<Record<string, QDType | DType>> = { ...dtypes, ...qdtypes };

/** Keyword arguments as the toolkit's options. @throws {TypeError} */
function toOptions(where: string, args: readonly unknown[]): Record<string, unknown> {
  const [keywords, ...more] = args;
  if (keywords === undefined && more.length === 0) return {};
  if (!isPlainObject(keywords) || more.length > 0) {
    const got = args.find((one) => !isPlainObject(one)) ?? more[0];
    throw pythonError(
      "TypeError",
      `${where}: takes keyword arguments, such as { dtype: torch.qint8 }, got ${show(got)}`,
    );
  }
  const options: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(keywords)) {
    // Names in the toolkit's own spelling are unknown keywords in Python.
    if (/[A-Z]/.test(keyword) || keyword === "compat") {
      throw pythonError("TypeError", `${where}: has no argument ${show(keyword)}`);
    }
    const name = keyword.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    options[name] = toOption(where, keyword, value ?? undefined);
  }
  return options;
}

function toOption(where: string, keyword: string, value: unknown): unknown {
  if (value instanceof QDType || value instanceof DType || value instanceof QScheme) {
    return value.name;
  }
  if (value !== undefined && (keyword === "dtype" || keyword === "qscheme")) {
    const example = keyword === "dtype" ? "torch.qint8" : "torch.per_tensor_affine";
    throw pythonError(
      "TypeError",
      `${where}: ${keyword} must be one such as ${example}, got ${show(value)}`,
    );
  }
  return plain(value);
}

/** NaN and infinities pass as in PyTorch, in observers that look at values. */
function withCompat(made: ToolkitClass, options: Record<string, unknown>): Record<string, unknown> {
  const prototype: unknown = made.prototype;
  return prototype instanceof RangeObserver ? { ...options, compat: "torch" } : options;
}

/**
 * Makes an observer of the toolkit.
 * @throws {TypeError} NotImplementedError for a qscheme of the other kind, a symmetric one with quint8
 *   and `reduce_range`, and `is_dynamic` where it is not taken
 * @throws {RangeError} AssertionError for a range of codes or a dtype that it does not take
 */
function construct<O extends object>(
  where: string,
  made: ToolkitClass,
  options: Record<string, unknown>,
  create: (options: object) => O,
): O {
  return runToolkit(where, () => create(withCompat(made, options)), {
    ZP_INVALID_QSCHEME: "NotImplementedError",
    ZP_INVALID_QUANT_RANGE: "AssertionError",
    ZP_INVALID_DTYPE: "AssertionError",
    ...(options.isDynamic === true && { ZP_INVALID_OPTION: "NotImplementedError" }),
  });
}

/** The toolkit's form of a tensor of floats, or of integers. */
function fromToolkit(values: FloatTensor | IntegerTensor): Tensor {
  const { data, shape } = values;
  if (data instanceof Float32Array) return tensorFrom(data, dtypes.float32, shape);
  const { dtype } = values as IntegerTensor;
  return dtype === "int64"
    ? tensorFrom(toInt64(data), dtypes.int64, shape)
    : tensorFrom(data.slice(), dtypes[dtype], shape);
}

/** Objects of its classes are functions that call their `forward`, as Python's modules are. */
class Module {
  constructor() {
    const call = (...args: never[]): unknown => (call as unknown as Forward).forward(...args);
    // Python's objects have neither of these.
    for (const name of ["name", "length"]) Reflect.deleteProperty(call, name);
    // biome-ignore lint/correctness/noConstructorReturn: a class alone makes no functions
    return Object.setPrototypeOf(call, new.target.prototype);
  }
}

interface Forward {
  forward(...args: never[]): unknown;
}

export interface Observer {
  /** The same as `forward(x)`. */
  // biome-ignore lint/style/useShorthandFunctionType: a class merges with interfaces alone
  (x: Tensor | { x: Tensor } | { x_orig: Tensor }): Tensor;
}

/** Collects statistics of tensors, and chooses a scale and zero point for them. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor of Module makes the function
export abstract class Observer extends Module {
  readonly #observer: toolkit.Observer;

  static {
    explainReceivers(Observer, "Observer", (object) => #observer in object);
  }

  /** @internal */
  constructor(observer: toolkit.Observer) {
    super();
    this.#observer = observer;
  }

  /** The class's name in PyTorch. */
  get #name(): string {
    return shortName(this.#observer.constructor as ToolkitClass);
  }

  /**
   * Looks at a tensor, converted to float32: `obs(x)` does the same.
   * @returns the tensor itself
   * @throws {RangeError} IndexError for a dimension of channels that it does not have; RuntimeError
   *   for another number of channels than before, and for integers or NaN in a HistogramObserver
   */
  forward(x: Tensor | { x: Tensor } | { x_orig: Tensor }): Tensor;
  forward(...args: unknown[]): Tensor {
    const where = `${this.#name}.forward`;
    const observer = this.#observer;
    const [x] = bindArguments(where, [hasKeyword(args, "x_orig") ? "x_orig" : "x"], args);
    const checked = checkTensor(where, "x", x);
    const isFloat = checked.is_floating_point();
    if (observer instanceof histogram.HistogramObserver && !isFloat && checked.numel() > 0) {
      throw pythonError(
        "RuntimeError",
        `${where}: x must hold floats, got ${checked.dtype}; convert with float() first`,
      );
    }
    const values = isFloat ? checked : checked.float();
    runToolkit(where, () => observer.observe(values as Tensor & { data: Float32Array }), {
      ZP_INVALID_AXIS: "IndexError",
      // Channels without a second dimension; otherwise another number of them.
      ...(checked.dim() < 2 && { ZP_SHAPE_MISMATCH: "IndexError" }),
    });
    return checked;
  }

  /**
   * Scale and zero point for all batches so far.
   * @returns tensors of shape [1], or of one value for each channel
   * @throws {RangeError} AssertionError if NaN was among it; Exception for observers that have none
   *   to give
   */
  calculate_qparams(): Tuple<[scale: Tensor, zero_point: Tensor]> {
    const where = `${this.#name}.calculate_qparams`;
    const { scale, zeroPoint } = runToolkit(where, () => this.#observer.calculateQParams(), {
      ZP_NON_FINITE: "AssertionError",
      ZP_NO_QPARAMS: "Exception",
    });
    return tuple(fromToolkit(scale), fromToolkit(zeroPoint));
  }

  /** Clears the state. */
  reset_min_max_vals(): void {
    this.#observer.reset();
  }

  /** The lower end of the range. @throws {TypeError} if the observer keeps no range */
  get min_val(): Tensor {
    return fromToolkit(this.#ranged("min_val").minVal);
  }

  /** The largest value, likewise. */
  get max_val(): Tensor {
    return fromToolkit(this.#ranged("max_val").maxVal);
  }

  #ranged(name: string): RangeObserver {
    if (this.#observer instanceof RangeObserver) return this.#observer;
    throw pythonError("TypeError", `${this.#name}.${name}: this observer keeps no range`);
  }

  /** The dtype that it chooses qparams for. */
  get dtype(): QDType | DType | undefined {
    return ALL_DTYPES[String((this.#observer as { dtype?: unknown }).dtype)];
  }

  /** The quantization scheme. */
  get qscheme(): QScheme | undefined {
    return qschemes[(this.#observer as { qscheme?: QSchemeName }).qscheme as QSchemeName];
  }

  /** As PyTorch prints it. */
  override toString(): string {
    return String(this.#observer);
  }

  [INSPECT](): string {
    return this.toString();
  }
}

bindMethods("Observer", Observer.prototype, { calculate_qparams: [], reset_min_max_vals: [] });

refuseUnknownOf(Module, (object) => object.constructor.name);

/** The toolkit's class or factory behind a class or a partial of this module. */
const sources = new WeakMap<object, qconfigs.ObserverSource>();

/** This module's class of a class of the toolkit. */
const classes = new Map<object, ObserverClass>();

function observerClass(made: ToolkitClass): ObserverClass {
  const name = shortName(made);
  const create = made as unknown as new (options: object) => toolkit.Observer;
  const result = class extends Observer {
    constructor(...args: readonly unknown[]) {
      // A partial passes the toolkit's observer, which it has made already.
      super(
        args[0] instanceof toolkit.Observer
          ? args[0]
          : construct(name, made, toOptions(name, args), (options) => new create(options)),
      );
    }

    static with_args(...args: readonly unknown[]): PartialObserver {
      const where = `${name}.with_args`;
      const options = toOptions(where, args);
      const withArgs = toolkit.Observer.withArgs as unknown as (
        this: ToolkitClass,
        options: object,
      ) => AnyObserverFactory;
      return partialObserver(withArgs.call(made, options));
    }
  };
  const text = (): string => classText(made);
  // Bundlers may shorten the class's name in the code; this is the name in print.
  define(result, "name", { value: name });
  define(result, "toString", { value: text });
  sources.set(result, made as qconfigs.ObserverSource);
  classes.set(made, result);
  return result;
}

function partialObserver(factory: AnyObserverFactory): PartialObserver {
  const made = factory.observerClass as ToolkitClass;
  const wrapped = classes.get(made) as unknown as new (observer: object) => Observer;
  const { withArgs } = factory as unknown as { withArgs(options: object): AnyObserverFactory };
  const name = shortName(made);
  const create = factory as unknown as (options: object) => object;
  const partial = (...args: readonly unknown[]): Observer =>
    new wrapped(construct(name, made, { ...factory.args, ...toOptions(name, args) }, create));
  sources.set(partial, factory);
  const text = (): string => String(factory);
  const value = (...args: readonly unknown[]) =>
    partialObserver(withArgs(toOptions(`${name}.with_args`, args)));
  define(define(partial, "with_args", { value }), "toString", { value: text });
  return define(partial, INSPECT, { value: text }) as unknown as PartialObserver;
}

/** The smallest and the largest value of all. Source: `torch.ao.quantization.MinMaxObserver`. */
export const MinMaxObserver = observerClass(minMax.MinMaxObserver);

/** A moving average of the range. Source: `torch.ao.quantization.MovingAverageMinMaxObserver`. */
export const MovingAverageMinMaxObserver = observerClass(minMax.MovingAverageMinMaxObserver);

/** A range for each channel. Source: `torch.ao.quantization.PerChannelMinMaxObserver`. */
export const PerChannelMinMaxObserver = observerClass(minMax.PerChannelMinMaxObserver);

/**
 * A moving average of the range of each channel. Source:
 * `torch.ao.quantization.MovingAveragePerChannelMinMaxObserver`.
 */
export const MovingAveragePerChannelMinMaxObserver = observerClass(
  minMax.MovingAveragePerChannelMinMaxObserver,
);

/** Counts values in a histogram, and searches for the best range. Source: `torch.ao.quantization.HistogramObserver`. */
export const HistogramObserver = observerClass(histogram.HistogramObserver);

/** Stores a dtype and nothing else. Source: `torch.ao.quantization.PlaceholderObserver`. */
export const PlaceholderObserver = observerClass(passive.PlaceholderObserver);

/** Observes nothing. Source: `torch.ao.quantization.NoopObserver`. */
export const NoopObserver = observerClass(passive.NoopObserver);

/** Keeps all tensors. Source: `torch.ao.quantization.RecordingObserver`. */
export const RecordingObserver = observerClass(passive.RecordingObserver);

/** A source of observers: a class, or a result of `with_args`. */
export type ObserverSource = ObserverClass | PartialObserver;

/**
 * The observers of a layer's activations and of its weights: classes, or results of `with_args`, since
 * every layer makes its own observers.
 *
 * Source: `torch.ao.quantization.QConfig`.
 *
 * @example new QConfig({ activation: HistogramObserver, weight: MinMaxObserver.with_args({ dtype: torch.qint8 }) })
 */
export class QConfig {
  /** Makes the observer of activations; null for none. */
  declare readonly activation: ObserverSource | null;
  /** Makes the observer of weights; null for none. */
  declare readonly weight: ObserverSource | null;
  readonly #qconfig: qconfigs.QConfig;

  static {
    explainReceivers(QConfig, "QConfig", (object) => #qconfig in object);
  }

  /**
   * @throws {RangeError} ValueError for an observer in the place of a class or factory
   * @throws {TypeError} TypeError for anything else
   */
  constructor(activation: ObserverSource | null, weight: ObserverSource | null);
  constructor(keywords: { activation: ObserverSource | null; weight: ObserverSource | null });
  constructor(...args: unknown[]) {
    const [activation, weight] = bindArguments("QConfig", ["activation", "weight"], args);
    this.activation = activation as ObserverSource | null;
    this.weight = weight as ObserverSource | null;
    this.#qconfig = new qconfigs.QConfig({
      activation: sourceOf("activation", activation),
      weight: sourceOf("weight", weight),
    });
    Object.freeze(this);
  }

  /** As Python prints it. */
  toString(): string {
    return String(this.#qconfig);
  }

  [INSPECT](): string {
    return this.toString();
  }
}

refuseUnknownOf(QConfig, () => "QConfig");

function sourceOf(argument: string, value: unknown): qconfigs.ObserverSource | null {
  if (value === null) return null;
  const source = typeof value === "function" ? sources.get(value) : undefined;
  if (source !== undefined) return source;
  if (value instanceof Observer) {
    throw pythonError(
      "ValueError",
      `QConfig: ${argument} must be a class of observers or what with_args gives, ` +
        `got an observer: ${value}`,
    );
  }
  throw pythonError(
    "TypeError",
    `QConfig: ${argument} must be a class of observers or what with_args gives, got ${show(value)}`,
  );
}

function fromQConfig({ activation, weight }: qconfigs.QConfig): QConfig {
  return new QConfig(fromSource(activation), fromSource(weight));
}

function fromSource(source: qconfigs.ObserverSource | null): ObserverSource | null {
  if (source === null) return null;
  return isFactory(source) ? partialObserver(source) : (classes.get(source) as ObserverClass);
}

/** `torch.ao.quantization`, which is `torch.quantization` too. */
export const quantization = {
  observer: {
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    PerChannelMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    HistogramObserver,
    PlaceholderObserver,
    NoopObserver,
    RecordingObserver,
  },
  qconfig: {
    QConfig,
    default_qconfig: fromQConfig(predefinedQConfigs.default_qconfig),
    default_debug_qconfig: fromQConfig(predefinedQConfigs.default_debug_qconfig),
    default_per_channel_qconfig: fromQConfig(predefinedQConfigs.default_per_channel_qconfig),
    default_dynamic_qconfig: fromQConfig(predefinedQConfigs.default_dynamic_qconfig),
    per_channel_dynamic_qconfig: fromQConfig(predefinedQConfigs.per_channel_dynamic_qconfig),
    default_quint8_weight_qconfig: fromQConfig(predefinedQConfigs.default_quint8_weight_qconfig),
  },
} as const;
