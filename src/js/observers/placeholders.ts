// Observers that collect no statistics: placeholders, fixed qparams, recording.

import { checkBoolean, wrongKind, wrongNumber } from "../base/check.js";
import { DTYPES } from "../base/dtype.js";
import { typeError } from "../base/errors.js";
import { fixFields, type Options, ownFields } from "../base/fields.js";
import { explainReceivers } from "../base/receivers.js";
import { copyLike } from "../base/typed-arrays.js";
import { checkTensor, type TensorInput } from "../tensor/check.js";
import { checkZeroPoint } from "../tensor/codes.js";
import { copyTensor, Tensor } from "../tensor/tensor.js";
import { IntegerTensor } from "../torch/integer-tensor.js";
import {
  fromJSONNumbers,
  isObserver,
  type ObservedQParams,
  Observer,
  toJSONNumbers,
} from "./observer.js";
import {
  checkEps,
  checkLimit,
  checkObserverDType,
  checkQScheme,
  OBSERVER_DTYPES,
  type ObserverDType,
  type QScheme,
} from "./options.js";

/** The dtypes of placeholders. */
export type PlaceholderDType = ObserverDType | "float32" | "float16" | "bfloat16";

const PLACEHOLDER_DTYPES: readonly PlaceholderDType[] = [
  "float32",
  "float16",
  "bfloat16",
  ...OBSERVER_DTYPES,
];

/** Base of observers that choose no qparams. Its methods do nothing, or throw. */
abstract class PassiveObserver extends Observer {
  static {
    explainReceivers(PassiveObserver, "Observer", isObserver);
  }

  observe<X extends TensorInput>(x: X): X {
    return x;
  }

  calculateQParams(): ObservedQParams {
    throw typeError(
      "ZP_NO_QPARAMS",
      `${this.where}.calculateQParams`,
      "this observer chooses no scale and zero point",
    );
  }

  reset(): void {}
}

/** Options of `PlaceholderObserver`. */
export interface PlaceholderObserverOptions {
  /** Default: `"float32"`. */
  dtype?: PlaceholderDType | undefined;
  /** Default: `"per_tensor_affine"`. */
  qscheme?: QScheme | undefined;
  /** The smallest code. Default: none. */
  quantMin?: number | undefined;
  /** The largest code. Default: none. */
  quantMax?: number | undefined;
  /** Default: 2⁻²³. */
  eps?: number | undefined;
  /** true: the layer chooses qparams for every input. Default: false. */
  isDynamic?: boolean | undefined;
}

/**
 * Observes nothing. States the dtype of activations, and whether their qparams are chosen on the fly.
 *
 * Source: torch.ao.quantization.PlaceholderObserver.
 *
 * @example new PlaceholderObserver({ dtype: "quint8", isDynamic: true })
 */
export class PlaceholderObserver extends PassiveObserver {
  static override readonly pythonName = "torch.ao.quantization.observer.PlaceholderObserver";
  /** The dtype option. */
  declare readonly dtype: PlaceholderDType;
  /** The qscheme option. */
  declare readonly qscheme: QScheme;
  /** The smallest code, or undefined. */
  declare readonly quantMin: number | undefined;
  /** The largest code, or undefined. */
  declare readonly quantMax: number | undefined;
  /** The smallest scale, for layers that choose a scale. */
  declare readonly eps: number;
  /** Whether qparams are chosen for every input. */
  declare readonly isDynamic: boolean;

  /** @throws {TypeError|RangeError} `ZP_INVALID_OPTION`, `ZP_INVALID_DTYPE`, `ZP_UNKNOWN_OPTION` */
  constructor(options?: PlaceholderObserverOptions) {
    super(options, ["dtype", "qscheme", "quantMin", "quantMax", "eps", "isDynamic"]);
    const { where } = this;
    const given = ownFields(this.options);
    fixFields<PlaceholderObserver>(this, {
      dtype: checkObserverDType(where, given.dtype, PLACEHOLDER_DTYPES, "float32"),
      qscheme: checkQScheme(where, given.qscheme),
      quantMin: checkLimit(where, "quantMin", given),
      quantMax: checkLimit(where, "quantMax", given),
      eps: checkEps(where, given.eps),
      isDynamic: checkBoolean(where, "options.isDynamic", given.isDynamic, false),
    });
  }
}

