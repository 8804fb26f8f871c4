// The core's binary: from text, or from wherever a user says, to a compiled module that says what it is.

import { wrongKind } from "./check.js";
import version from "./core/version.js";
import { rangeError, stateError, type ZeropointError } from "./errors.js";
import type { PlatformResponse, PlatformURL, WasmModule } from "./platform.js";
import { kindOf, show } from "./show.js";

/** The file of a build, with shared memory or without. */
export type BinaryName = "baseline" | "relaxed" | "baseline-threads" | "relaxed-threads";

/**
 * Where the core's binary comes from: an address, what `fetch` gave for it, its bytes, or a compiled
 * module.
 */
export type WasmSource =
  | string
  | PlatformURL
  | PlatformResponse
  | ArrayBuffer
  | ArrayBufferView
  | WasmModule;

/**
 * What `options.wasm` takes: a source or a promise of one, or a function from a file's name, such as
 * `"relaxed.wasm"`, to that, so that the library chooses the build that suits the engine.
 */
export type WasmOption =
  | WasmSource
  | PromiseLike<WasmSource>
  | ((file: `${BinaryName}.wasm`) => WasmSource | PromiseLike<WasmSource>);

// ---- Compiling

/**
 * Compiles bytes, on this thread if the engine lets it: in a page another thread takes longer to answer
 * than this one to compile. Older Chromium wants its main thread to leave all but tiny modules alone.
 */
export async function compileBytes(bytes: ArrayBuffer): Promise<WasmModule> {
  try {
    return new WebAssembly.Module(bytes);
  } catch {
    return await WebAssembly.compile(bytes);
  }
}

// ---- The binary from elsewhere

interface NodeFiles {
  readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
}

/** What Node, which does not fetch files, reads them with. */
function nodeFiles(): NodeFiles | undefined {
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (name: string) => NodeFiles };
  };
  return process?.getBuiltinModule?.("node:fs/promises");
}

/**
 * Compiles bytes that somebody gave: often a page in the place of a file that is not there, of which
 * engines say little.
 */
async function compileGiven(
  from: string,
  bytes: ArrayBuffer | ArrayBufferView<ArrayBuffer>,
): Promise<WasmModule> {
  const { buffer, byteOffset, byteLength } = ArrayBuffer.isView(bytes)
    ? bytes
    : new Uint8Array(bytes);
  const start = new Uint8Array(buffer, byteOffset, Math.min(byteLength, 80));
  const text = new TextDecoder().decode(start);
  if (text.startsWith("\0asm")) return WebAssembly.compile(bytes);
  throw new Error(`${from} begins with ${show(text)}, not as WebAssembly does`);
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

/** Compiles while it downloads where the server says what it sends; engines insist on that. */
async function compileResponse(response: Response): Promise<WasmModule> {
  const from = response.url || "the server";
  if (!response.ok) throw new Error(`${from} answers ${response.status}`);
  const type = response.headers.get("content-type") ?? "";
  if (type.toLowerCase() === "application/wasm" && "compileStreaming" in WebAssembly) {
    return WebAssembly.compileStreaming(response);
  }
  return compileGiven(from, await response.arrayBuffer());
}

/**
 * What `options.wasm` is, or what its function gave for a file.
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

/** Compiles what the user gave. @throws {Error} whatever goes wrong on the way, by its own name */
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

// ---- What it is

/** The custom section that scripts/embed.mjs adds. */
const SECTION = "zeropoint";
const NAMES: readonly string[] = ["baseline", "relaxed", "baseline-threads", "relaxed-threads"];

/**
 * The build in a compiled module.
 * @throws {RangeError} `ZP_BUILD_UNAVAILABLE` if it is none of this version's
 */
export function buildIn(where: string, module: WasmModule): BinaryName {
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

/** Something went wrong on the way to a running core. @param hint  what may explain the cause */
export function loadFailed(where: string, what: string, cause: unknown, hint = ""): ZeropointError {
  const reason = (cause instanceof Error ? cause.message : String(cause)) + hint;
  return stateError("ZP_LOAD_FAILED", where, `${what} could not be loaded: ${reason}`, cause);
}
