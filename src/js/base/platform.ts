// The platform's own types, for declarations that hold without the libraries of browsers or Node: a
// type that the reader's project does not know is `never` there.

/** Instances of a class that may exist in a scope. */
type Class<Scope, Name extends string> = Scope extends {
  [K in Name]: { prototype: infer Value };
}
  ? Value
  : never;

/** The scope of WebAssembly's classes. */
type Engine = typeof globalThis extends { WebAssembly: infer Scope } ? Scope : never;

/** `URL`, where the types of a platform have it. */
export type PlatformURL = Class<typeof globalThis, "URL">;
/** `Response`, where the types of a platform have it. */
export type PlatformResponse = Class<typeof globalThis, "Response">;
/** `Blob` (and `File`), where the types of a platform have it. */
export type PlatformBlob = Class<typeof globalThis, "Blob">;
/** `ReadableStream`, where the types of a platform have it. */
export type PlatformStream = Class<typeof globalThis, "ReadableStream">;
// A generic class cannot be inferred with its argument, so it is named. The directive takes the comment's last line, and
// stays in the declarations.
// biome-ignore-start lint/suspicious/noTsIgnore: an error only in projects without the types of a platform
/** `ReadableStream` of bytes, where the types of a platform have it; `any` elsewhere.
 * @ts-ignore */
export type PlatformByteStream = ReadableStream<Uint8Array>;
// biome-ignore-end lint/suspicious/noTsIgnore: see above
/** `AbortSignal`, where the types of a platform have it. */
export type PlatformAbortSignal = Class<typeof globalThis, "AbortSignal">;
/** `WebAssembly.Module`, where the types of a platform have it. */
export type WasmModule = Class<Engine, "Module">;
export type WasmMemory = Class<Engine, "Memory">;
export type WasmInstance = Class<Engine, "Instance">;
