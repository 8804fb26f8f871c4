// Abort signals, which may come from another realm or be substitutes.

import { wrongKind } from "../base/check.js";

/** An `AbortSignal`, as far as it matters here. */
export interface AbortSignalLike {
  /** Whether it has been aborted. */
  readonly aborted: boolean;
  /** The reason. Default: an AbortError. */
  readonly reason?: unknown;
  /** As of every event target. */
  addEventListener(type: "abort", listener: () => void): void;
  /** As of every event target. */
  removeEventListener(type: "abort", listener: () => void): void;
}

/** A signal, checked. @throws {TypeError} `ZP_INVALID_OPTION` */
export function checkSignal(where: string, signal: unknown): AbortSignalLike | undefined {
  if (signal === undefined) return undefined;
  const { aborted, addEventListener, removeEventListener } = Object(signal) as AbortSignalLike;
  const isSignal =
    typeof aborted === "boolean" &&
    typeof addEventListener === "function" &&
    typeof removeEventListener === "function";
  if (isSignal) return signal as AbortSignalLike;
  throw wrongKind("ZP_INVALID_OPTION", where, "options.signal", "an AbortSignal", signal);
}

/** The reason of an aborted signal; substitutes may lack it. */
export function reasonOf({ reason }: AbortSignalLike): unknown {
  if (reason !== undefined) return reason;
  return Object.assign(new Error("the operation was aborted"), { name: "AbortError" });
}

/** The calls that a signal stops. They share a listener, for Node warns of more than ten. */
const signals = /* @__PURE__ */ new WeakMap<
  AbortSignalLike,
  { readonly stops: Set<() => void>; readonly listener: () => void }
>();

/** Calls `stop` when a signal aborts. @returns a function that removes the listener */
export function onAbort(signal: AbortSignalLike, stop: () => void): () => void {
  let entry = signals.get(signal);
  if (entry === undefined) {
    const stops = new Set<() => void>();
    const listener = (): void => {
      for (const one of [...stops]) one();
    };
    entry = { stops, listener };
    signals.set(signal, entry);
  }
  const { stops, listener } = entry;
  if (stops.size === 0) signal.addEventListener("abort", listener);
  stops.add(stop);
  return () => {
    stops.delete(stop);
    if (stops.size === 0) signal.removeEventListener("abort", listener);
  };
}

/** Settles as a promise does, but rejects with a signal's reason once it is aborted. */
export async function untilAborted<T>(
  signal: AbortSignalLike | undefined,
  promise: Promise<T>,
): Promise<T> {
  if (signal === undefined) return await promise;
  let leave: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    const stop = (): void => reject(reasonOf(signal));
    if (signal.aborted) stop();
    else leave = onAbort(signal, stop);
  });
  promise.catch(() => undefined);
  return await Promise.race([promise, aborted]).finally(leave);
}
