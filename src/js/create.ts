// Independent instances: all functions and classes, each bound to a core of its own.

import type { Chunks } from "./build.js";
import type { Build, Core } from "./core.js";
import { disposed } from "./errors.js";
import * as library from "./everything.js";
import { isFactory, type ObserverConstructor, partial, shortName } from "./factory.js";
import { describeCore, type InitOptions, type InitResult, loadCore, runOn } from "./init.js";
import { QConfig } from "./qconfig.js";
import { INSPECT } from "./show.js";

/** All that the module exports but for `init` and `create`. */
type Library = Readonly<typeof library>;

/** An instance of the library, with a core and memory of its own. */
export interface Zeropoint extends Library, InitResult {
  /** The build that it runs. */
  readonly build: Build;
  /** The threads that it runs on. */
  readonly threads: number;
  /**
   * Ends the instance and its workers: its functions throw `ZP_DISPOSED` from then on, promises that are
   * pending are rejected with it, and layers, models and observers that are still there go on with one
   * thread. Harmless when called again. The workers of an instance that nobody holds any more are ended
   * some time later.
   */
  dispose(): void;
  /** `dispose()`, for `using`. There where the engine has `Symbol.dispose`. */
  [Symbol.dispose]: () => void;
}

/** `create`, with the chunks to load from. */
export async function createFrom(
  chunks: Chunks,
  options: InitOptions | undefined,
): Promise<Zeropoint> {
  const core = await loadCore("create", chunks, options);
  const dispose = (): void => core.dispose();
  const symbols = typeof Symbol.dispose === "symbol" ? { [Symbol.dispose]: dispose } : {};
  // Node would print all there is in the library.
  const print = () => `Zeropoint(build=${core.build}, threads=${core.threads})`;
  const own = { ...describeCore(core), dispose, ...symbols, [INSPECT]: print };
  return { ...own, ...bindAll(core) } as Zeropoint;
}

/** The library with functions and classes that run on a core, the same in everything else. */
function bindAll(core: Core): Library {
  // What is the same in the library is the same here, too.
  const bound = new WeakMap<object, object>();
  const each = <T extends object>(values: T): T =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, value && bind(name, value)]),
    ) as T;
  const bind = <T extends object>(name: string, value: T): T => {
    if (!bound.has(value)) bound.set(value, make(name, value));
    return bound.get(value) as T;
  };
  const make = (name: string, value: object): object => {
    if (isFactory(value)) {
      const observerClass = value.observerClass as ObserverConstructor<object, object>;
      return partial(bind("", observerClass), value.args);
    }
    // A class is called what PyTorch calls it, whatever it is found by.
    if (isFunction(value)) return new Proxy(value, runningOn(core, shortName(value) || name, make));
    // What else there is are QConfigs, and records of them and of observers.
    return value instanceof QConfig ? new QConfig(each(value)) : Object.freeze(each(value));
  };
  return each(library);
}

/** Runs functions and classes on a core, as long as the instance is there. */
function runningOn(
  core: Core,
  name: string,
  bind: (name: string, made: object) => object,
): ProxyHandler<AnyFunction> {
  const run = <T>(work: () => T): T => {
    if (core.isDisposed) throw disposed(name);
    return runOn(core, work);
  };
  return {
    apply: (callee, self, args) => {
      const call = () => run(() => Reflect.apply(callee, self, args));
      // Those throw nothing by themselves.
      if (name.endsWith("Async")) return (async () => call())();
      const result = call();
      return result instanceof QConfig ? bind(name, result) : result;
    },
    construct: (callee, args, newTarget) => run(() => Reflect.construct(callee, args, newTarget)),
  };
}

// biome-ignore lint/complexity/noBannedTypes: any function or class will do
type AnyFunction = Function & { readonly pythonName?: string };

const isFunction = (value: object): value is AnyFunction => typeof value === "function";
