// Loads a build of the core: obtains its binary, compiles it, starts it and checks known results.

import { wrongKind } from "../base/check.js";
import { rangeError, stateError, typeError, type ZeropointError } from "../base/errors.js";
import { kindOf, show } from "../base/format-value.js";
import type { PlatformResponse, PlatformURL, WasmModule } from "../base/platform.js";
import version from "../wasm/version.js";
import { type CoreModule, instantiate } from "./bindings.js";
import { type Binary, type BinaryName, type Build, buildOf, isShared, nameOf } from "./builds.js";
import { Core } from "./core.js";
import type { Embedded } from "./embedded.js";
import {
  askEngine,
  chooseBuilds,
  examineEngine,
  loweringOfDot,
  unsupported,
  whyNot,
  whyNotShared,
} from "./features.js";
import { chooseKernels, type DotFunctions, type Kernels, timeDots } from "./kernels.js";
import { Memory } from "./memory.js";
import { computesKnownValues, troubleWithThreads } from "./prove.js";
import { startWorkers, type ThreadsModule, type Workers } from "./threads/threads.js";

/**
 * A source of the core's binary: an address, a `Response`, its bytes, or a compiled module.
 */
export type WasmSource =
  | string
  | PlatformURL
  | PlatformResponse
  | ArrayBuffer
  | ArrayBufferView
  | WasmModule;

/**
 * The type of `options.wasm`: a source, a promise of a source, or a function from a file's name, such as
 * `"relaxed.wasm"`, to either, so that the library chooses the build for the engine.
 */
export type WasmOption =
  | WasmSource
  | PromiseLike<WasmSource>
  | ((file: `${BinaryName}.wasm`) => WasmSource | PromiseLike<WasmSource>);

/**
 * Compiles bytes, on this thread if the engine permits it: in a page the answer of another thread takes
 * longer than the compilation. Older Chromium permits only tiny modules on its main thread.
 */
async function compileBytes(given: Uint8Array): Promise<WasmModule> {
  // Never shared memory, as the newer types of TypeScript would have it said.
  const bytes = given as BufferSource;
  try {
    return new WebAssembly.Module(bytes);
  } catch {
    return await WebAssembly.compile(bytes);
  }
}

interface NodeFiles {
  readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
}

/** Node's file system, since Node's fetch does not read files. */
function nodeFiles(): NodeFiles | undefined {
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (name: string) => NodeFiles };
  };
  return process?.getBuiltinModule?.("node:fs/promises");
}

/** The ids of WebAssembly's sections of functions and of their code. */
const FUNCTIONS = 3;
const CODE = 10;

/**
 * The end of a binary's last section by its stated length; beyond the bytes if they are truncated, between
 * sections too as long as the code is missing.
 */
function endOf(bytes: Uint8Array): number {
  let at = 8;
  let lacksCode = false;
  while (at < bytes.length) {
    const id = bytes[at];
    if (id === FUNCTIONS) lacksCode = true;
    if (id === CODE) lacksCode = false;
    let size = 0;
    let shift = 1;
    let byte: number;
    do {
      byte = bytes[++at] ?? 0;
      size += (byte & 127) * shift;
      shift *= 128;
    } while (byte > 127);
    at += 1 + size;
  }
  return lacksCode ? Math.max(at, bytes.length + 1) : at;
}

/** Compiles bytes from the user. Detects an HTML page in the place of a missing file, and a truncated file. */
async function compileGiven(
  from: string,
  given: ArrayBuffer | ArrayBufferView<ArrayBuffer>,
): Promise<WasmModule> {
  // As a Uint8Array: engines refuse a DataView.
  const bytes = ArrayBuffer.isView(given)
    ? new Uint8Array(given.buffer, given.byteOffset, given.byteLength)
    : new Uint8Array(given);
  const text = new TextDecoder().decode(bytes.subarray(0, 80));
  if (!text.startsWith("\0asm")) {
    throw new Error(`${from} begins with ${show(text)}, not as WebAssembly does`);
  }
  const end = endOf(bytes);
  if (end > bytes.length) {
    throw new Error(`${from} ends early: it has ${bytes.length} of at least ${end} bytes`);
  }
  return await WebAssembly.compile(bytes);
}

