import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { instantiate } from "../../internal/core.mjs";

const I32 = 0x7f;
const FUNCTION = 0x60;
const [AS_FUNCTION, AS_TABLE, AS_MEMORY] = [0, 1, 2];
const text = (value) => [value.length, ...new TextEncoder().encode(value)];
const section = (id, ...bytes) => [id, bytes.length, ...bytes];
const constant = (value) => [0x41, value];

/** A core whose constructors register the function "odd", which returns a type that was never registered. */
const odd = new WebAssembly.Module(
  Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, 2, FUNCTION, 8, ...Array(8).fill(I32), 0, FUNCTION, 0, 0),
    ...section(2, 1, ...text("env"), ...text("_embind_register_function"), AS_FUNCTION, 0),
    ...section(3, 1, 1),
    ...section(4, 1, 0x70, 0, 1),
    ...section(5, 1, 0, 1),
    ...section(
      7,
      3,
      ...[...text("memory"), AS_MEMORY, 0],
      ...[...text("__indirect_function_table"), AS_TABLE, 0],
      ...[...text("__wasm_call_ctors"), AS_FUNCTION, 1],
    ),
    // name, count, types, and five that are not used.
    ...section(10, 1, 20, 0, ...[16, 1, 32, 0, 0, 0, 0, 0].flatMap(constant), 0x10, 0, 0x0b),
    ...section(
      11,
      2,
      ...[0, ...constant(16), 0x0b, 4, ...new TextEncoder().encode("odd\0")],
      ...[0, ...constant(32), 0x0b, 4, 48, 0, 0, 0],
    ),
  ]),
);

describe("A core's functions", () => {
  it("are refused if a type of theirs is not registered, since its values would become 0", async () => {
    await assert.rejects(instantiate(odd), /odd is registered before one of its types/);
  });
});
