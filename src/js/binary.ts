// The core's binary: from text, or from wherever a user says, to a compiled module that says what it is.

import version from "./core/version.js";
import { rangeError, stateError, typeError, type ZeropointError } from "./errors.js";
import type { PlatformResponse, PlatformURL, WasmModule } from "./platform.js";
import { show } from "./show.js";

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

// ---- The binary as text

/** The characters that need no escape in a string, in the order of scripts/wasm-text.mjs. */
const ALPHABET = Array.from({ length: 95 }, (_, i) => 32 + i).filter((c) => c !== 34 && c !== 92);
/** Where a word goes on in another stream it has this much more than the stream's number. */
const STREAM = 256;

/** A stream of a text, and where it stands. */
interface Stream {
  readonly text: string;
  /**
   * Where the word of a character begins in `words`, by its code, or 0 if the next character
   * belongs to it; then by 128 times the code of the first and that of the second one.
   */
  readonly starts: Uint32Array;
  at: number;
}

/** Adds a dictionary's words, each its length and its parts: bytes, and streams in which it goes on. */
function streamOf(dictionary: string, text: string, words: number[]): Stream {
  const own = dictionary.split(" ");
  const size = ALPHABET.length;
  const prefixes = Math.max(0, Math.ceil((own.length - size) / (size - 1)));
  const starts = new Uint32Array(128 * 128);
  for (const [place, word] of own.entries()) {
    const pair = place + prefixes - size;
    const code =
      pair < 0
        ? ALPHABET[prefixes + place]
        : 128 * (ALPHABET[Math.floor(pair / size)] as number) + (ALPHABET[pair % size] as number);
    const parts = word.match(/[g-z]|../g) ?? [];
    starts[code as number] = words.length;
    words.push(parts.length);
    for (const part of parts) {
      words.push(part.length === 1 ? STREAM + part.charCodeAt(0) - 103 : Number.parseInt(part, 16));
    }
  }
  return { text, starts, at: 0 };
}

/** Where the stream's next word begins. */
function nextWord(stream: Stream): number {
  const { text, starts } = stream;
  const code = text.charCodeAt(stream.at++);
  return starts[code] || starts[128 * code + text.charCodeAt(stream.at++)];
}

/**
 * The binary that scripts/wasm-text.mjs made a text of. Start-up waits for this: it is one loop, and
 * simple, because it runs before an engine has compiled it.
 */
function fromText([size, ...texts]: readonly string[]): Uint8Array<ArrayBuffer> {
  const list = [0];
  const streams = Array.from({ length: texts.length / 2 }, (_, i) =>
    streamOf(texts[2 * i] as string, texts[2 * i + 1] as string, list),
  );
  const words = Uint16Array.from(list);
  const [{ text, starts }, raw] = streams as [Stream, Stream];
  const bytes = new Uint8Array(Number(size));
  let at = 0;
  for (let length = 0; length < bytes.length; ) {
    const code = text.charCodeAt(at++);
    const word = starts[code] || starts[128 * code + text.charCodeAt(at++)];
    const end = word + words[word];
    for (let i = word + 1; i <= end; i++) {
      const part = words[i];
      if (part < STREAM) {
        bytes[length++] = part;
        continue;
      }
      const other = nextWord(streams[part - STREAM] as Stream);
      const last = other + words[other];
      for (let j = other + 1; j <= last; j++) {
        bytes[length++] = words[j] < STREAM ? words[j] : words[nextWord(raw) + 1];
      }
    }
  }
  return bytes;
}

/** Compiles the binary of a chunk. */
export function compileText(text: readonly string[]): Promise<WasmModule> {
  return WebAssembly.compile(fromText(text));
}

// ---- The binary from elsewhere

/** Knows objects of another realm, too. */
const kindOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1);

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

const isFile = (address: string): boolean => /^file:/i.test(address);

async function compileAt(address: string): Promise<WasmModule> {
  const files = isFile(address) ? nodeFiles() : undefined;
  if (files) return WebAssembly.compile(await files.readFile(new URL(address)));
  return compileResponse(await fetch(address, { credentials: "same-origin" }));
}

/** Compiles while it downloads where the server says what it sends; engines insist on that. */
async function compileResponse(response: Response): Promise<WasmModule> {
  if (!response.ok) throw new Error(`${response.url || "the server"} answers ${response.status}`);
  const type = response.headers.get("content-type") ?? "";
  if (type.toLowerCase() === "application/wasm" && "compileStreaming" in WebAssembly) {
    return WebAssembly.compileStreaming(response);
  }
  return WebAssembly.compile(await response.arrayBuffer());
}

/** @throws {TypeError} `ZP_INVALID_OPTION` */
export function checkSource(where: string, source: unknown): WasmSource {
  const isKnown =
    typeof source === "string" ||
    ArrayBuffer.isView(source) ||
    ["URL", "Response", "ArrayBuffer", "WebAssembly.Module"].includes(kindOf(source));
  if (isKnown) return source as WasmSource;
  throw typeError(
    "ZP_INVALID_OPTION",
    `${where}: options.wasm must be a URL, a Response, bytes, a WebAssembly.Module, a promise of one ` +
      `of these, or a function that returns one, got ${show(source)}`,
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
      return WebAssembly.compile(source as ArrayBuffer);
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
    text === ""
      ? `${where}: options.wasm is not zeropoint's core`
      : `${where}: options.wasm is the core of zeropoint ${show(text)}, this is ${version}`,
  );
}

/** Something went wrong on the way to a running core. */
export function loadFailed(where: string, what: string, cause: unknown): ZeropointError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return stateError("ZP_LOAD_FAILED", `${where}: ${what} could not be loaded: ${reason}`, cause);
}
