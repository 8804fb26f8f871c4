// withArgs: factories of observers, as functools.partial and PyTorch's _PartialWrapper make them.

import { checkObject, wrongKind } from "./check.js";
import { numberRepr } from "./python-repr.js";
import { INSPECT } from "./show.js";

/** A class that a factory makes instances of. */
export type ObserverConstructor<T = object, Options = never> = (new (
  options?: Options,
) => T) & {
  readonly pythonName?: string;
};

/** Makes observers that all have the same options. */
export interface ObserverFactory<T = object, Options = Record<string, unknown>> {
  /** Makes one; options given here win. */
  (options?: Partial<Options>): T;
  /** The class of what it makes. */
  readonly observerClass: { readonly name: string; readonly prototype: T };
  /** All its options, inherited ones included. */
  readonly args: Readonly<Partial<Options>>;
  /** A factory with further options, which win over these. */
  withArgs(options: Partial<Options>): ObserverFactory<T, Options>;
  /** A factory whose options are the results of functions, called for every observer anew. */
  withCallableArgs(
    options: { readonly [K in keyof Options]?: () => Options[K] },
  ): ObserverFactory<T, Options>;
  /** What Python's repr prints of PyTorch's factory. */
  toString(): string;
}

/** Any factory, whatever it makes. */
export interface AnyObserverFactory {
  (options?: never): object;
  /** The class of the observers that it makes. */
  readonly observerClass: { readonly name: string };
  /** The options that it makes them with. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** What a factory was made from: a class, or a factory that has further options of its own. */
type Source = { readonly text: () => string; readonly make: (options: object) => object };

const FACTORY = Symbol.for("zeropoint.observerFactory");

/** Whether a value is a factory of observers. */
export function isFactory(value: unknown): value is AnyObserverFactory {
  return typeof value === "function" && FACTORY in value;
}

/** PyTorch's text for a class. */
export function classText(value: { readonly pythonName?: string; readonly name: string }): string {
  return `<class '${value.pythonName ?? value.name}'>`;
}

/** Options in an object of the factory's own. */
const checkArgs = (where: string, options: unknown): object => ({
  ...checkObject(where, "options", options),
});

/** The class's name; what it is called in the code may have been shortened by a bundler. */
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
  };
  const own = checkArgs(`${shortName(observerClass)}.withArgs`, options);
  return makeFactory(observerClass, source, own, {}, {});
}

/** A factory of a class whose options come from functions. */
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
  return Object.assign(factory, {
    [FACTORY]: true,
    observerClass,
    args: args as Readonly<Partial<Options>>,
    withArgs: (options: Partial<Options>) =>
      makeFactory(observerClass, { text, make }, checkArgs(where, options), {}, args),
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

/** PyTorch's text for what an option or a QConfig may hold. */
export function valueText(value: unknown): string {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return numberRepr(value);
  if (value === null) return "None";
  if (typeof value === "function") {
    return isFactory(value) ? String(value) : classText(value as { name: string });
  }
  return String(value);
}
