// Results on their way to the caller: arrays and errors of the caller's own realm, and handles of the
// objects that stay with the library.

import { disposed, stateError, typeError } from "../../base/errors.js";
import { define } from "../../base/fields.js";
import { INSPECT, OWN } from "../../base/format-value.js";
import { arrayName } from "../../base/typed-arrays.js";
import { keepPending, type Pending } from "../../search/result.js";
import { Tensor } from "../../tensor/tensor.js";
import { IntegerTensor } from "../../torch/integer-tensor.js";
import { TorchQuantizedTensor } from "../../torch/tensor.js";
import type { AbortSignalLike } from "../signals.js";
import { indexMethods } from "./index-methods.js";
import type { AnyArray, Encoded } from "./messages.js";

/** Bytes up to which memory is copied into this realm's own. */
const COPIED_BYTES = 2 ** 16;

/** The calls that handles make of their connection. */
export interface Connected {
  readonly isDisposed: boolean;
  /** Counts the workers of the connection; objects of earlier ones are gone. */
  readonly generation: number;
  call(
    where: string,
    target: number,
    name: string,
    args: readonly unknown[],
    isField: boolean,
    of: Target,
  ): Promise<unknown>;
  release(id: number, generation: number): void;
}

/** A result that was written to an array of the caller. */
export interface Filled {
  /** Values of each of the call's outputs, in this thread's memory. */
  readonly values: ReadonlyMap<number, AnyArray>;
  /** The result, with the caller's arrays in it. */
  readonly value: unknown;
}

/** The object at the other end that a handle stands for. */
export interface Target {
  readonly client: Connected;
  readonly id: number;
  /** Number of the worker that has the object. */
  readonly generation: number;
  /** Signals that end all calls that use the object. */
  signals: readonly AbortSignalLike[];
  isDisposed: boolean;
}

const targets = /* @__PURE__ */ new WeakMap<object, Target>();

/** Releases objects whose handles were garbage-collected. */
const collected = /* @__PURE__ */ new FinalizationRegistry<Target>(({ client, id, generation }) =>
  client.release(id, generation),
);

/** Lets signals end all calls that use a handle. */
export function tie(handle: object, signals: readonly AbortSignalLike[]): void {
  const target = targets.get(handle);
  if (target !== undefined) target.signals = signals;
}

/** The signals that end calls with these handles among their arguments. */
export const signalsOf = (values: readonly unknown[]): readonly AbortSignalLike[] =>
  values.flatMap((value) => targets.get(Object(value))?.signals ?? []);

/** The object that a handle stands for, by its number; undefined if a value is no handle. */
export function handleOf(where: string, client: Connected, value: object): number | undefined {
  const target = targets.get(value);
  if (target === undefined) return undefined;
  if (target.client !== client) {
    throw typeError("ZP_INVALID_OPTION", where, "the object belongs to another connection");
  }
  checkTarget(where, target);
  return target.id;
}

/** Whether a value stands for an object at the library's end, of any connection. */
export const isHandle = (value: object): boolean => targets.has(value);

function checkTarget(where: string, target: Target): void {
  const { client, generation, isDisposed } = target;
  if (client.isDisposed) throw disposed(where);
  if (isDisposed) throw typeError("ZP_DISPOSED", where, "the object was disposed");
  if (generation !== client.generation) throw lostObject(where);
}

/** The error of an object whose worker has ended. */
export const lostObject = (where: string): Error =>
  stateError("ZP_WORKER_LOST", where, "the worker that held the object has ended; make it again");

/** The array as an instance of this realm's class. */
function ownArray(values: AnyArray): AnyArray {
  const type = arrayName(values) as string;
  const scope = globalThis as unknown as Record<string, new (...args: unknown[]) => AnyArray>;
  const ArrayType = scope[type];
  if (values instanceof ArrayType && values.buffer instanceof ArrayBuffer) return values;
  // Small arrays get memory of this realm, too.
  if (values.byteLength <= COPIED_BYTES) return new ArrayType(values);
  return new ArrayType(values.buffer, values.byteOffset, values.length);
}

/** Decodes the results of one connection. */
export class Decoder {
  readonly #client: Connected;

  constructor(client: Connected) {
    this.#client = client;
  }

