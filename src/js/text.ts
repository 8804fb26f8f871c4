// The binary of a build from the text that scripts/wasm-text.mjs made of it.

import decoder from "./core/decoder.js";

/** What src/text/decoder.cpp exports. */
interface Decoder {
  readonly memory: WebAssembly.Memory;
  /** Where memory is free. */
  readonly __heap_base: WebAssembly.Global<"i32">;
  decode(text: number, streams: number, out: number): void;
}

/** Reads one text. */
export type ReadText = (text: readonly string[]) => ArrayBuffer;

/**
 * What reads a text, ready before there is one. Start-up waits for it, so WebAssembly does the work:
 * JavaScript would be done before an engine had compiled it.
 */
export function openReader(): ReadText {
  const module = new WebAssembly.Module(Uint8Array.from(atob(decoder), (c) => c.charCodeAt(0)));
  const { exports } = new WebAssembly.Instance(module);
  const { memory, __heap_base, decode } = exports as unknown as Decoder;
  return ([size, ...texts]) => {
    const start = __heap_base.value;
    // All characters are ASCII, and a 0 ends each text.
    const out = texts.reduce((at, { length }) => at + length + 1, start);
    const end = out + Number(size);
    memory.grow(Math.max(0, Math.ceil((end - memory.buffer.byteLength) / 65536)));
    const bytes = new Uint8Array(memory.buffer);
    const encoder = new TextEncoder();
    let at = start;
    for (const text of texts) at += encoder.encodeInto(text, bytes.subarray(at)).written + 1;
    decode(start, texts.length / 2, out);
    return bytes.slice(out, end).buffer;
  };
}
