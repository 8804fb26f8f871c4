// The last argument of a connection's functions: what belongs to the call rather than to the function.

import { checkFunction, wrongKind } from "../base/check.js";
import { NO_OPTIONS, type Options, ownFields } from "../base/fields.js";
import { kindOf } from "../base/format-value.js";
import type { PlatformURL } from "../base/platform.js";
import { type AbortSignalLike, checkSignal } from "./signals.js";

/** A worker, as far as a connection uses it. */
export type WorkerLike = {
  /** Sends a message, and moves memory with it. */
  postMessage(message: unknown, transfer: readonly ArrayBuffer[]): void;
  /** Ends the worker. */
  terminate(): unknown;
} & (
  | {
      /** Listens to a worker of Node. */
      on(type: string, listener: (event: unknown) => void): unknown;
    }
  | {
      /** Listens to a worker of a browser. */
      addEventListener(type: string, listener: (event: unknown) => void): void;
    }
);

/** Address of the worker's script, a function that starts a worker with it, or false for no worker. */
export type WorkerOption = string | PlatformURL | (() => WorkerLike) | false;

/** Progress of a call. */
export interface Progress {
  /** Finished work, in a unit of the call's own; 0 < done <= total, and never less than before. */
  readonly done: number;
  /** All of the work, in that unit. */
  readonly total: number;
}

/** Options of a call on a connection: its last argument, or fields of that argument. */
export interface CallOptions {
  /** An `AbortSignal`. Rejects the promise with the signal's reason, at once. */
  signal?: AbortSignalLike | undefined;
  /** Called as the work goes on. An error that it throws stops the call and rejects the promise. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /**
   * Moves arrays to the worker instead of copying them, which takes no time for any size: `true` for all
   * arrays among the arguments, or a list of arrays. Their memory is detached here: they are empty from
   * then on, as are all other views of the same `ArrayBuffer`.
   */
  transfer?: boolean | readonly (ArrayBufferView | ArrayBuffer)[] | undefined;
}

/** Call options after their checks. */
export interface CallSettings {
  readonly signal: AbortSignalLike | undefined;
  readonly onProgress: ((progress: Progress) => void) | undefined;
  readonly transfer: true | ReadonlySet<unknown>;
}

const NAMES = ["signal", "onProgress", "transfer"] as const;

const isPlain = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** Takes the options of the call out of the last argument, which may hold the function's own as well. */
export function splitOptions(
  where: string,
  given: readonly unknown[],
): { readonly args: readonly unknown[]; readonly settings: CallSettings } {
  const last = given.at(-1);
  if (!isPlain(last) || !NAMES.some((name) => Object.hasOwn(last, name))) {
    return { args: given, settings: checkSettings(where, NO_OPTIONS) };
  }
  const { signal, onProgress, transfer, ...own } = last;
  const args = given.slice(0, -1);
  if (Object.keys(own).length > 0) args.push(own);
  return { args, settings: checkSettings(where, ownFields(last)) };
}

function checkSettings(where: string, options: Options): CallSettings {
  const { signal, onProgress, transfer = [] } = options;
  checkFunction(where, "options.onProgress", onProgress);
  if (typeof transfer !== "boolean" && !Array.isArray(transfer)) {
    const takes = "a boolean or a list of arrays";
    throw wrongKind("ZP_INVALID_OPTION", where, "options.transfer", takes, transfer);
  }
  for (const [i, array] of Array.isArray(transfer) ? (transfer as unknown[]).entries() : []) {
    if (ArrayBuffer.isView(array) || /^(Shared)?ArrayBuffer$/.test(kindOf(array))) continue;
    const takes = "a typed array or its buffer";
    throw wrongKind("ZP_INVALID_OPTION", where, `options.transfer[${i}]`, takes, array);
  }
  return {
    signal: checkSignal(where, signal),
    onProgress: onProgress as CallSettings["onProgress"],
    transfer: transfer === true || new Set(transfer || []),
  };
}
