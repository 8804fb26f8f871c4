// The table of messages between a connection and the library that works for it, and the form that
// arguments and results have in them.

import type { ErrorCode } from "../../base/errors.js";
import { fieldOf } from "../../base/fields.js";
import type { WasmModule } from "../../base/platform.js";
import type { NumberArray } from "../../base/typed-arrays.js";
import type { Build } from "../../core/builds.js";
import type { ArrayForm } from "../library/incoming.js";
import type { EntryName } from "../types.js";

/** A value that a message holds as it is. */
export type Primitive = undefined | null | boolean | number | string | bigint;

/** A typed array in a message: numbers, or the BigInts of zero points. */
export type AnyArray = NumberArray & {
  readonly BYTES_PER_ELEMENT: number;
  slice(): AnyArray;
};

/** An argument or a result: a primitive as it is, everything else as a tag and its parts. */
export type Encoded =
  | Primitive
  | readonly ["list", items: readonly Encoded[]]
  /** A long list of a result, whose items came before it. */
  | readonly ["items", list: number]
  | readonly ["object", fields: Readonly<Record<string, Encoded>>]
  /** A typed array, copied, shared or moved with the message. */
  | readonly ["array", values: AnyArray]
  /** One of the call's large arrays, whose values are read from the calling thread. */
  | readonly ["large", index: number]
  /** An array, or with a shape a tensor, that results are written to. */
  | readonly ["out", index: number, type: string, length: number, shape: Encoded]
  /** The same on the way back, with its values. */
  | readonly ["filled", index: number, values: AnyArray]
  /** One of the call's own arguments, which the function returned. */
  | readonly ["argument", index: number]
  | readonly ["handle", id: number]
  /** An object of the library on the way to a handle. */
  | readonly ["remote", id: number, type: string, methods: string[], fields: string[]]
  /** The result of a search, and what its rescoring needs. */
  | readonly ["found", fields: Encoded, pending: Encoded]
  /** A function that returns a value. */
  | readonly ["answer", value: Encoded]
  /** A function of the calling thread. */
  | readonly ["callback", id: number]
  /** A function of the calling thread that is told of progress: what it throws stops the call. */
  | readonly ["progress", id: number]
  /** The call's own signal. */
  | readonly ["signal"]
  | readonly ["url", address: string]
  /** A Blob; with a name a File. */
  | readonly ["blob", blob: Blob, name: string | undefined]
  /** Bytes of an async iterable of the calling thread: the function gives one chunk after the other. */
  | readonly ["chunks", id: number]
  | readonly ["map", entries: readonly (readonly [key: string, value: Encoded])[]]
  | readonly ["pattern", source: string, flags: string]
  /** An instance of one of the library's classes, by the arguments of its constructor. */
  | readonly ["made", type: string, args: readonly Encoded[]]
  | readonly ["class", type: string]
  | readonly ["factory", type: string, args: Encoded]
  | readonly ["mapping", calls: readonly MappingCall[]]
  | readonly ["tensor", data: Encoded, shape: Encoded]
  | readonly ["integers", data: Encoded, shape: Encoded, dtype: string]
  | readonly ["torch", fields: Encoded]
  /** Plain fields that print as the object they come from does. */
  | readonly ["printed", fields: Encoded, text: string];

/** One call of a method of a `QConfigMapping`. */
export interface MappingCall {
  readonly method: string;
  readonly args: readonly Encoded[];
}

