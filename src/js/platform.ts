// The platform's own types, for declarations that hold without the libraries of browsers or Node: a
// type that the reader's project does not know is `never` there.

type Class<Scope, Name extends string> = Scope extends {
  [K in Name]: { prototype: infer Instance };
}
  ? Instance
  : never;

type Engine = typeof globalThis extends { WebAssembly: infer Scope } ? Scope : never;

export type PlatformURL = Class<typeof globalThis, "URL">;
export type PlatformResponse = Class<typeof globalThis, "Response">;
export type WasmModule = Class<Engine, "Module">;
export type WasmMemory = Class<Engine, "Memory">;
export type WasmInstance = Class<Engine, "Instance">;
