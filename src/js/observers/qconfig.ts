// QConfig: the observers of activations and of weights.

import { typeError } from "../base/errors.js";
import { INSPECT, show } from "../base/format-value.js";
import { checkObject, checkOptions } from "../base/options.js";
import { explainReceivers } from "../base/receivers.js";
import { type Bind, REBIND } from "../core/create.js";
import { Observer, type ObserverClass } from "./observer.js";
import { type AnyObserverFactory, isFactory, shortName, valueText } from "./with-args.js";

/** The source of a `QConfig`'s observers: a class, or a factory made by `withArgs`. */
export type ObserverSource =
  | ((new (options?: never) => object) & { readonly pythonName: string })
  | AnyObserverFactory;

/** The fields of a `QConfig`. */
export interface QConfigFields {
  /** Creates the observer of activations; null for none. */
  readonly activation: ObserverSource | null;
  /** Creates the observer of weights; null for none. */
  readonly weight: ObserverSource | null;
}

/**
 * The quantization of a layer: an observer for its activations and one for its weights.
 *
 * The fields are classes or factories, not observers, since every layer needs separate observers.
 *
 * Source: torch.ao.quantization.QConfig.
 *
 * @example
 * new QConfig({
 *   activation: HistogramObserver.withArgs({ reduceRange: true }),
 *   weight: predefinedObservers.default_per_channel_weight_observer,
 * });
 */
export class QConfig {
  /** Creates the observer of activations; null for none. */
  declare readonly activation: ObserverSource | null;
  /** Creates the observer of weights; null for none. */
  declare readonly weight: ObserverSource | null;

  static {
    explainReceivers(QConfig, "QConfig", Object.isFrozen);
  }

  /**
   * @throws {TypeError} `ZP_INVALID_QCONFIG` for an observer itself, or for anything else that is
   *   neither a class nor a factory; `ZP_UNKNOWN_OPTION`
   */
  constructor(fields: QConfigFields) {
    const where = "QConfig";
    const some = checkObject(where, "fields", fields);
    const given = checkOptions(where, some, ["activation", "weight"], "fields");
    this.activation = checkSource("activation", given.activation);
    this.weight = checkSource("weight", given.weight);
    Object.freeze(this);
  }

  /** @internal */
  [REBIND](bind: Bind): QConfig {
    const { activation, weight } = this;
    return new QConfig({
      activation: activation && bind(activation),
      weight: weight && bind(weight),
    });
  }

  /**
   * The text of PyTorch's QConfig by Python's repr.
   * @example
   * String(new QConfig({ activation: predefinedObservers.default_debug_observer, weight: null }))
   * // "QConfig(activation=<class 'torch.ao.quantization.observer.RecordingObserver'>, weight=None)"
   */
  toString(): string {
    return `QConfig(activation=${valueText(this.activation)}, weight=${valueText(this.weight)})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

function checkSource(field: string, value: unknown): ObserverSource | null {
  if (value === null) return null;
  const isClass =
    typeof value === "function" && typeof (value as Partial<ObserverClass>).pythonName === "string";
  if (isClass || isFactory(value)) return value as ObserverSource;
  const hint =
    value instanceof Observer
      ? `an observer; give its class, or a factory: ${shortName(value.constructor as typeof Observer)}.withArgs(…)`
      : show(value);
  throw typeError(
    "ZP_INVALID_QCONFIG",
    "QConfig",
    `fields.${field} must be a class of observers, a factory that withArgs made or null, got ${hint}`,
  );
}
