// Independent instances of the library: its exports, bound to a separate core.

import { wrongKind } from "../base/check.js";
import { disposed } from "../base/errors.js";
import { fieldOf } from "../base/fields.js";
import { INSPECT } from "../base/format-value.js";
import type { Core } from "./core.js";
import type { Embedded } from "./embedded.js";
import {
  describeCore,
  type InitOptions,
  type InitResult,
  isDefaultCore,
  loadCore,
  runOn,
} from "./init.js";

/**
 * Key of a method that copies an object for an instance: it takes a function that binds a value to the
 * instance, and returns an object of the same kind whose values are bound.
 */
export const REBIND: unique symbol = /* @__PURE__ */ Symbol.for("zeropoint.rebind") as never;

/** An object that instances copy by its REBIND method. */
interface Rebindable {
  [REBIND](bind: Bind): object;
}

/** Binds a value to an instance. The same value always gives the same result. */
export type Bind = <T extends object>(value: T) => T;

/** The members of an instance in addition to the exports of the library. */
export interface InstanceMembers extends InitResult {
  /**
   * Ends the instance and its threads: its functions throw `ZP_DISPOSED` from then on; its layers, models
   * and observers continue on one thread. A second call does nothing. The threads of an instance that
   * is garbage are ended some time later.
   */
  dispose(): void;
  /** `dispose()`, for `using`. Present in engines with `Symbol.dispose`. */
  [Symbol.dispose]: () => void;
}

/**
 * `create`, of a library given as a table of its exports.
 * @param embedded  the binaries in the package; undefined where `options.wasm` gives them
 */
export async function createFrom<Library extends object>(
  library: Library,
  embedded: Embedded | undefined,
  options: InitOptions | undefined,
): Promise<Readonly<Library> & InstanceMembers> {
  const core = await loadCore("create", embedded, options);
  const dispose = (): void => core.dispose();
  const symbols = typeof Symbol.dispose === "symbol" ? { [Symbol.dispose]: dispose } : {};
  // Printed by Node's console instead of a listing of the whole library.
  const print = () => `Zeropoint(build=${core.build}, threads=${core.threads})`;
  const own = { ...describeCore(core), dispose, ...symbols, [INSPECT]: print };
  return { ...bindAll(binderOf(core), library), ...own } as unknown as Readonly<Library> &
    InstanceMembers;
}

/** Exports that start a library, and so belong to no instance. */
const STARTS = ["init", "create", "connect"];

/**
 * The exports of entries, without those that start a library.
 * @throws {TypeError} `ZP_INVALID_OPTION` for a value that is no module
 */
export function checkEntries(entries: readonly unknown[]): object[] {
  return entries.map((entry, i) => {
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
      const takes = 'a module, as in import * as torch from "zeropoint/torch"';
      throw wrongKind("ZP_INVALID_OPTION", "create", `entries[${i}]`, takes, entry);
    }
    return Object.fromEntries(Object.entries(entry).filter(([name]) => !STARTS.includes(name)));
  });
}

/** What binds values to each instance. */
const binders = /* @__PURE__ */ new WeakMap<Core, NamedBind>();

type NamedBind = <T extends object>(value: T, name?: string) => T;

/** What binds values to the instance of a core. Of the default instance, nothing is bound. */
export function binderOf(core: Core): NamedBind {
  if (isDefaultCore(core)) return (value) => value;
  const bind = binders.get(core) ?? makeBinder(core);
  binders.set(core, bind);
  return bind;
}

function makeBinder(core: Core): NamedBind {
  // A value exported under two names is bound once.
  const bound = new WeakMap<object, object>();
  const bind: NamedBind = <T extends object>(value: T, name = ""): T => {
    if (!bound.has(value)) bound.set(value, make(value, name));
    return bound.get(value) as T;
  };
  const make = (value: object, name: string): object => {
    if (isRebindable(value)) return value[REBIND](bind);
    if (typeof value === "function") {
      return new Proxy(value, runningOn(core, pythonNameOf(value as object) || name, bind));
    }
    // Records of QConfigs and observers; other objects have no functions of the library.
    if (Object.getPrototypeOf(value) !== Object.prototype) return value;
    return Object.freeze(bindAll(bind, value));
  };
  return bind;
}

/** The fields of a record, bound. */
const bindAll = <T extends object>(bind: NamedBind, values: T): T =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      Object(value) === value ? bind(value, name) : value,
    ]),
  ) as T;

const isRebindable = (value: unknown): value is Rebindable => REBIND in Object(value);

/** PyTorch's name of a class without its modules; "" for other classes. */
function pythonNameOf(value: { readonly pythonName?: string }): string {
  const pythonName = fieldOf(value, "pythonName") ?? "";
  return pythonName.slice(pythonName.lastIndexOf(".") + 1);
}

/** Runs a function or a constructor on a core, until the instance is disposed. */
function runningOn(core: Core, name: string, bind: Bind): ProxyHandler<object> {
  const run = <T>(work: () => T): T => {
    if (core.isDisposed) throw disposed(name);
    return runOn(core, work);
  };
  const traps: ProxyHandler<object> = {
    apply: (callee, self, args) => {
      const result: unknown = run(() => Reflect.apply(callee as () => unknown, self, args));
      return isRebindable(result) ? bind(result) : result;
    },
    construct: (callee, args, newTarget) =>
      run(() => Reflect.construct(callee as new () => object, args, newTarget)),
  };
  // Without a prototype that could add traps.
  return Object.assign(Object.create(null), traps);
}
