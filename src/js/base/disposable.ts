/// <reference lib="esnext.disposable" preserve="true" />

import { define } from "./fields.js";

// `using`: explicit disposal of objects that own memory.

/**
 * Adds `dispose` under `Symbol.dispose` to a class, where the engine has that symbol. A method
 * `[Symbol.dispose]` in the class body would be named "undefined" in engines without it.
 */
export function makeDisposable({ prototype }: { readonly prototype: { dispose(): void } }): void {
  if (typeof Symbol.dispose !== "symbol") return;
  const value = prototype.dispose;
  define(prototype, Symbol.dispose, { value, configurable: true, writable: true });
}
