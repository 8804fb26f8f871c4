// tensors over time -> qparams: what all of PyTorch's observers have in common.

import { type AsyncOptions, checkAsyncOptions, runHere } from "./async/background.js";
import { checkOptions, type TensorInput, wrongKind } from "./check.js";
import { rangeError, type ZeropointError } from "./errors.js";
import {
  type ObserverConstructor,
  type ObserverFactory,
  partial,
  partialCallable,
  shortName,
} from "./factory.js";
import type { IntegerTensor } from "./qtensor.js";
import { INSPECT } from "./show.js";
import type { Tensor } from "./tensor.js";

/** Scale and zero point that fit what an observer has seen. */
export interface ObservedQParams {
  /** float32 of shape [1], or [n] per channel. */
  readonly scale: Tensor;
  /** Integers of the same shape; floats in per_channel_affine_float_qparams. */
  readonly zeroPoint: IntegerTensor<Int32Array> | Tensor;
}

/** A number as JSON can hold it: it has no infinities, no NaN and no -0. */
export type JSONNumber = number | "Infinity" | "-Infinity" | "NaN" | "-0";

/** What `toJSON` gives: class, options and state of an observer. */
export interface ObserverJSON {
  /** The name of its class. */
  readonly observer: string;
  /** What it was made with. */
  readonly options: Readonly<Record<string, unknown>>;
  /** What it has seen. */
  readonly state: Readonly<Record<string, unknown>>;
}

/**
 * Watches tensors pass. This is what all observers have in common; those that choose qparams say which
 * fit all they have seen.
 */
export abstract class Observer {
  /** Where PyTorch has this class. */
  static readonly pythonName: string = "torch.ao.quantization.observer.ObserverBase";
  /** The options that make another one like it, defaults left out. */
  declare readonly options: Readonly<Record<string, unknown>>;

  /** @internal */
  constructor(options: unknown, known: readonly string[]) {
    const given = checkOptions(this.where, options, known);
    // A copy, each read once: what was given may change, or be a getter.
    const entries = known.map((name) => [name, given[name]] as const);
    const said = entries.filter(([, value]) => value !== undefined);
    this.options = Object.freeze(Object.fromEntries(said));
  }

  /** @internal What the class is called in messages, in JSON and in print. */
  protected get where(): string {
    return shortName(this.constructor as typeof Observer);
  }

  /** Looks at a batch. @returns the batch itself, so that a call can be put into any expression */
  abstract observe<X extends TensorInput>(x: X): X;

  /**
   * `observe`, off this thread where it looks at values; `quantizeAsync` says how. What it has seen
   * changes when all is done, or not at all. Await one batch before the next where their order matters,
   * as it does for averages.
   * @param x        what `observe` takes; leave it as it is until the promise settles
   * @param options  `signal` and `onProgress` as in `quantizeAsync`
   * @returns a promise of the batch itself
   * @throws (as a rejection) what `observe` and `quantizeAsync` throw
   * @example await observer.observeAsync(batch, { signal: AbortSignal.timeout(1000) });
   */
  async observeAsync<X extends TensorInput>(x: X, options?: AsyncOptions): Promise<X> {
    const { settings } = checkAsyncOptions(`${this.where}.observeAsync`, options);
    return await runHere(this.where, settings, () => this.observe(x));
  }

  /**
   * The scale and zero point that fit all that it has seen.
   * @throws {TypeError} `ZP_NO_QPARAMS` for observers that have none to give
   */
  abstract calculateQParams(): ObservedQParams;

  /** Forgets all it has seen. */
  abstract reset(): void;

  /** Class, options and state, for `JSON.stringify`; the class's `fromJSON` restores them. */
  toJSON(): ObserverJSON {
    return { observer: this.where, options: { ...this.options }, state: this.saveState() };
  }

  /** @internal State as JSON can hold it. */
  protected saveState(): Record<string, unknown> {
    return {};
  }

  /** @internal */
  protected restoreState(_where: string, _state: Record<string, unknown>): void {}

  /** The observer as PyTorch prints it: what takes several lines stands below its name. */
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
   * A factory of observers with these options: what a `QConfig` takes. Further options may be added;
   * later ones win.
   *
   * Source: ObserverBase.with_args.
   *
   * @throws {TypeError} `ZP_INVALID_OPTIONS`; the options themselves are checked when it makes one
   * @example const factory = MinMaxObserver.withArgs({ dtype: "qint8" });
   * factory(); // MinMaxObserver(min_val=inf, max_val=-inf)
   */
  static withArgs<C extends ObserverClass>(
    this: C,
    options: Partial<OptionsOf<C>>,
  ): ObserverFactory<InstanceType<C>, OptionsOf<C>> {
    // biome-ignore lint/complexity/noThisInStatic: the class that it is called on
    return partial(constructorOf(this), options);
  }

  /**
   * A factory that calls functions for its options whenever it makes an observer.
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
    return partialCallable(constructorOf(this), options);
  }

  /**
   * Makes an observer of what `toJSON` gave, with the same options and state.
   * @param json  the object, after `JSON.parse` if it was text; `json.observer` names the class
   * @throws {TypeError|RangeError} `ZP_INVALID_STATE` if it is none, or of another class; and what the
   *   constructor throws
   * @example
   * const text = JSON.stringify(observer); // a HistogramObserver, say
   * HistogramObserver.fromJSON(JSON.parse(text)).observe(nextBatch);
   */
  static fromJSON<C extends ObserverClass>(this: C, json: ObserverJSON): InstanceType<C> {
    // biome-ignore lint/complexity/noThisInStatic: the class that it is called on
    const make = constructorOf(this);
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

/** A class with the types of what it takes and makes, which TypeScript does not infer from `C`. */
function constructorOf<C extends ObserverClass>(
  observerClass: C,
): ObserverConstructor<InstanceType<C>, OptionsOf<C>> {
  return observerClass as unknown as ObserverConstructor<InstanceType<C>, OptionsOf<C>>;
}

function checkRecord(where: string, argument: string, value: unknown): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw wrongKind(
    "ZP_INVALID_STATE",
    where,
    argument,
    "an object as toJSON or JSON.parse makes it",
    value,
  );
}

/** Numbers as JSON can hold them. */
export function toJSONNumbers(values: Float32Array): JSONNumber[] {
  return Array.from(values, (value) => {
    if (Object.is(value, -0)) return "-0";
    return Number.isFinite(value) ? value : (String(value) as JSONNumber);
  });
}

const NUMBERS_IN_WORDS: readonly unknown[] = ["Infinity", "-Infinity", "NaN", "-0"];

/** A list of numbers out of JSON. */
export function fromJSONNumbers(
  where: string,
  argument: string,
  value: unknown,
  wanted?: number,
): Float32Array {
  const numbers = `a list of ${wanted === undefined ? "" : `${wanted} `}numbers`;
  const bad = (got: unknown): ZeropointError =>
    wrongKind("ZP_INVALID_STATE", where, argument, numbers, got);
  if (!Array.isArray(value)) throw bad(value);
  if (wanted !== undefined && value.length !== wanted) throw bad(value);
  return Float32Array.from(value, (item: unknown) => {
    const number = NUMBERS_IN_WORDS.includes(item) ? Number(item) : item;
    if (typeof number !== "number") throw bad(value);
    return number;
  });
}
