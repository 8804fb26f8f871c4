// The library's end of values: decodes arguments, encodes results, and keeps objects that the connection
// refers to by numbers.

import { typeError } from "../../base/errors.js";
import { fieldOf, hasField } from "../../base/fields.js";
import { arrayName } from "../../base/typed-arrays.js";
import { keepPending, type Pending, pendingOf } from "../../search/result.js";
import { VectorIndex } from "../../search/vector-index.js";
import { Tensor } from "../../tensor/tensor.js";
import { IntegerTensor } from "../../torch/integer-tensor.js";
import { TorchQuantizedTensor } from "../../torch/tensor.js";
import type { AnyArray, Encoded } from "../messages/messages.js";
import { arrayOf } from "./incoming.js";
import { Opener, Pull } from "./pull.js";
import type { Zeropoint } from "./zeropoint.js";

type Callable = (...args: unknown[]) => unknown;

type Class = new (...args: unknown[]) => object;

/** The library by names. */
export type Names = Readonly<Record<string, Callable & Class>>;

/** An object that a connection holds. */
export interface Held {
  readonly object: object;
  /** Settles when the calls that use the object so far are over. */
  tail: Promise<unknown>;
}

/** What arguments and results of one call refer to beside the library. */
export interface Context {
  /** The function that is called. */
  readonly name: string;
  /** Aborts the work of the call. */
  readonly controller: AbortController;
  /** A list of the result; a long one goes ahead in messages of its own. */
  list(items: readonly Encoded[]): Encoded;
  /** A function of the calling thread. */
  callback(id: number): (...args: unknown[]) => Promise<unknown>;
}

/** The arguments of one call. */
export class Arguments {
  /** Outputs by what stands for them here. */
  readonly outs = new Map<unknown, { readonly index: number; readonly data: AnyArray }>();
  readonly values: readonly unknown[];
  readonly #zp: Zeropoint;
  readonly #objects: Objects;
  readonly #large: readonly unknown[];
  readonly context: Context;