async function compileAt(address: string): Promise<WasmModule> {
  const files = /^file:/i.test(address) ? nodeFiles() : undefined;
  if (files) return compileGiven(address, await files.readFile(new URL(address)));
  let response: Response;
  try {
    response = await fetch(address, { credentials: "same-origin" });
  } catch (cause) {
    throw new Error(`${address}: ${(cause as Error).message}`, { cause });
  }
  return compileResponse(response);
}

async function compileResponse(response: Response): Promise<WasmModule> {
  const from = response.url || "the server";
  if (!response.ok) throw new Error(`${from} answers ${response.status}`);
  return compileGiven(from, await response.arrayBuffer());
}

/**
 * Checks the source in `options.wasm`, or the result of its function for a file.
 * @throws {TypeError} `ZP_INVALID_OPTION`
 */
export function checkSource(where: string, source: unknown, file?: string): WasmSource {
  const isKnown =
    typeof source === "string" ||
    ArrayBuffer.isView(source) ||
    ["URL", "Response", "ArrayBuffer", "WebAssembly.Module"].includes(kindOf(source));
  if (isKnown) return source as WasmSource;
  throw wrongKind(
    "ZP_INVALID_OPTION",
    where,
    file ? `options.wasm("${file}")` : "options.wasm",
    "a URL, a Response, bytes, a WebAssembly.Module, a promise of one of these" +
      (file ? "" : ", or a function that returns one"),
    source,
  );
}

/** Checks `options.wasm`; a source that a function or a promise gives is checked when it is there. */
export function checkWasm(where: string, wasm: unknown): WasmOption | undefined {
  const isLater = wasm === undefined || typeof wasm === "function" || isPromise(wasm);
  return isLater ? (wasm as WasmOption | undefined) : checkSource(where, wasm);
}

const isPromise = (value: unknown): boolean =>
  typeof (value as PromiseLike<unknown> | null)?.then === "function";

/** Compiles a source from the user. @throws {Error} errors of reading and compiling, unchanged */
export function compileSource(source: WasmSource): Promise<WasmModule> {
  switch (kindOf(source)) {
    case "WebAssembly.Module":
      return Promise.resolve(source as WasmModule);
    case "Response":
      return compileResponse(source as Response);
    case "String":
    case "URL":
      return compileAt(String(source));
    default:
      return compileGiven("it", source as ArrayBuffer);
  }
}

/** The custom section that scripts/build/embed.mjs adds. */
const SECTION = "zeropoint";

const NAMES: readonly string[] = ["baseline", "relaxed", "baseline-threads", "relaxed-threads"];

/**
 * The build in a compiled module.
 * @throws {RangeError} `ZP_BUILD_UNAVAILABLE` if it is no build of this version
 */
function buildIn(where: string, module: WasmModule): BinaryName {
  const [section] = WebAssembly.Module.customSections(module, SECTION);
  const text = section === undefined ? "" : String.fromCharCode(...new Uint8Array(section));
  const [ofVersion, name = ""] = text.split(" ");
  if (NAMES.includes(name) && ofVersion === version) return name as BinaryName;
  throw rangeError(
    "ZP_BUILD_UNAVAILABLE",
    where,
    text === ""
      ? "options.wasm is not zeropoint's core"
      : `options.wasm is the core of zeropoint ${show(text)}, this is ${version}`,
  );
}

/** The error for a core that could not be loaded. @param hint  a possible explanation */
export function loadFailed(where: string, what: string, cause: unknown, hint = ""): ZeropointError {
  const reason = (cause instanceof Error ? cause.message : String(cause)) + hint;
  return stateError("ZP_LOAD_FAILED", where, `${what} could not be loaded: ${reason}`, cause);
}

/** Options of `init` after their checks. */
export interface Request {
  readonly build: "auto" | Build;
  readonly threads: number | undefined;
  readonly wasm: WasmOption | undefined;
}