/** Options of `NoopObserver`. */
export interface NoopObserverOptions {
  /** Default: `"float16"`. */
  dtype?: PlaceholderDType | undefined;
}

/**
 * Observes nothing, for layers that only change their dtype.
 *
 * Source: torch.ao.quantization.NoopObserver.
 *
 * @example new NoopObserver({ dtype: "float16" })
 */
export class NoopObserver extends PassiveObserver {
  static override readonly pythonName = "torch.ao.quantization.observer.NoopObserver";
  /** The dtype option. */
  declare readonly dtype: PlaceholderDType;

  /** @throws {TypeError|RangeError} `ZP_INVALID_DTYPE`, `ZP_UNKNOWN_OPTION` */
  constructor(options?: NoopObserverOptions) {
    super(options, ["dtype"]);
    const { dtype: given } = ownFields(this.options);
    const dtype = checkObserverDType(this.where, given, PLACEHOLDER_DTYPES, "float16");
    fixFields<NoopObserver>(this, { dtype });
  }
}

/**
 * Observes nothing, for layers whose output has the qparams of their input.
 *
 * Source: torch.ao.quantization.ReuseInputObserver.
 *
 * @example new ReuseInputObserver()
 */
export class ReuseInputObserver extends PassiveObserver {
  static override readonly pythonName = "torch.ao.quantization.observer.ReuseInputObserver";

  /** @throws {TypeError} `ZP_UNKNOWN_OPTION` for any option */
  constructor(options?: Readonly<Record<string, never>>) {
    super(options, []);
  }
}

/** Options of `RecordingObserver`. */
export interface RecordingObserverOptions {
  /** Default: `"quint8"`. */
  dtype?: PlaceholderDType | undefined;
}

/**
 * Keeps a copy of every batch for later inspection. Its memory grows with every batch.
 *
 * Source: torch.ao.quantization.RecordingObserver.
 *
 * @example
 * const observer = new RecordingObserver();
 * observer.observe(tensor([1, 2]));
 * observer.tensors.length; // 1
 */
export class RecordingObserver extends PassiveObserver {
  static override readonly pythonName = "torch.ao.quantization.observer.RecordingObserver";
  /** The dtype option. */
  declare readonly dtype: PlaceholderDType;
  #tensors: Tensor[] = [];

  static {
    explainReceivers(RecordingObserver, "RecordingObserver", isObserver);
  }

  /** @throws {TypeError|RangeError} `ZP_INVALID_DTYPE`, `ZP_UNKNOWN_OPTION` */
  constructor(options?: RecordingObserverOptions) {
    super(options, ["dtype"]);
    const { dtype: given } = ownFields(this.options);
    const dtype = checkObserverDType(this.where, given, PLACEHOLDER_DTYPES, "quint8");
    fixFields<RecordingObserver>(this, { dtype });
  }

  /** The batches so far, as float32 tensors; `get_tensor_value()` in PyTorch. Copies on each access. */
  get tensors(): readonly Tensor[] {
    const where = `${this.where}.tensors`;
    return this.#tensors.map(({ data, shape }) => new Tensor(copyLike(where, data), [...shape]));
  }

  override observe<X extends TensorInput>(x: X): X {
    const where = `${this.where}.observe`;
    this.#tensors.push(copyTensor(where, checkTensor(where, "x", x)));
    return x;
  }

  override reset(): void {
    this.#tensors = [];
  }

