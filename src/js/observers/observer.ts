// batches -> qparams: the base of all of PyTorch's observers.

import { wrongKind } from "../base/check.js";
import { notItself, rangeError, type ZeropointError } from "../base/errors.js";
import { fixFields, type Options, ownFields } from "../base/fields.js";
import { INSPECT } from "../base/format-value.js";
import { checkOptions } from "../base/options.js";
import { explainReceivers } from "../base/receivers.js";
import { newArray } from "../base/typed-arrays.js";
import type { TensorInput } from "../tensor/check.js";
import type { Tensor } from "../tensor/tensor.js";
import type { IntegerTensor } from "../torch/integer-tensor.js";
import {
  type ObserverConstructor,
  type ObserverFactory,
  partial,
  partialCallable,
  shortName,
} from "./with-args.js";

/** Scale and zero point chosen by an observer. */
export interface ObservedQParams {
  /** float32 of shape [1], or [n] per channel. */
  readonly scale: Tensor;
  /** Integers of the same shape; floats in per_channel_affine_float_qparams. */
  readonly zeroPoint: IntegerTensor<Int32Array> | Tensor;
}

/** A number in JSON: infinities, NaN and -0 are strings. */
export type JSONNumber = number | "Infinity" | "-Infinity" | "NaN" | "-0";

/** The result of `toJSON`: class, options and state of an observer. */
export interface ObserverJSON {
  /** The name of its class. */
  readonly observer: string;
  /** Its options. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Its state. */
  readonly state: Readonly<Record<string, unknown>>;
}

/** Whether an object was made as an observer. */
export let isObserver: (object: object) => boolean;

/**
 * Base class of observers, which collect statistics of tensors. Most of them choose qparams from the
 * statistics.
 */
export abstract class Observer {
  /** The qualified name of this class in PyTorch. */
  static readonly pythonName: string = "torch.ao.quantization.observer.ObserverBase";
  /** The options of the constructor, without defaults. */
  declare readonly options: Readonly<Record<string, unknown>>;

  readonly #observer = true;

  static {
    isObserver = (object) => #observer in object;
    explainReceivers(Observer, "Observer", isObserver);
  }

  /** @internal */
  constructor(options: unknown, known: readonly string[]) {
    const given = checkOptions(this.where, options, known);
    const entries = known.map((name) => [name, given[name]] as const);
    const said = entries.filter(([, value]) => value !== undefined);
    fixFields<Observer>(this, { options: Object.freeze(Object.fromEntries(said)) });
  }

  /** @internal The name of the class in messages, in JSON and in print. */
  protected get where(): string {
    return shortName(this.constructor as typeof Observer);
  }

  /** Observes a batch. @returns the batch itself, so that a call can be part of an expression */
  abstract observe<X extends TensorInput>(x: X): X;

  /**
   * The scale and zero point for all batches so far.
   * @throws {TypeError} `ZP_NO_QPARAMS` for observers without qparams
   */
  abstract calculateQParams(): ObservedQParams;

  /** Clears the state. */
  abstract reset(): void;

  /** Class, options and state, for `JSON.stringify`; the class's `fromJSON` restores them. */
  toJSON(): ObserverJSON {
    return { observer: this.where, options: { ...this.options }, state: this.saveState() };
  }

  /** @internal The state in a form for JSON. */
  protected saveState(): Record<string, unknown> {
    return {};
  }

  /** @internal */
  protected restoreState(_where: string, _state: Options): void {}

