// The asynchronous functions as far as they are there from the beginning: their options, and how a call
// is stopped. What they do is loaded with the first call.

import { loadFailed } from "../binary.js";
import { checkOptions, wrongKind } from "../check.js";
import type { Core } from "../core.js";
import { disposed } from "../errors.js";
import type { Procedure } from "../work.js";
import type { Executors } from "./executors.js";
import type { Job } from "./job.js";

/** How far an asynchronous function has come. */
export interface Progress {
  /** How much is done, in units of the function's own; 0 < done <= total. */
  readonly done: number;
  /** How much there is to do. */
  readonly total: number;
  /** Whether a worker does it. If not, this thread does, pausing after every piece. */
  readonly offThread: boolean;
  /** Why no worker does it; undefined if one does. */
  readonly reason: string | undefined;
}

/** An `AbortSignal`, as far as it matters here. */
export interface AbortSignalLike {
  /** Whether it has been aborted. */
  readonly aborted: boolean;
  /** Why. Default: an AbortError. */
  readonly reason?: unknown;
  /** As of every event target. */
  addEventListener(type: "abort", listener: () => void): void;
  /** As of every event target. */
  removeEventListener(type: "abort", listener: () => void): void;
}

/** What every asynchronous function takes beside its other options. */
export interface AsyncOptions {
  /** An `AbortSignal`. Stops the work: the promise is rejected with the signal's reason. */
  signal?: AbortSignalLike | undefined;
  /** Called after every piece of the work. What it throws stops the work and rejects the promise. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** The names of `AsyncOptions`. */
export const ASYNC_OPTIONS = ["signal", "onProgress"] as const;

/** `AsyncOptions` after their checks. */
export interface AsyncSettings {
  readonly signal: AbortSignalLike | undefined;
  readonly onProgress: ((progress: Progress) => void) | undefined;
}

/** Checks `AsyncOptions`. */
export function checkAsync(where: string, options: Record<string, unknown>): AsyncSettings {
  const { signal, onProgress } = options;
  const { aborted, addEventListener, removeEventListener } = (signal ??
    {}) as Partial<AbortSignalLike>;
  if (
    signal !== undefined &&
    (typeof aborted !== "boolean" ||
      typeof addEventListener !== "function" ||
      typeof removeEventListener !== "function")
  ) {
    throw wrongKind("ZP_INVALID_OPTION", where, "options.signal", "an AbortSignal", signal);
  }
  if (onProgress !== undefined && typeof onProgress !== "function") {
    throw wrongKind("ZP_INVALID_FUNCTION", where, "options.onProgress", "a function", onProgress);
  }
  return {
    signal: signal as AbortSignalLike | undefined,
    onProgress: onProgress as AsyncSettings["onProgress"],
  };
}

/** Checks options that are `AsyncOptions` and `others`. */
export function checkAsyncOptions(
  where: string,
  options: unknown,
  others: readonly string[] = [],
): { readonly given: Record<string, unknown>; readonly settings: AsyncSettings } {
  const given = checkOptions(where, options, [...others, ...ASYNC_OPTIONS]);
  return { given, settings: checkAsync(where, given) };
}

/** Why a signal aborted; substitutes for AbortSignal may not say. */
function reasonOf(signal: AbortSignalLike | undefined): unknown {
  const { reason } = signal ?? {};
  if (reason !== undefined) return reason;
  return Object.assign(new Error("the operation was aborted"), { name: "AbortError" });
}

/** @throws the signal's reason */
export function throwIfAborted(signal: AbortSignalLike | undefined): void {
  if (signal?.aborted) throw reasonOf(signal);
}

/**
 * Whether a subclass has changed a method, and left it to the class to find an asynchronous form for it:
 * that is then the method itself, on this thread.
 */
export function changes<Name extends "forward" | "observe">(
  own: { readonly [name in Name | `${Name}Async`]: unknown },
  { prototype }: { readonly prototype: typeof own },
  name: Name,
): boolean {
  const asynchronous = `${name}Async` as const;
  return own[name] !== prototype[name] && own[asynchronous] === prototype[asynchronous];
}

/** Does work on this thread, for it is quick. @param name  whose work that is */
export async function runHere<T>(
  name: string,
  { signal, onProgress }: AsyncSettings,
  work: () => T,
): Promise<T> {
  throwIfAborted(signal);
  const result = work();
  const reason = `${name} is quick on the calling thread`;
  onProgress?.({ done: 1, total: 1, offThread: false, reason });
  return result;
}

// ---- Calls

/** How calls are stopped that one thing may end. */
class Stops extends Set<() => void> {
  /** Stops them all; the same function each time, as listeners have to be. */
  readonly stopAll = (): void => {
    for (const stop of this) stop();
  };
}

/** What an instance has under way. */
export class Background {
  /** Who performs tasks, once that is loaded. */
  declare executors: Executors | undefined;
  /** The calls to be told when the instance is disposed. */
  readonly stops = new Stops();