  protected override saveState(): Record<string, unknown> {
    const tensors = this.#tensors.map((each, i) => {
      const { data, shape } = checkTensor(`${this.where}.toJSON`, `tensors[${i}]`, each);
      return { data: toJSONNumbers(data as Float32Array), shape };
    });
    return { tensors };
  }

  protected override restoreState(where: string, state: Options): void {
    const { tensors } = state;
    if (!Array.isArray(tensors)) {
      throw wrongKind(
        "ZP_INVALID_STATE",
        where,
        "json.state.tensors",
        "a list of tensors",
        tensors,
      );
    }
    this.#tensors = Array.from(tensors as unknown[], (item, i) => {
      const argument = `json.state.tensors[${i}]`;
      const { data, shape } = ownFields(Object(item));
      const values = fromJSONNumbers(where, `${argument}.data`, data);
      const checked = checkTensor(where, argument, { data: values, shape });
      return new Tensor(values, checked.shape);
    });
  }
}

/** Options of `FixedQParamsObserver`. */
export interface FixedQParamsObserverOptions {
  /** Units per step, rounded to float32; finite. */
  scale: number;
  /** The code of 0; an integer within int32. */
  zeroPoint: number;
  /** Default: `"quint8"`. */
  dtype?: ObserverDType | undefined;
  /** Default: `"per_tensor_affine"`. */
  qscheme?: QScheme | undefined;
  /** Default: 0. */
  quantMin?: number | undefined;
  /** Default: 255. */
  quantMax?: number | undefined;
}

/**
 * Observes nothing and returns fixed qparams, for functions with a known range, such as sigmoid.
 *
 * Source: torch.ao.quantization.FixedQParamsObserver.
 *
 * @example new FixedQParamsObserver({ scale: 1 / 256, zeroPoint: 0 })
 */
export class FixedQParamsObserver extends PassiveObserver {
  static override readonly pythonName = "torch.ao.quantization.observer.FixedQParamsObserver";
  /** Units per step. */
  declare readonly scale: number;
  /** The code of 0. */
  declare readonly zeroPoint: number;
  /** The dtype option. */
  declare readonly dtype: ObserverDType;
  /** The qscheme option. */
  declare readonly qscheme: QScheme;
  /** The smallest code. */
  declare readonly quantMin: number;
  /** The largest code. */
  declare readonly quantMax: number;

  static {
    explainReceivers(FixedQParamsObserver, "FixedQParamsObserver", isObserver);
  }

  /**
   * @throws {TypeError|RangeError} `ZP_INVALID_SCALE` if it is not finite (a scale <= 0 is accepted here,
   *   as in PyTorch, but refused by `convert`); `ZP_INVALID_ZERO_POINT`, `ZP_INVALID_DTYPE`, …
   */
  constructor(options: FixedQParamsObserverOptions) {
    super(options, ["scale", "zeroPoint", "dtype", "qscheme", "quantMin", "quantMax"]);
    const { where } = this;
    const given = ownFields(this.options);
    const { scale } = given;
    if (typeof scale !== "number" || !Number.isFinite(Math.fround(scale))) {
      const wanted = "a number, finite as float32 too";
      throw wrongNumber("ZP_INVALID_SCALE", where, "options.scale", wanted, scale);
    }
    const { zeroPoint } = given;
    fixFields<FixedQParamsObserver>(this, {
      scale: Math.fround(scale),
      zeroPoint: checkZeroPoint(where, "options.zeroPoint", zeroPoint, DTYPES.int32, "dtype int32"),
      dtype: checkObserverDType(where, given.dtype, OBSERVER_DTYPES, "quint8"),
      qscheme: checkQScheme(where, given.qscheme),
      quantMin: checkLimit(where, "quantMin", given) ?? 0,
      quantMax: checkLimit(where, "quantMax", given) ?? 255,
    });
  }

  /** @returns the scale and zero point of the options, of shape [1] */
  override calculateQParams(): ObservedQParams {
    return {
      scale: new Tensor(Float32Array.of(this.scale), [1]),
      zeroPoint: new IntegerTensor(Int32Array.of(this.zeroPoint), [1], "int32"),
    };
  }
}