type WasmFunction = (file: `${BinaryName}.wasm`) => unknown;

/**
 * Waits one microtask, after which bundlers that delay `import()` have sent its request. Otherwise the
 * request would wait for the work of this thread.
 */
const requestSent = (): Promise<void> => Promise.resolve();

/** Compiles a build: the binary in the package, or the result of the user's function. */
async function compileBuild(
  where: string,
  embedded: Embedded | undefined,
  name: BinaryName,
  wasm: WasmFunction | undefined,
): Promise<Binary> {
  let module: WasmModule;
  try {
    module = await (wasm === undefined
      ? compileEmbedded(embedded as Embedded, name)
      : compileFrom(where, wasm(`${name}.wasm`), `${name}.wasm`));
  } catch (cause) {
    throw notCompiled(where, `the "${buildOf(name)}" build`, cause, wasm);
  }
  if (wasm === undefined) return { name, module };
  const given = buildIn(where, module);
  if (given === name) return { name, module };
  throw rangeError(
    "ZP_BUILD_UNAVAILABLE",
    where,
    `options.wasm gave "${given}" for "${name}.wasm"`,
  );
}

async function compileEmbedded(embedded: Embedded, name: BinaryName): Promise<WasmModule> {
  const bytes = embedded[name]();
  await requestSent();
  return await compileBytes(await bytes);
}

/**
 * Compiles a source, immediately unless it is a promise.
 * @param file  the file name passed to the user's function
 */
async function compileFrom(where: string, source: unknown, file?: string): Promise<WasmModule> {
  return await compileSource(checkSource(where, isPromise(source) ? await source : source, file));
}

const FORBIDDEN =
  "WebAssembly is forbidden here: a page's Content-Security-Policy needs script-src " +
  "'wasm-unsafe-eval'; where modules must be imported, as in Cloudflare Workers, zeropoint/slim " +
  "takes one by init({ wasm })";

/** Whether the engine refuses to compile any binary, by a policy of the page or of the host. */
function isForbidden(cause: unknown): boolean {
  const message = String((cause as { message?: unknown } | null)?.message);
  return /disallowed|unsafe-eval|blocked by CSP|Content.Security.Policy/i.test(message);
}

/** The error for a binary that was not compiled. A user's binary may need unsupported instructions. */
function notCompiled(where: string, what: string, cause: unknown, wasm: unknown): unknown {
  if ((cause as { code?: unknown } | null)?.code === "ZP_INVALID_OPTION") return cause;
  const isRefused = wasm !== undefined && cause instanceof WebAssembly.CompileError;
  const why = isRefused && whyNot(askEngine(), "relaxed");
  const forbidden = isForbidden(cause) ? FORBIDDEN : undefined;
  const hint = forbidden ?? why;
  return loadFailed(where, what, cause, hint ? `; ${hint}` : "");
}

/** Compiles a user's binary and detects its build. @throws {Error} `ZP_LOAD_FAILED` */
export async function compileOption(where: string, wasm: unknown): Promise<Binary> {
  let module: WasmModule;
  try {
    module = await compileFrom(where, wasm);
  } catch (cause) {
    throw notCompiled(where, "the binary in options.wasm", cause, wasm);
  }
  return { name: buildIn(where, module), module };
}

/**
 * Sets the kernels of quantized layers, before any weight is packed for them: the faster kernels of the
 * relaxed build, unless the request names that build.
 */
function setKernels(bindings: CoreModule, build: Build, request: Request): Kernels | undefined {
  if (build === "baseline") return undefined;
  if (request.build !== "auto") return "relaxed";
  const dots = bindings as CoreModule & DotFunctions;
  const kernels = chooseKernels(loweringOfDot(), () => timeDots(dots.runDots));
  dots.setLayerKernels(kernels);
  return kernels;
}

