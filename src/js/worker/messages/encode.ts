// Arguments on their way to the library: plain copies of everything but large arrays.

import { rangeError, typeError } from "../../base/errors.js";
import { fieldOf, hasField } from "../../base/fields.js";
import { kindOf, show } from "../../base/format-value.js";
import {
  arrayBuffer,
  arrayByteLength,
  arrayLength,
  arrayName,
  checkAttached,
  checkStillThere,
  type NumberArray,
  overlap,
  setArray,
} from "../../base/typed-arrays.js";
import { pendingOf } from "../../search/result.js";
import { type ArrayForm, arrayOf } from "../library/incoming.js";
import type { AnyArray, Encoded } from "./messages.js";

/** Bytes up to which the message copies an array. */
const INLINE_BYTES = 2 ** 16;
/** Bytes up to which an array is copied at the call, not when its message is posted. */
const TINY_BYTES = 2 ** 12;
/** Bytes of arrays that one message holds: a copy takes well under a millisecond. The library reads all others in parts. */
const MESSAGE_BYTES = 2 ** 20;
/** A longer list of numbers is sent as an array of doubles. */
const LONG_LIST = 2 ** 13;

/** An array whose values the library reads part by part. */
export interface Large extends ArrayForm {
  readonly values: NumberArray | readonly number[];
}

/** An array or a tensor that a result is written to. */
export interface Out {
  /** Its name in messages. */
  readonly argument: string;
  readonly given: unknown;
  readonly data: NumberArray;
}

/** Arrays and memory that encoding finds among a call's arguments. */
export interface Found {
  readonly large: Large[];
  readonly outs: Out[];
  /** Memory that moves with the message. */
  readonly moved: Set<ArrayBuffer>;
}

/** Settings of the encoding of arguments. */
export interface Encoding {
  /** The function's name in errors. */
  readonly where: string;
  /** Whether arrays leave this thread. */
  readonly offThread: boolean;
  /** Arrays or their memory to be moved instead of copied; true for all. */
  readonly transfer: true | ReadonlySet<unknown>;
  /** The number of a handle of this connection; undefined for any other object. */
  readonly handleOf: (value: object) => number | undefined;
}

/** Levels of arguments within each other: more than the axes of a tensor. */
const MAX_DEPTH = 100;

/** The fields of tensors in all their forms, read once each, from prototypes as well. */
const TENSOR_FIELDS = [
  "data",
  "shape",
  "dims",
  "dtype",
  "type",
  "scheme",
  "qscheme",
  "scale",
  "zeroPoint",
  "offset",
  "axis",
  "groupSize",
  "blockShape",
] as const;

/** The weight that a layer was made of. */
const weightOf = ({ quantizedWeight, ...layer }: Record<string, unknown>): unknown =>
  quantizedWeight ?? layer.weight;

/** An argument that is encoded in its own way. */
export class Special {
  constructor(readonly encode: (encoder: Encoder) => Encoded) {}
}

/** A value that the library gets as the result of a function. */
export const answer = (value: unknown): Special =>
  new Special((encoder) => ["answer", encoder.encode(value)]);

/** The arguments of the constructors of layers, from the layers' public fields. */
const LAYERS: Readonly<Record<string, (layer: Record<string, unknown>) => readonly unknown[]>> = {
  Linear: (layer) => [weightOf(layer), { bias: layer.bias, accumulate: layer.accumulate }],
  Embedding: (layer) => [weightOf(layer)],
  LayerNorm: ({ normalizedShape, weight, bias, eps }) => [normalizedShape, { weight, bias, eps }],
  ReLU: () => [],
  Sigmoid: () => [],
  Tanh: () => [],
  Softmax: ({ axis }) => [{ axis }],
};

/** Encodes the arguments of one call. */
export class Encoder implements Found {
  readonly large: Large[] = [];
  #depth = 0;
  readonly #arrays: AnyArray[] = [];
  readonly outs: Out[] = [];
  readonly moved = new Set<ArrayBuffer>();
  /** Arrays that are copied by `copyArrays`. */
  readonly #uncopied: { readonly encoded: ["array", AnyArray]; readonly length: number }[] = [];
  #bytes = 0;
  readonly #how: Encoding;
  /** The name of the field that is encoded, for messages. */
  #name: string | undefined;

  constructor(how: Encoding) {
    this.#how = how;
  }

