/// <reference lib="esnext.disposable" preserve="true" />

// `using`: objects that own memory, where the engine knows how to end them.

/**
 * Gives a class its `dispose` under `Symbol.dispose`, too, where the engine has that. A method of this
 * name in the class itself would be called "undefined" where it has not.
 */
export function makeDisposable({ prototype }: { readonly prototype: { dispose(): void } }): void {
  if (typeof Symbol.dispose !== "symbol") return;
  const value = prototype.dispose;
  Object.defineProperty(prototype, Symbol.dispose, { value, configurable: true, writable: true });
}