  /** Stops all calls, and ends the worker. */
  end(): void {
    this.stops.stopAll();
    this.executors?.end();
  }
}

/** The calls that a signal stops. They share a listener, for Node warns of more than ten. */
const signals = /* @__PURE__ */ new WeakMap<AbortSignalLike, Stops>();

/** Has a call told when a signal aborts. @returns how it says that it is over */
function onAbort(signal: AbortSignalLike, stop: () => void): () => void {
  const stops = signals.get(signal) ?? new Stops();
  signals.set(signal, stops);
  if (stops.size === 0) signal.addEventListener("abort", stops.stopAll);
  stops.add(stop);
  return () => {
    stops.delete(stop);
    if (stops.size === 0) signal.removeEventListener("abort", stops.stopAll);
  };
}

/** What the asynchronous functions do. */
type Forms = typeof import("./forms.js");

/** Loads what the asynchronous functions do. @throws {Error} `ZP_LOAD_FAILED` */
export async function loadForms(where: string): Promise<Forms> {
  try {
    return await import("./forms.js");
  } catch (cause) {
    throw loadFailed(where, "the asynchronous functions", cause);
  }
}

/**
 * Has all that a procedure asks for, `total` of its units, done on another thread.
 * @param outlives  whether it may go on when the instance is disposed
 */
export async function runAway<T>(
  core: Core,
  where: string,
  settings: AsyncSettings,
  procedure: Procedure<T>,
  total: number,
  outlives = false,
): Promise<T> {
  throwIfAborted(settings.signal);
  const { workAway } = await loadForms(where);
  return await workAway(core, procedure, total, settings, outlives ? undefined : where);
}

/** The name of one that does the work of a call. */
type WorkName = {
  [Name in keyof Forms]: Forms[Name] extends (job: Job, ...given: never) => unknown ? Name : never;
}[keyof Forms];

/** What it takes beside the call's job. */
type GivenTo<Name extends WorkName> = Forms[Name] extends (
  job: Job,
  ...given: infer Given
) => unknown
  ? Given
  : never;

/** What comes of it. */
type OutcomeOf<Name extends WorkName> = Awaited<ReturnType<Forms[Name]>>;

/**
 * Does the work of one call, whose arguments are checked.
 * @param name   which work
 * @param given  what it takes beside its job
 */
export async function runJob<Name extends WorkName>(
  core: Core,
  where: string,
  { signal, onProgress }: AsyncSettings,
  name: Name,
  ...given: GivenTo<Name>
): Promise<OutcomeOf<Name>> {
  throwIfAborted(signal);
  core.background ??= new Background();
  const { background } = core;
  let leave: () => void = () => undefined;
  let end = leave;
  const stopped = new Promise<never>((_, reject) => {
    end = () => reject(disposed(where));
    if (signal !== undefined) leave = onAbort(signal, () => reject(reasonOf(signal)));
    background.stops.add(end);
  });
  stopped.catch(() => undefined);
  try {
    const forms = await Promise.race([loadForms(where), stopped]);
    const settings = { signal, onProgress };
    const work = forms[name] as (job: Job, ...given: unknown[]) => Promise<OutcomeOf<Name>>;
    return await forms.perform(core, background, where, settings, stopped, (job) =>
      work(job, ...given),
    );
  } finally {
    leave();
    background.stops.delete(end);
  }
}