  /** The observer as PyTorch prints it; text of several lines is indented below the name. */
  toString(): string {
    const text = this.extraText();
    const inside = text.includes("\n") ? `\n  ${text.replaceAll("\n", "\n  ")}\n` : text;
    return `${this.where}(${inside})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  /** @internal */
  protected extraText(): string {
    return "";
  }

  /**
   * A factory of observers with these options, as a `QConfig` takes it. Options can be added; later ones
   * override earlier ones.
   *
   * Source: ObserverBase.with_args.
   *
   * @throws {TypeError} `ZP_INVALID_OPTIONS`; single options are checked when the factory is called
   * @example const factory = MinMaxObserver.withArgs({ dtype: "qint8" });
   * factory(); // MinMaxObserver(min_val=inf, max_val=-inf)
   */
  static withArgs<C extends ObserverClass>(
    this: C,
    options: Partial<OptionsOf<C>>,
  ): ObserverFactory<InstanceType<C>, OptionsOf<C>> {
    // biome-ignore lint/complexity/noThisInStatic: the class that it is called on
    return partial(constructorOf("Observer.withArgs", this), options);
  }

  /**
   * A factory that calls the given functions for its options each time it makes an observer.
   *
   * Source: ObserverBase.with_callable_args.
   *
   * @throws {TypeError} `ZP_INVALID_FUNCTION`
   */
  static withCallableArgs<C extends ObserverClass>(
    this: C,
    options: { readonly [K in keyof OptionsOf<C>]?: () => OptionsOf<C>[K] },
  ): ObserverFactory<InstanceType<C>, OptionsOf<C>> {
    // biome-ignore lint/complexity/noThisInStatic: the class that it is called on
    return partialCallable(constructorOf("Observer.withCallableArgs", this), options);
  }

  /**
   * Restores an observer from a result of `toJSON`, with the same options and state.
   * @param json  the object, after `JSON.parse` if it was text; `json.observer` names the class
   * @throws {TypeError|RangeError} `ZP_INVALID_STATE` if `json` is not valid or of another class; and as
   *   the constructor
   * @example
   * const text = JSON.stringify(observer); // a HistogramObserver, say
   * HistogramObserver.fromJSON(JSON.parse(text)).observe(nextBatch);
   */
  static fromJSON<C extends ObserverClass>(this: C, json: ObserverJSON): InstanceType<C> {
    // biome-ignore lint/complexity/noThisInStatic: the class that it is called on
    const make = constructorOf("Observer.fromJSON", this);
    const name = shortName(make);
    const where = `${name}.fromJSON`;
    const { observer, options, state } = checkRecord(where, "json", json);
    if (observer !== name) {
      throw wrongKind(
        "ZP_INVALID_STATE",
        where,
        "json.observer",
        `"${name}"`,
        observer,
        rangeError,
      );
    }
    const made = new make(checkRecord(where, "json.options", options) as OptionsOf<C>);
    made.restoreState(where, checkRecord(where, "json.state", state));
    return made;
  }
}

/** A class of observers. */
export type ObserverClass = (new (options: never) => Observer) & { readonly pythonName: string };

/** The options that a class of observers takes. */
export type OptionsOf<C extends ObserverClass> = C extends new (
  options: infer Options,
) => unknown
  ? NonNullable<Options>
  : never;

/** A class with the types of its options and instances, which TypeScript does not infer from `C`. */
function constructorOf<C extends ObserverClass>(
  where: string,
  observerClass: C,
): ObserverConstructor<InstanceType<C>, OptionsOf<C>> {
  if (!((observerClass as { prototype?: unknown } | undefined)?.prototype instanceof Observer)) {
    throw notItself(where);
  }
  return observerClass as unknown as ObserverConstructor<InstanceType<C>, OptionsOf<C>>;
}

function checkRecord(where: string, argument: string, value: unknown): Options {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return ownFields(value);
  }
  throw wrongKind(
    "ZP_INVALID_STATE",
    where,
    argument,
    "an object as toJSON or JSON.parse makes it",
    value,
  );
}

/** Numbers in a form for JSON. */
export function toJSONNumbers(values: Float32Array): JSONNumber[] {
  return Array.from(values, (value) => {
    if (Object.is(value, -0)) return "-0";
    return Number.isFinite(value) ? value : (String(value) as JSONNumber);
  });
}

const NUMBERS_IN_WORDS: readonly unknown[] = ["Infinity", "-Infinity", "NaN", "-0"];

/** Checks and converts a list of numbers from JSON. */
export function fromJSONNumbers(
  where: string,
  argument: string,
  value: unknown,
  wanted?: number,
): Float32Array {
  const kind = `a list of ${wanted === undefined ? "" : `${wanted} `}numbers`;
  const bad = (got: unknown): ZeropointError =>
    wrongKind("ZP_INVALID_STATE", where, argument, kind, got);
  if (!Array.isArray(value)) throw bad(value);
  const { length } = value;
  if (wanted !== undefined && length !== wanted) throw bad(value);
  const numbers = newArray(where, Float32Array, length);
  for (let i = 0; i < length; i++) {
    const item: unknown = value[i];
    const number = NUMBERS_IN_WORDS.includes(item) ? Number(item) : item;
    if (typeof number !== "number") throw bad(value);
    numbers[i] = number;
  }
  return numbers;
}
