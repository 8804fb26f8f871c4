// A binary as text, and back: what the builds do not show, with binaries made here.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openReader } from "../../dist/text.js";
import { leb128, normalized, toText } from "../../scripts/wasm-text.mjs";
import { sameDeep } from "./support.mjs";

const I32 = 0x7f;
const F64 = 0x7c;
const END = 0x0b;
const get = (local) => [0x20, ...leb128(local)];
const set = (local) => [0x21, ...leb128(local)];
const tee = (local) => [0x22, ...leb128(local)];
const add = 0x6a;

const list = (items) => [...leb128(items.length), ...items.flat()];
const withSize = (bytes) => [...leb128(bytes.length), ...bytes];
const section = (id, content) => [id, ...withSize(content)];

/** A module with functions `{ parameters, locals, code }` of i32 that give an i32, and some data. */
function moduleOf(functions) {
  const types = functions.map(({ parameters }) => [
    0x60,
    ...list(Array(parameters).fill([I32])),
    ...list([[I32]]),
  ]);
  const names = functions.map((_, i) => [...withSize([...Buffer.from(`f${i}`)]), 0, i]);
  const bodies = functions.map(({ locals = [], code }) =>
    withSize([...list(locals.map(([count, type]) => [...leb128(count), type])), ...code, END]),
  );
  return Buffer.from([
    ...Buffer.from("\0asm"),
    ...[1, 0, 0, 0],
    ...section(1, list(types)),
    ...section(3, list(functions.map((_, i) => [i]))),
    ...section(7, list(names)),
    ...section(10, list(bodies)),
    ...section(0, [...withSize([...Buffer.from("tail")]), ...Buffer.from("what comes last")]),
  ]);
}

const run = (binary, name, ...parameters) =>
  new WebAssembly.Instance(new WebAssembly.Module(binary)).exports[name](...parameters);

/** Goes through text and back, which must give what was normalized. */
function read(binary) {
  const back = Buffer.from(openReader()(toText(binary)));
  sameDeep(new Uint8Array(back), new Uint8Array(binary));
  return back;
}

/** Sums all parameters and constants that it puts into locals, in an order that is not theirs. */
function sums(parameters, count) {
  const order = Array.from({ length: count }, (_, i) => parameters + ((i * 7919) % count));
  return {
    parameters,
    locals: [
      [count, I32],
      [300, F64],
    ],
    code: [
      ...order.flatMap((local, i) => [0x41, ...leb128(i % 64), ...set(local)]),
      ...[0x41, 0],
      ...order.flatMap((local) => [...get(local), add]),
      ...Array.from({ length: parameters }, (_, i) => [...get(i), add]).flat(),
      ...get(parameters + count + 299),
      0xaa, // to i32
      add,
    ],
  };
}

describe("a binary as text", () => {
  it("comes back from functions with none, some and hundreds of locals of a type", () => {
    const binary = normalized(
      moduleOf([{ parameters: 0, code: [0x41, 7] }, sums(0, 1), sums(3, 127), sums(2, 500)]),
    );
    const back = read(binary);
    const expected = (count) => Array.from({ length: count }, (_, i) => i % 64);
    const total = (values) => values.reduce((sum, value) => sum + value, 0);
    assert.equal(run(back, "f0"), 7);
    assert.equal(run(back, "f1"), 0);
    assert.equal(run(back, "f2", 1000, 200, 30), 1230 + total(expected(127)));
    assert.equal(run(back, "f3", 1000, 200), 1200 + total(expected(500)));
  });

  it("is the same for functions that differ in the numbers of their locals alone", () => {
    const swap = (a, b) => ({
      parameters: 1,
      locals: [[2, I32]],
      code: [...get(0), ...tee(a), ...set(b), ...get(a), ...get(b), add],
    });
    const [one, other] = [swap(1, 2), swap(2, 1)].map((code) => normalized(moduleOf([code])));
    sameDeep(new Uint8Array(one), new Uint8Array(other));
    assert.equal(run(read(one), "f0", 21), 42);
  });

  it("holds no sizes of functions, however many bytes they take", () => {
    const long = (length) => ({ parameters: 0, code: [...Array(length).fill(0x01), 0x41, 7] });
    const binary = normalized(moduleOf([100, 127, 128, 20000].map(long)));
    const back = read(binary);
    for (const name of ["f0", "f1", "f2", "f3"]) assert.equal(run(back, name), 7);
  });

  it("is refused where a binary is not understood, or was not normalized", () => {
    const cut = moduleOf([sums(1, 3)]).subarray(0, 60);
    assert.throws(() => normalized(cut), /ends in the middle/);
    const backwards = { parameters: 1, locals: [[2, I32]], code: [...get(0), ...tee(2)] };
    assert.throws(() => toText(moduleOf([backwards])), /not in the order of their use/);
    assert.throws(() => toText(moduleOf([sums(1, 3)])), /more locals than can be told apart/);
    assert.throws(() => normalized(moduleOf([]).subarray(0, 8)), /no code/);
    const grouped = moduleOf([sums(1, 3)]);
    grouped[grouped.indexOf(0x60)] = 0x4e; // a group of types
    assert.throws(() => normalized(grouped), /a type of the binary is not understood/);
  });
});