/** Starts a compiled build, with workers unless a reason against them is given. */
async function startCore(
  where: string,
  request: Request,
  binary: Binary,
  threads: number,
  reason: string | undefined,
): Promise<Core> {
  const { name, module } = binary;
  const build = buildOf(name);
  let core: Core;
  let isCorrect: boolean;
  let trouble: unknown;
  try {
    const { bindings, shared } = await instantiate(module);
    const kernels = setKernels(bindings, build, request);
    const memory = new Memory(bindings);
    let workers: Workers | undefined;
    if (shared !== undefined && threads > 1 && reason === undefined) {
      const withThreads = bindings as unknown as ThreadsModule;
      workers = await startWorkers(withThreads, { module, memory: shared }, threads - 1);
      const { end, staging } = workers;
      memory.staging = staging;
      Object.assign(withThreads, {
        // A lost worker may still write: its target blocks are never used again.
        workerLost: () => {
          memory.abandon();
          end();
        },
      });
    }
    core = new Core({
      module: bindings,
      memory,
      build,
      workers,
      wantedThreads: threads,
      reason,
      kernels,
    });
    isCorrect = computesKnownValues(core);
    if (isCorrect) trouble = troubleWithThreads(core);
  } catch (cause) {
    throw loadFailed(where, `the "${build}" build`, cause);
  }
  if (isCorrect && trouble === undefined) return core;
  core.dispose();
  // A new instance, since the state of this one is undefined.
  if (isCorrect)
    return startCore(where, request, binary, threads, `threads do not work here: ${trouble}`);
  throw unsupported(where, `the "${build}" build computes wrong values on this engine`);
}

/**
 * Loads the build for a request.
 * @throws {Error} `ZP_UNSUPPORTED_ENGINE` if the engine lacks a feature of the build, or has it and
 *   computes wrongly; `ZP_LOAD_FAILED`
 * @throws {RangeError} `ZP_BUILD_UNAVAILABLE` if `wasm` is not the build
 */
export async function loadBuild(
  where: string,
  embedded: Embedded | undefined,
  request: Request,
): Promise<Core> {
  const { wasm, threads = 1 } = request;
  let reason = threads > 1 ? whyNotShared() : undefined;
  if (wasm !== undefined && typeof wasm !== "function") {
    chooseBuilds(where, request.build);
    const compiled = await compileOption(where, wasm);
    const build = buildOf(compiled.name);
    if (request.build !== "auto" && request.build !== build) {
      throw rangeError(
        "ZP_BUILD_UNAVAILABLE",
        where,
        `options.build is "${request.build}", and options.wasm is "${build}"`,
      );
    }
    chooseBuilds(where, build);
    if (threads > 1 && !isShared(compiled.name)) {
      reason ??= `options.wasm is "${compiled.name}", which has no threads`;
    }
    return await startCore(where, request, compiled, threads, reason);
  }

  const compile = (build: Build): Promise<Binary> => {
    const name = nameOf(build, threads > 1 && reason === undefined);
    return compileBuild(where, embedded, name, wasm as WasmFunction | undefined);
  };
  // Loads the likely build while the engine is checked.
  const said = askEngine();
  const [likely] = chooseBuilds(where, request.build, said);
  const first = compile(likely);
  first.catch(() => undefined);
  await requestSent();
  // The relaxed dot is not checked for a baseline build.
  const engine = likely === "baseline" ? said : examineEngine(said);
  let failure: unknown;
  for (const build of chooseBuilds(where, request.build, engine)) {
    const compiled = await (build === likely ? first : compile(build));
    try {
      return await startCore(where, request, compiled, threads, reason);
    } catch (error) {
      // A build that computes wrongly is replaced by the next one; other errors would occur with that, too.
      if ((error as { code?: unknown }).code !== "ZP_UNSUPPORTED_ENGINE") throw error;
      failure = error;
    }
  }
  throw failure;
}

/** Refuses a missing `options.wasm`. @throws {TypeError} `ZP_INVALID_OPTION` */
export function checkHasWasm(where: string, wasm: unknown): void {
  if (wasm !== undefined) return;
  throw typeError(
    "ZP_INVALID_OPTION",
    where,
    "options.wasm is needed, for zeropoint/slim brings no binary of its own",
  );
}