  /** @param large  the large arrays */
  constructor(
    zp: Zeropoint,
    objects: Objects,
    args: readonly Encoded[],
    large: readonly unknown[],
    context: Context,
  ) {
    this.#zp = zp;
    this.#objects = objects;
    this.#large = large;
    this.context = context;
    this.values = args.map((arg) => this.#decode(arg));
  }

  #class(name: string): Class {
    return (this.#zp as unknown as Names)[name];
  }

  #decode(value: Encoded): unknown {
    if (typeof value !== "object" || value === null) return value;
    switch (value[0]) {
      case "array":
        return value[1];
      case "object":
        return mapFields(value[1], (field) => this.#decode(field));
      case "list":
        return value[1].map((item) => this.#decode(item));
      case "large":
        return this.#large[value[1]];
      case "out": {
        const [, index, type, length, shape] = value;
        const data = arrayOf(type, length) as AnyArray;
        const lengths = this.#decode(shape) as number[] | undefined;
        const out = lengths === undefined ? data : new Tensor(data as Float32Array, lengths);
        this.outs.set(out, { index, data });
        this.outs.set(data, { index, data });
        return out;
      }
      case "handle":
        return this.#objects.get(value[1]).object;
      case "pattern":
        return new RegExp(value[1], value[2]);
      case "made": {
        const args = value[2].map((arg) => this.#decode(arg));
        return new (this.#class(value[1]))(...args);
      }
      case "found":
        return keepPending(this.#decode(value[1]) as object, this.#decode(value[2]) as Pending);
      case "answer": {
        const answer = this.#decode(value[1]);
        return () => answer;
      }
      case "callback":
        return this.context.callback(value[1]);
      case "progress": {
        const { context } = this;
        const report = context.callback(value[1]);
        return (progress: unknown) => {
          const told = report(progress);
          told.catch((error) => context.controller.abort(error));
          return told;
        };
      }
      case "signal":
        return this.context.controller.signal;
      case "url":
        return new URL(value[1]);
      case "blob":
        return value[2] === undefined ? value[1] : new File([value[1]], value[2]);
      case "chunks":
        return chunksOf(this.context.callback(value[1]));
      case "class":
        return this.#class(value[1]);
      case "factory": {
        const type = this.#class(value[1]) as unknown as { withArgs: Callable };
        return type.withArgs(this.#decode(value[2]));
      }
      case "mapping": {
        const mapping = new (this.#class("QConfigMapping"))() as Names;
        for (const { method, args } of value[1]) {
          mapping[method](...args.map((arg) => this.#decode(arg)));
        }
        return mapping;
      }
      default:
        throw new Error(`"${value[0]}" is no argument`);
    }
  }
}

/** The chunks that a function gives, one after the other; told by `true` that no more are wanted. */
async function* chunksOf(next: (isEnd: boolean) => Promise<unknown>): AsyncGenerator<unknown> {
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = (await next(false)) as IteratorResult<unknown>;
      isDone = done === true;
      if (isDone) return;
      yield value;
    }
  } finally {
    if (!isDone) next(true);
  }
}

function mapFields<T, U>(fields: Readonly<Record<string, T>>, map: (field: T) => U) {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, map(field)]));
}

/** The numbers of the objects among the arguments. */
export function handlesIn(encoded: Encoded): number[] {
  if (typeof encoded !== "object" || encoded === null) return [];
  if (encoded[0] === "handle") return [encoded[1]];
  if (encoded[0] === "list") return encoded[1].flatMap(handlesIn);
  if (encoded[0] === "object") return Object.values(encoded[1]).flatMap(handlesIn);
  return encoded[0] === "made" ? encoded[2].flatMap(handlesIn) : [];
}

/** The objects that stay at the library's end, by number. */
export class Objects {
  readonly #held = new Map<number, Held>();
  readonly #numbers = new WeakMap<object, number>();
  readonly #zp: Zeropoint;
  #next = 1;

  constructor(zp: Zeropoint) {
    this.#zp = zp;
  }

  /** @throws {TypeError} `ZP_DISPOSED` */
  get(id: number): Held {
    const held = this.#held.get(id);
    if (held === undefined) throw typeError("ZP_DISPOSED", "worker", "the object was disposed");
    return held;
  }

  /** Releases an object once the calls that use it are over. */
  async release(id: number): Promise<void> {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    const { object } = held as { object: { dispose?(): void; close?(): unknown } };
    if (object instanceof Pull) object.stop();
    await held.tail;
    // An object without such a method may inherit any value of that name.
    if (typeof object.dispose === "function") object.dispose();
    if (typeof object.close === "function") await object.close();
    this.#numbers.delete(object);
  }

  /**
   * Encodes a result.
   * @param moved  collects the memory of its arrays, if nothing here uses them any more: it moves with
   *   the message
   */
  encode(value: unknown, args: Arguments, moved: Set<ArrayBuffer> | undefined): Encoded {
    const encode = (part: unknown): Encoded => this.encode(part, args, moved);
    if (typeof value === "function") return `${value}`;
    if (typeof value !== "object" || value === null) return value as Encoded;
    const out = args.outs.get(value);
    if (out !== undefined) {
      moved?.add(out.data.buffer as ArrayBuffer);
      return ["filled", out.index, out.data];
    }
    const index = args.values.indexOf(value);
    if (index !== -1) return ["argument", index];
    if (arrayName(value) !== undefined) {
      const values = value as AnyArray;
      if (moved === undefined || !(values.buffer instanceof ArrayBuffer)) return ["array", values];
      const whole = values.byteLength === values.buffer.byteLength ? values : values.slice();
      moved.add(whole.buffer as ArrayBuffer);
      return ["array", whole];
    }
    if (Array.isArray(value)) return args.context.list(value.map(encode));
    if (value instanceof Map) {
      return ["map", Array.from(value, ([key, item]) => [String(key), encode(item)])];
    }
    const { data, shape } = value as { data: unknown; shape: unknown };
    if (value instanceof Tensor) return ["tensor", encode(data), encode(shape)];
    if (value instanceof IntegerTensor) {
      return ["integers", encode(data), encode(shape), value.dtype];
    }
    if (value instanceof TorchQuantizedTensor)
      return ["torch", ["object", mapFields({ ...value }, encode)]];
    const pending = pendingOf(value);
    if (pending !== undefined) {
      const fields = mapFields(value as Record<string, unknown>, encode);
      return ["found", ["object", fields], encode(pending)];
    }
    if (Symbol.asyncIterator in value) {
      const { name, controller } = args.context;
      return this.#hold(new Pull(name, value as AsyncIterable<unknown>, undefined, controller));
    }
    const prototype = Object.getPrototypeOf(value) as object | null;
    if (prototype === null || prototype === Object.prototype) {
      return ["object", mapFields(value as Record<string, unknown>, encode)];
    }
    if (!this.#stays(value)) {
      // A report of a model.
      return ["printed", ["object", mapFields({ ...value }, encode)], String(value)];
    }
    return this.#hold(value);
  }

  /** Whether an object stays here, and the calling thread gets a handle. */
  #stays(value: object): boolean {
    const { Model, InputMoments } = this.#zp as unknown as Partial<Names>;
    return (
      hasField(value, "forward") ||
      hasField(value, "observe") ||
      [VectorIndex, Pull, Opener, Model, InputMoments].some(
        (type) => type !== undefined && value instanceof type,
      )
    );
  }

  #hold(object: object): Encoded {
    let id = this.#numbers.get(object);
    if (id === undefined) {
      id = this.#next++;
      this.#numbers.set(object, id);
      this.#held.set(id, { object, tail: Promise.resolve() });
    }
    const { methods, fields } = membersOf(object);
    return ["remote", id, typeNameOf(this.#zp, object), methods, fields];
  }
}

/** Members that handles have of their own, and methods that are protected: classes call them with checked arguments. */
const OWN_MEMBERS = new Set([
  ...["constructor", "dispose", "toString"],
  ...["update", "chooseFor", "saveState", "restoreState", "extraText"],
]);

/** The names of an object's public methods and fields, those of its classes included. */
function membersOf(object: object): { methods: string[]; fields: string[] } {
  const methods = new Set<string>();
  // Fields that are not enumerable count, too: values that are dequantized on each access. The guard of
  // refuseClones() does not.
  const names = Object.getOwnPropertyNames(object);
  const fields = new Set(names.filter((name) => name !== "structuredClone"));
  let prototype = Object.getPrototypeOf(object) as object;
  while (prototype !== Object.prototype) {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (OWN_MEMBERS.has(name)) continue;
      (typeof fieldOf(descriptor, "value") === "function" ? methods : fields).add(name);
    }
    prototype = Object.getPrototypeOf(prototype) as object;
  }
  return { methods: [...methods], fields: [...fields].filter((name) => !methods.has(name)) };
}

/** The public name of an object's class; the name in minified code may be another one. */
function typeNameOf(zp: Zeropoint, object: object): string {
  if (object instanceof Pull || object instanceof Opener) return object.typeName;
  const prototype: unknown = Object.getPrototypeOf(object);
  const found = Object.entries(zp).find(([, value]) => value?.prototype === prototype);
  return found?.[0] ?? (hasField(object, "calibrate") ? "PreparedModel" : "QuantizedModel");
}