/** An error as it crosses between threads. */
export interface ErrorData {
  readonly type: "Error" | "TypeError" | "RangeError";
  readonly message: string;
  readonly code: ErrorCode | undefined;
  /** The question (`ask`) to whose function the calling thread threw it: it gets its own error back. */
  readonly origin?: number | undefined;
  /** Where a file breaks its format, and how. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** From a connection to the library. */
export type Request =
  /** Starts the library. */
  | {
      readonly kind: "start";
      readonly build: "auto" | Build | undefined;
      readonly threads: number | undefined;
      /** A compiled core that was given; without one the library asks for the file that it needs. */
      readonly module: WasmModule | undefined;
      /** The entries whose functions the connection offers, in addition to the library's. */
      readonly entries: readonly EntryName[];
    }
  /** Answers a request for a file (`need`). */
  | {
      readonly kind: "file";
      readonly request: number;
      readonly bytes?: ArrayBuffer | WasmModule;
      readonly error?: ErrorData;
    }
  /** Calls a function of the library (`target` 0), or a method of an object, or reads a field of it. */
  | {
      readonly kind: "call";
      readonly id: number;
      readonly target: number;
      readonly name: string;
      readonly isField: boolean;
      readonly args: readonly Encoded[];
      /** The forms of its large arrays. */
      readonly large: readonly ArrayForm[];
    }
  /** Answers the first `read` of a call that has no answer yet. */
  | { readonly kind: "part"; readonly id: number; readonly memory: ArrayBuffer }
  /** Answers a question (`ask`), with the values of its large arrays. */
  | {
      readonly kind: "answer";
      readonly ask: number;
      readonly value?: Encoded;
      readonly large?: readonly AnyArray[];
      readonly error?: ErrorData;
    }
  /** Stops a call. */
  | { readonly kind: "abort"; readonly id: number }
  /** Lets go of an object. */
  | { readonly kind: "release"; readonly target: number };

/** From the library to a connection. */
export type Reply =
  /** The worker's script runs. */
  | { readonly kind: "loaded" }
  /** Asks for a file of the core. */
  | { readonly kind: "need"; readonly request: number; readonly file: string }
  | ({ readonly kind: "ready" } & Library)
  /** The library could not be started. */
  | { readonly kind: "failed"; readonly error: ErrorData }
  /** Asks for values of one of a call's large arrays, in this memory if it is large enough. */
  | {
      readonly kind: "read";
      readonly id: number;
      readonly index: number;
      readonly offset: number;
      readonly size: number;
      readonly memory: ArrayBuffer | undefined;
    }
  /** Calls a function of the calling thread. */
  | {
      readonly kind: "ask";
      readonly ask: number;
      readonly callback: number;
      readonly args: readonly Encoded[];
    }
  /** A function of the calling thread is not called any more. */
  | { readonly kind: "forget"; readonly callback: number }
  /** The finished share of a call's work, 0 to 1. */
  | { readonly kind: "progress"; readonly id: number; readonly part: number }
  /** Items of a long list of a call's result, which follows. */
  | {
      readonly kind: "items";
      readonly id: number;
      readonly list: number;
      readonly items: readonly Encoded[];
    }
  | { readonly kind: "done"; readonly id: number; readonly value: Encoded }
  | { readonly kind: "error"; readonly id: number; readonly error: ErrorData };

/** Description of the library at the other end. */
export interface Library {
  readonly build: Build;
  readonly threads: number;
  readonly threadsReason: string | undefined;
  /** The names of its functions, and of its classes with their static methods. */
  readonly functions: readonly string[];
  readonly classes: readonly (readonly [name: string, statics: readonly string[]])[];
}

/** Sends a message, and moves memory with it. */
export type Post<Message> = (message: Message, transfer: readonly ArrayBuffer[]) => void;

/** The questions to whose functions the calling thread threw errors. */
const origins = /* @__PURE__ */ new WeakMap<object, number>();

/** An error as a message holds it. */
export function errorData(error: unknown): ErrorData {
  const { message, code } = Object(error) as { message?: unknown; code?: ErrorCode };
  const type =
    error instanceof TypeError ? "TypeError" : error instanceof RangeError ? "RangeError" : "Error";
  const details: Record<string, unknown> = {};
  for (const name of ["offset", "expected", "found"]) {
    const value = fieldOf(Object(error) as typeof details, name);
    if (code !== undefined && value !== undefined) details[name] = value;
  }
  const origin = origins.get(Object(error));
  return { type, message: String(message ?? error), code, origin, details };
}

/** The error that a message holds, of this realm's classes. */
export function errorOf({ type, message, code, origin, details }: ErrorData): Error {
  const error = new { Error, TypeError, RangeError }[type](message);
  if (origin !== undefined) origins.set(error, origin);
  return code === undefined ? error : Object.assign(error, { code, ...details });
}