  /** Bytes that `copyArrays` copies: 1 MiB at most. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Moves the memory of arrays away from the caller, who finds them empty after the call, although its message may be
   * posted later. @returns the arguments with the moved arrays
   */
  moveArrays(encoded: readonly Encoded[]): readonly Encoded[] {
    this.copyArrays();
    const moving = [...this.moved];
    try {
      const [moved, memory] = structuredClone([encoded, moving] as const, { transfer: moving });
      this.moved.clear();
      for (const buffer of memory) this.moved.add(buffer);
      return moved;
    } catch (cause) {
      throw unsendable(this.#how.where, cause);
    }
  }

  /** Replaces the caller's arrays among the encoded arguments by copies. @throws {TypeError} `ZP_DETACHED` */
  copyArrays(): void {
    for (const { encoded, length } of this.#uncopied.splice(0)) {
      checkStillThere(this.#how.where, encoded[1], length);
      encoded[1] = plainCopy(encoded[1]);
      // Larger than what a message copies quickly.
      if (encoded[1].byteLength > INLINE_BYTES) this.moved.add(encoded[1].buffer as ArrayBuffer);
    }
  }

  /** @throws {TypeError} for a function or another object that cannot leave this thread */
  encode(value: unknown): Encoded {
    if (this.#depth === 0) this.#name = undefined;
    if (typeof value === "function") return this.#function(value);
    if (typeof value === "symbol") throw this.#refuse(value);
    if (typeof value !== "object" || value === null) return value as Encoded;
    if (++this.#depth > MAX_DEPTH) {
      const problem = `an argument has more than ${MAX_DEPTH} levels of objects within each other`;
      throw typeError("ZP_INVALID_OPTION", this.#how.where, problem);
    }
    const encoded = this.#object(value);
    this.#depth--;
    return encoded;
  }

  #object(value: object): Encoded {
    const type = arrayName(value);
    if (type !== undefined) return this.#array(type, value as AnyArray);
    if (Array.isArray(value)) return this.#list(value);
    const handle = this.#how.handleOf(value);
    if (handle !== undefined) return ["handle", handle];
    if (kindOf(value) === "RegExp") {
      const { source, flags } = value as RegExp;
      return ["pattern", source, flags];
    }
    if (value instanceof Special) return value.encode(this);
    const pending = pendingOf(value);
    if (pending !== undefined) {
      const fields = this.#fields(value as Record<string, unknown>);
      return ["found", ["object", fields], this.encode(pending)];
    }
    if (hasField(value, "typeName")) return this.#layer(value as Record<string, unknown>);
    if (hasField(value, "qconfigFor")) return this.#mapping(value);
    if (hasField(value, "activation") && hasField(value, "weight")) {
      const { activation, weight } = value as { activation?: unknown; weight?: unknown };
      return ["made", "QConfig", [["object", this.#fields({ activation, weight })]]];
    }
    if (hasField(value, "data")) {
      const tensor = value as Record<string, unknown>;
      const fields = Object.entries(tensor).filter(
        ([name]) => !TENSOR_FIELDS.includes(name as "data"),
      );
      for (const name of TENSOR_FIELDS) {
        const field = fieldOf(tensor, name);
        if (field !== undefined && typeof field !== "function") fields.push([name, field]);
      }
      return ["object", this.#entries(fields)];
    }
    const prototype = Object.getPrototypeOf(value) as object | null;
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
      const made = hasField(value, "options") && String(value).startsWith("WeightOnlyQConfig(");
      if (!made) throw this.#refuse(value);
      return ["made", "WeightOnlyQConfig", [this.encode((value as { options: unknown }).options)]];
    }
    return ["object", this.#fields(value as Record<string, unknown>)];
  }

  #refuse(value: unknown): Error {
    const argument = this.#name === undefined ? "an argument" : `"${this.#name}"`;
    const problem = `${argument} must be data that can be sent to the worker, got ${show(value)}`;
    return typeError("ZP_INVALID_OPTION", this.#how.where, problem);
  }

  #fields(fields: Readonly<Record<string, unknown>>): Record<string, Encoded> {
    return this.#entries(Object.entries(fields));
  }

  #entries(entries: readonly (readonly [string, unknown])[]): Record<string, Encoded> {
    return Object.fromEntries(
      entries.map(([name, value]) => {
        this.#name = name;
        return [name, name === "out" ? this.encodeOut(value, "options.out") : this.encode(value)];
      }),
    );
  }

  #list(list: readonly unknown[]): Encoded {
    if (this.#how.offThread && list.length > LONG_LIST && typeof list[0] === "number") {
      return this.#large("Float64Array", list as readonly number[], list.length);
    }
    return ["list", list.map((item) => this.encode(item))];
  }

  #array(type: string, values: AnyArray): Encoded {
    const { where, offThread, transfer } = this.#how;
    checkAttached(where, this.#name ?? "an argument", values);
    this.#arrays.push(values);
    const buffer = arrayBuffer(values);
    const byteLength = arrayByteLength(values);
    const isMoved = transfer === true || transfer.has(values) || transfer.has(buffer);
    if (buffer instanceof ArrayBuffer || kindOf(buffer) === "ArrayBuffer") {
      if (isMoved && byteLength > 0) {
        this.moved.add(buffer as ArrayBuffer);
        return ["array", values];
      }
      if (!offThread) return ["array", values];
      // BigInts, which few functions take, are not read in parts.
      if (byteLength <= TINY_BYTES || type.startsWith("Big")) return ["array", plainCopy(values)];
      if (this.#bytes + byteLength > MESSAGE_BYTES) {
        return this.#large(type, values, arrayLength(values));
      }
      this.#bytes += byteLength;
      const encoded: ["array", AnyArray] = ["array", values];
      this.#uncopied.push({ encoded, length: arrayLength(values) });
      return encoded;
    }
    return ["array", values];
  }

  #large(type: string, values: Large["values"], length: number): Encoded {
    this.large.push({ type, values, length });
    return ["large", this.large.length - 1];
  }

  /** Encodes an array that nobody else has, whose memory moves. */
  move(values: Uint8Array): Encoded {
    if (values.length > 0) this.moved.add(values.buffer as ArrayBuffer);
    return ["array", values as unknown as AnyArray];
  }

  /** Encodes an argument that a result is written to. @param argument  its name in messages */
  encodeOut(out: unknown, argument = "out"): Encoded {
    const data = arrayName(out) === undefined ? (out as { data?: unknown } | null)?.data : out;
    const type = arrayName(data);
    if (type === undefined || type.startsWith("Big")) return this.encode(out);
    const shape = data === out ? undefined : (out as { shape?: unknown }).shape;
    const name = data === out ? argument : `${argument}.data`;
    checkAttached(this.#how.where, name, data);
    this.outs.push({ argument: name, given: out, data: data as NumberArray });
    return ["out", this.outs.length - 1, type, arrayLength(data), this.encode(shape)];
  }

  /** Refuses outputs on memory of an input, as the library does, which gets other memory for them. */
  checkOuts(): void {
    for (const { argument, data } of this.outs) {
      if (!this.#arrays.some((array) => overlap(array, data))) continue;
      const problem = `${argument} must not share memory with an input`;
      throw rangeError("ZP_INVALID_OUT", this.#how.where, problem);
    }
  }

  #layer(layer: Record<string, unknown>): Encoded {
    const type = layer.typeName as string;
    // A subclass may compute anything in `forward`.
    if (!Object.hasOwn(layer.constructor, "typeName")) throw this.#refuse(layer);
    if (type === "Sequential") return this.#model(layer.layers as readonly Named[]);
    const args = fieldOf(LAYERS, type)?.(layer);
    if (args === undefined) throw this.#refuse(layer);
    return ["made", type, args.map((arg) => this.encode(arg))];
  }

  /** A model by its layers' names; those of layers in an inner model begin with that model's. */
  #model(layers: readonly Named[]): Encoded {
    const inner = new Map<string, Named[]>();
    const children: Record<string, Encoded> = {};
    for (const { name, layer } of layers) {
      const dot = name.indexOf(".");
      if (dot === -1) {
        children[name] = this.encode(layer);
        continue;
      }
      const model = name.slice(0, dot);
      children[model] ??= null;
      inner.set(model, [...(inner.get(model) ?? []), { name: name.slice(dot + 1), layer }]);
    }
    for (const [name, own] of inner) children[name] = this.#model(own);
    return ["made", "Sequential", [["object", children]]];
  }

  #mapping(mapping: object): Encoded {
    const { calls } = mapping as { calls: readonly { method: string; args: readonly unknown[] }[] };
    return [
      "mapping",
      calls.map(({ method, args }) => ({ method, args: args.map((arg) => this.encode(arg)) })),
    ];
  }

  /** Encodes observer classes and their factories by the names of the classes. */
  #function(value: object): Encoded {
    const { pythonName, observerClass, args } = value as {
      pythonName?: unknown;
      observerClass?: { pythonName?: unknown };
      args?: unknown;
    };
    const name = String(pythonName ?? observerClass?.pythonName)
      .split(".")
      .pop() as string;
    if (pythonName !== undefined) return ["class", name];
    // Options that are computed for each observer are functions.
    if (observerClass?.pythonName === undefined || String(value).includes("<function")) {
      throw this.#refuse(value);
    }
    return ["factory", name, this.encode(args)];
  }
}

/** The error of a message that could not be posted. */
export function unsendable(where: string, cause: unknown): Error {
  const problem = `an argument cannot be sent to the worker: ${(cause as Error).message}`;
  return typeError("ZP_INVALID_OPTION", where, problem);
}

interface Named {
  readonly name: string;
  readonly layer: object;
}

/** A copy by the engine's own fields, on memory of its own: the caller's class of arrays may define others. */
function plainCopy(values: AnyArray): AnyArray {
  const copy = arrayOf(arrayName(values) as string, arrayLength(values)) as AnyArray;
  setArray(copy, values, 0);
  return copy;
}
