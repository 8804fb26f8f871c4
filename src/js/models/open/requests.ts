// Requests of a server: ended where it stalls, tried again where it asks for that, and bodies within a limit.

import { wrongKind } from "../../base/check.js";
import { rangeError, stateError } from "../../base/errors.js";
import type {
  PlatformAbortSignal,
  PlatformBlob,
  PlatformByteStream,
  PlatformResponse,
} from "../../base/platform.js";
import { arrayName } from "../../base/typed-arrays.js";

/** Limits of what a caller waits for and holds. */
export interface Limits {
  readonly signal: PlatformAbortSignal | undefined;
  /** Milliseconds without a byte after which a server is given up. */
  readonly timeout: number;
  /** Bytes of a file that comes as a whole; undefined: MOST_WHOLE. */
  readonly maxBytes: number | undefined;
}

/** The default of `options.timeout`, in milliseconds. */
export const TIMEOUT = 60_000;

/** Where a caller has no options for limits. */
export const NO_LIMITS: Limits = { signal: undefined, timeout: TIMEOUT, maxBytes: undefined };

/** The most bytes of a file that comes as a whole, where `options.maxBytes` is not given. */
const MOST_WHOLE = 2 ** 32;

/** Times that a request is tried again where a server is busy. */
const MOST_RETRIES = 4;

/** The longest time that a timer of the platform holds, in milliseconds. */
const LONGEST = 2 ** 31 - 1;

/** Waits. @throws the signal's reason once it is aborted */
async function pause(time: number, signal: PlatformAbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stop = (): void => {};
  await new Promise<void>((resolve) => {
    timer = setTimeout(resolve, time);
    stop = resolve;
    signal?.addEventListener("abort", stop);
  });
  clearTimeout(timer);
  signal?.removeEventListener("abort", stop);
  signal?.throwIfAborted();
}

/** Waits for the next bytes of a server. @throws {Error} `ZP_LOAD_FAILED` after `timeout` milliseconds */
export async function inTime<T>(
  where: string,
  address: string,
  timeout: number,
  work: Promise<T>,
): Promise<T> {
  if (timeout > LONGEST) return await work;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const problem = `${address} has sent nothing for ${timeout / 1000} s (options.timeout)`;
      reject(stateError("ZP_LOAD_FAILED", where, problem));
    }, timeout);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    // After a timeout, its failure has been reported.
    work.catch(() => {});
  }
}

/** Milliseconds after which a busy server asks to be tried again; undefined if it does not say. */
function retryAfter({ headers }: Response): number | undefined {
  const text = headers.get("retry-after")?.trim();
  if (text === undefined) return undefined;
  const time = /^\d+$/.test(text) ? 1000 * Number(text) : Date.parse(text) - Date.now();
  return Number.isNaN(time) ? undefined : Math.max(0, time);
}

/**
 * Requests an address and uses the answer. A server that is busy (429, 503) is tried again, after the time that it names
 * or 1, 2, 4 and 8 seconds, up to four times, if none of these times is longer than `timeout`.
 * @param use  what is not read of the answer when it is done is cancelled
 * @throws {Error} `ZP_LOAD_FAILED` if there is no answer
 */
export async function request<T>(
  where: string,
  address: string,
  headers: Record<string, string>,
  { signal, timeout }: Limits,
  use: (response: PlatformResponse) => Promise<T>,
): Promise<T> {
  for (let tries = 0; ; tries++) {
    signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal?.reason);
    signal?.addEventListener("abort", abort);
    const answer = fetch(address, { headers, signal: controller.signal }).catch((cause) => {
      signal?.throwIfAborted();
      throw stateError("ZP_LOAD_FAILED", where, `${address} could not be fetched`, cause);
    });
    let wait: number;
    try {
      const response = await inTime(where, address, timeout, answer);
      wait = retryAfter(response) ?? 1000 * 2 ** tries;
      const isBusy = response.status === 429 || response.status === 503;
      if (!isBusy || tries === MOST_RETRIES || wait > timeout) return await use(response);
    } finally {
      signal?.removeEventListener("abort", abort);
      controller.abort();
    }
    await pause(wait, signal);
  }
}

/** The chunks of a stream. @throws {Error} `ZP_LOAD_FAILED` if it is cut off, or nothing comes for too long */
export async function* chunksOf(
  where: string,
  address: string,
  body: PlatformByteStream | null,
  { signal, timeout }: Limits,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (body === null) return;
  const reader = body.getReader();
  // Without waiting: a stream that has failed refuses to be cancelled.
  const cancel = (): void => void reader.cancel().catch(() => {});
  signal?.addEventListener("abort", cancel);
  try {
    for (;;) {
      const next = reader.read().catch((cause: unknown) => {
        signal?.throwIfAborted();
        throw stateError("ZP_LOAD_FAILED", where, `the body of ${address} was cut off`, cause);
      });
      const { done, value } = await inTime(where, address, timeout, next);
      signal?.throwIfAborted();
      if (done) return;
      yield value;
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
    cancel();
  }
}

/** Bytes of chunks that are handed to the browser at a time, which may hold them on disk. */
const PIECE_BYTES = 2 ** 23;

/**
 * All bytes of a stream, such as Node's; chunks are copied, as they may be memory that comes again.
 * @throws {TypeError} `ZP_INVALID_OPTION` for text and other chunks
 * @throws {RangeError} `ZP_UNSUPPORTED_FILE` beyond `maxBytes`
 */
export async function blobOf(
  where: string,
  stream: AsyncIterable<unknown>,
  { signal, maxBytes = MOST_WHOLE }: Limits,
): Promise<PlatformBlob> {
  const pieces: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let held = 0;
  let size = 0;
  for await (const chunk of stream) {
    signal?.throwIfAborted();
    if (arrayName(chunk) !== "Uint8Array") {
      throw wrongKind("ZP_INVALID_OPTION", where, "each chunk of source", "a Uint8Array", chunk);
    }
    const copy = new Uint8Array(chunk as Uint8Array);
    size += copy.length;
    checkWhole(where, size, maxBytes);
    chunks.push(copy);
    held += copy.length;
    if (held < PIECE_BYTES) continue;
    pieces.push(new Blob(chunks));
    chunks = [];
    held = 0;
  }
  return new Blob([...pieces, ...chunks]);
}

function checkWhole(where: string, size: number, maxBytes: number): void {
  if (size <= maxBytes) return;
  const problem = `a file that comes as a whole is held in memory, and may have at most ${maxBytes} bytes (options.maxBytes)`;
  throw rangeError("ZP_UNSUPPORTED_FILE", where, problem);
}

/** The body of a response. @throws {Error} `ZP_LOAD_FAILED` unless its status is ok */
export async function bodyOf(
  where: string,
  response: PlatformResponse,
  limits: Limits,
): Promise<PlatformBlob> {
  const address = response.url || "the response";
  if (response.ok) {
    const length = Number(response.headers.get("content-length"));
    checkWhole(where, length, limits.maxBytes ?? MOST_WHOLE);
    return await blobOf(where, chunksOf(where, address, response.body, limits), limits);
  }
  await response.body?.cancel();
  const status = `${response.status} ${response.statusText}`.trim();
  throw stateError("ZP_LOAD_FAILED", where, `${address} answers ${status}`);
}
