// withArgs: factories of observers, as by functools.partial and PyTorch's _PartialWrapper.

import { wrongKind } from "../base/check.js";
import { INSPECT } from "../base/format-value.js";
import { checkObject } from "../base/options.js";
import { type Bind, REBIND } from "../core/create.js";
import { numberRepr } from "../tensor/python-repr.js";

/** The class of a factory's instances. */
export type ObserverConstructor<T = object, Options = never> = (new (
  options?: Options,
) => T) & {
  readonly pythonName?: string;
};

/** A function that makes observers with fixed options. */
export interface ObserverFactory<T = object, Options = Record<string, unknown>> {
  /** Makes an observer; the given options override the factory's. */
  (options?: Partial<Options>): T;
  /** The class of the observers. */
  readonly observerClass: { readonly name: string; readonly prototype: T };
  /** All its options, inherited ones included. */
  readonly args: Readonly<Partial<Options>>;
  /** A factory with further options, which override these. */
  withArgs(options: Partial<Options>): ObserverFactory<T, Options>;
  /** A factory with options from functions, which are called for every observer. */
  withCallableArgs(
    options: { readonly [K in keyof Options]?: () => Options[K] },
  ): ObserverFactory<T, Options>;
  /** The text of PyTorch's factory by Python's repr. */
  toString(): string;
}

/** A factory of objects of any class. */
export interface AnyObserverFactory {
  (options?: never): object;
  /** The class of the observers. */
  readonly observerClass: { readonly name: string };
  /** The options of the observers. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** The base of a factory: a class, or a factory with further options. */
type Source = {
  readonly text: () => string;
  readonly make: (options: object) => object;
  readonly steps: readonly object[] | undefined;
};

/** The options of the `withArgs` calls that made a factory; undefined if functions give some. */
const stepsByFactory = /* @__PURE__ */ new WeakMap<object, readonly object[] | undefined>();

/** The options of the `withArgs` calls that make an equal factory; undefined if functions give some. */
export const stepsOf = (factory: AnyObserverFactory): readonly object[] | undefined =>
  stepsByFactory.get(factory);

const FACTORY = Symbol.for("zeropoint.observerFactory");

/** Whether a value is a factory of observers. */
export function isFactory(value: unknown): value is AnyObserverFactory {
  return typeof value === "function" && FACTORY in value;
}

/** PyTorch's text for a class. */
export function classText(value: { readonly pythonName?: string; readonly name: string }): string {
  return `<class '${value.pythonName ?? value.name}'>`;
}

/** Checks options and copies them for the factory. */
const checkArgs = (where: string, options: unknown): object => ({
  ...checkObject(where, "options", options),
});

/** The class's name from `pythonName`, since a bundler may shorten the name in the code. */
export function shortName({ pythonName = "" }: { readonly pythonName?: string }): string {
  return pythonName.slice(pythonName.lastIndexOf(".") + 1);
}

/** A factory of a class. */
export function partial<T extends object, Options extends object>(
  observerClass: ObserverConstructor<T, Options>,
  options: Partial<Options>,
): ObserverFactory<T, Options> {
  const source: Source = {
    text: () => classText(observerClass),
    make: (given) => new observerClass(given as Options),
    steps: [],
  };
  const own = checkArgs(`${shortName(observerClass)}.withArgs`, options);
  return makeFactory(observerClass, source, own, {}, {});
}

/** A factory of a class, with options from functions. */
export function partialCallable<T extends object, Options extends object>(
  observerClass: ObserverConstructor<T, Options>,
  options: { readonly [K in keyof Options]?: () => Options[K] },
): ObserverFactory<T, Options> {
  return partial(observerClass, {}).withCallableArgs(options);
}

function makeFactory<T extends object, Options extends object>(
  observerClass: ObserverConstructor<T, Options>,
  source: Source,
  own: object,
  callable: Readonly<Record<string, () => unknown>>,
  inherited: object,
): ObserverFactory<T, Options> {
  const name = shortName(observerClass);
  const where = `${name}.withArgs`;
  const args = Object.freeze({ ...inherited, ...own });
  const make = (options: object): object => {
    const called: Record<string, unknown> = {};
    for (const [name, get] of Object.entries(callable)) {
      if (!Object.hasOwn(options, name)) called[name] = get();
    }
    return source.make({ ...own, ...called, ...options });
  };
  const text = () => `functools.partial(${source.text()}${argsText(own)})${callableText(callable)}`;
  const factory = (options?: Partial<Options>) =>
    make(options === undefined ? {} : checkArgs(where, options)) as T;
  const hasFunctions = Object.keys(callable).length > 0;
  const steps = hasFunctions ? undefined : source.steps && [...source.steps, own];
  stepsByFactory.set(factory, steps);
  return Object.assign(factory, {
    [FACTORY]: true,
    observerClass,
    args: args as Readonly<Partial<Options>>,
    withArgs: (options: Partial<Options>) =>
      makeFactory(observerClass, { text, make, steps }, checkArgs(where, options), {}, args),
    withCallableArgs: (options: { readonly [K in keyof Options]?: () => Options[K] }) =>
      makeFactory(
        observerClass,
        source,
        own,
        { ...callable, ...checkFunctions(`${name}.withCallableArgs`, options) },
        inherited,
      ),
    toString: text,
    [INSPECT]: text,
    [REBIND]: (bind: Bind) => partial(bind(observerClass), args as Partial<Options>),
  }) as ObserverFactory<T, Options>;
}

function checkFunctions(where: string, options: unknown): Record<string, () => unknown> {
  const checked = checkArgs(where, options) as Record<string, () => unknown>;
  for (const [name, value] of Object.entries(checked)) {
    if (typeof value === "function") continue;
    throw wrongKind(
      "ZP_INVALID_FUNCTION",
      where,
      `options.${name}`,
      "a function that gives the option",
      value,
    );
  }
  return checked;
}

/** Options as Python prints keyword arguments: ", quant_min=0, dtype=torch.qint8". */
function argsText(args: object): string {
  return Object.entries(args)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `, ${snakeCase(name)}=${optionText(name, value)}`)
    .join("");
}

function optionText(name: string, value: unknown): string {
  if (typeof value !== "string") return valueText(value);
  return ["dtype", "qscheme", "computeDtype"].includes(name) ? `torch.${value}` : `'${value}'`;
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function callableText(callable: Readonly<Record<string, () => unknown>>): string {
  const items = Object.entries(callable).map(
    ([name, get]) => `'${snakeCase(name)}': <function ${get.name || "<lambda>"}>`,
  );
  return `{${items.join(", ")}}`;
}

/** PyTorch's text for a value of an option or a QConfig field. */
export function valueText(value: unknown): string {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return numberRepr(value);
  if (value === null) return "None";
  if (typeof value === "function") {
    return isFactory(value) ? String(value) : classText(value as { name: string });
  }
  return String(value);
}