  /** A result, and the values of the outputs in it. @param lists  long ones, which came before it */
  decode(
    encoded: Encoded,
    args: readonly unknown[],
    outs: readonly unknown[],
    lists: readonly unknown[][] = [],
  ): Filled {
    const values = new Map<number, AnyArray>();
    const decode = (part: Encoded): unknown => {
      if (typeof part !== "object" || part === null) return part;
      switch (part[0]) {
        case "array":
          return ownArray(part[1]);
        case "list":
          return part[1].map(decode);
        case "items":
          return lists[part[1]];
        case "object":
          return Object.fromEntries(
            Object.entries(part[1]).map(([name, field]) => [name, decode(field)]),
          );
        case "map":
          return new Map(part[1].map(([key, item]) => [key, decode(item)]));
        case "tensor":
          return new Tensor(decode(part[1]) as Float32Array, decode(part[2]) as number[]);
        case "integers": {
          const [, data, shape, dtype] = part;
          return new IntegerTensor(
            decode(data) as Int32Array,
            decode(shape) as number[],
            dtype as "int32",
          );
        }
        case "torch": {
          const fields = decode(part[1]) as TorchQuantizedTensor;
          const { data, shape, dtype, qscheme, scale, zeroPoint, axis } = fields;
          return new TorchQuantizedTensor(data, shape, dtype, qscheme, scale, zeroPoint, axis);
        }
        case "printed": {
          const text = part[2];
          const print = { value: () => text };
          const fields = decode(part[1]) as object;
          return define(define(fields, "toString", print), INSPECT, print);
        }
        case "found":
          return keepPending(decode(part[1]) as object, decode(part[2]) as Pending);
        case "argument":
          return args[part[1]];
        case "filled":
          values.set(part[1], part[2]);
          return outs[part[1]];
        case "remote":
          return this.#handle(part[1], part[2], part[3], part[4]);
        default:
          throw new Error(`"${part[0]}" is no result`);
      }
    };
    return { value: decode(encoded), values };
  }

  #handle(id: number, type: string, methods: readonly string[], fields: readonly string[]): object {
    const client = this.#client;
    const { generation } = client;
    const target: Target = { client, id, generation, signals: [], isDisposed: false };
    const call = async (name: string, args: readonly unknown[], isField: boolean) => {
      const where = `${type}.${name}`;
      checkTarget(where, target);
      const result = await client.call(where, id, name, args, isField, target);
      return isSame(result, target) ? handle : result;
    };
    const dispose = (): void => {
      if (target.isDisposed) return;
      target.isDisposed = true;
      collected.unregister(target);
      client.release(id, target.generation);
    };
    const handle: Record<string | symbol, unknown> = {
      dispose,
      ...(typeof Symbol.dispose === "symbol" && { [Symbol.dispose]: dispose }),
    };
    for (const name of methods) handle[name] = (...args: unknown[]) => call(name, args, false);
    if (type === "VectorIndex") Object.assign(handle, indexMethods(call));
    for (const name of fields) {
      const get = (): Promise<unknown> => {
        const value = call(name, [], true);
        // A look at a field, as messages about wrong arguments take, needs no answer.
        value.catch(() => undefined);
        return value;
      };
      define(handle, name, { get, enumerable: true });
    }
    const print = { value: () => `${type}(a handle)` };
    const text = `a handle of ${type}, which functions of its connection take`;
    define(define(define(handle, "toString", print), INSPECT, print), OWN, { value: text });
    targets.set(handle, target);
    collected.register(handle, target, target);
    return handle;
  }
}

/** Whether a result is another handle of the same object: a method returned `this`. */
function isSame(result: unknown, { id, client }: Target): boolean {
  if (typeof result !== "object" || result === null) return false;
  const other = targets.get(result);
  if (other === undefined || other.client !== client || other.id !== id) return false;
  collected.unregister(other);
  return true;
}

/** Releases the objects in a result whose call has already been rejected. */
export function releaseIn(encoded: Encoded, release: (id: number) => void): void {
  if (typeof encoded !== "object" || encoded === null) return;
  if (encoded[0] === "remote") release(encoded[1]);
  else if (encoded[0] === "list") for (const item of encoded[1]) releaseIn(item, release);
  else if (encoded[0] === "object") {
    for (const field of Object.values(encoded[1])) releaseIn(field, release);
  }
}
