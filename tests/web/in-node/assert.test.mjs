// The browser's replacement of node:assert/strict gives Node's verdicts, for all pairs of values.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import standIn from "../in-browser/node-assert.js";

const circle = () => {
  const object = { name: "circle" };
  object.self = object;
  return object;
};
const withKey = (value, key, content) => Object.assign(value, { [key]: content });
class Custom {
  constructor(value) {
    this.value = value;
  }
}

/** Values of every kind that tests compare, created again on every call. */
const VALUES = [
  ...[() => undefined, () => null, () => true, () => false, () => 0, () => -0, () => 1],
  ...[() => Number.NaN, () => Number.POSITIVE_INFINITY, () => "", () => "0", () => "1", () => 1n],
  ...[() => 0n, () => Symbol.iterator, () => Math.max, () => [], () => [1], () => [1, 2]],
  ...[() => ["1"], () => [[1], [2]], () => [[1], [3]], () => [-0], () => [0], () => [Number.NaN]],
  () => [undefined],
  () => new Array(1),
  () => withKey([1], "extra", 1),
  ...[() => ({}), () => ({ a: 1 }), () => ({ a: 1, b: 2 }), () => ({ b: 2, a: 1 })],
  ...[() => ({ a: undefined }), () => ({ b: undefined }), () => ({ a: { b: [1, { c: 2 }] } })],
  () => ({ a: { b: [1, { c: 3 }] } }),
  ...[() => Object.create(null), () => Object.assign(Object.create(null), { a: 1 })],
  ...[() => new Custom(1), () => new Custom(2), () => ({ value: 1 })],
  () => ({ [Symbol.for("key")]: 1 }),
  () => Object.defineProperty({}, "hidden", { value: 1 }),
  ...[() => new Map(), () => new Map([["a", 1]]), () => new Map([["a", 2]])],
  ...[() => new Map([[{ a: 1 }, { b: 2 }]]), () => new Map([[{ a: 1 }, { b: 3 }]])],
  ...[() => new Set(), () => new Set([1, 2]), () => new Set([2, 1]), () => new Set([1, 3])],
  ...[() => new Set([{ a: 1 }, { a: 2 }]), () => new Set([{ a: 2 }, { a: 1 }])],
  ...[() => new Date(0), () => new Date(1), () => /a/, () => /a/g, () => /b/],
  ...[() => new Error("a"), () => new Error("b"), () => new TypeError("a")],
  () => withKey(new Error("a"), "code", "ZP"),
  () => new Error("a", { cause: 1 }),
  ...[() => new Number(1), () => new Number(2), () => new String("1"), () => new Boolean(true)],
  ...[() => new ArrayBuffer(2), () => Uint8Array.of(1, 2).buffer, () => new SharedArrayBuffer(2)],
  ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array].flatMap(
    (type) => [() => new type(0), () => type.of(1), () => type.of(1, 2)],
  ),
  ...[Float32Array, Float64Array].flatMap((type) => [
    () => type.of(0),
    () => type.of(-0),
    () => type.of(Number.NaN),
    () => type.of(1, 2),
    () => withKey(type.of(1, 2), "extra", 1),
  ]),
  ...[() => BigInt64Array.of(1n), () => new DataView(new ArrayBuffer(2))],
  ...[() => circle(), () => [circle()]],
];

/** Whether an assertion passes, or the kind of error it throws. */
async function verdict(work) {
  try {
    await work();
    return "passes";
  } catch (error) {
    return error?.code === "ERR_ASSERTION" ? "fails" : `throws ${error?.name ?? error}`;
  }
}

async function compare(name, ...parameters) {
  const [node, ours] = await Promise.all(
    [assert, standIn].map((library) => verdict(() => library[name](...parameters))),
  );
  return node === ours ? [] : [{ name, parameters, node, ours }];
}

describe("The stand-in for node:assert/strict", () => {
  for (const name of ["equal", "notEqual", "deepEqual", "notDeepEqual"]) {
    it(`agrees on ${name}`, async () => {
      const verdicts = new Set();
      for (const left of VALUES) {
        for (const right of VALUES) {
          const [a, b] = [left(), right()];
          assert.deepEqual(await compare(name, a, b), []);
          assert.deepEqual(await compare(name, a, a), []);
          verdicts.add(await verdict(() => standIn[name](a, b)));
        }
      }
      assert.deepEqual([...verdicts].sort(), ["fails", "passes"]);
    });
  }

  it("agrees on ok, match, doesNotMatch and fail", async () => {
    for (const value of VALUES) {
      assert.deepEqual(await compare("ok", value()), []);
      assert.deepEqual(await compare("match", value(), /1/), []);
      assert.deepEqual(await compare("doesNotMatch", value(), /1/), []);
    }
    for (const message of [undefined, "text", new TypeError("own")]) {
      assert.deepEqual(await compare("fail", message), []);
      assert.deepEqual(await compare("ok", false, message), []);
      assert.deepEqual(await compare("deepEqual", [1], [2], message), []);
    }
    // A regular expression with the flag g keeps its position.
    const places = [assert, standIn].map((library) => {
      const pattern = /a/g;
      library.match("aa", pattern);
      return pattern.lastIndex;
    });
    assert.equal(places[0], places[1]);
  });

  class OwnError extends Error {}
  const thrown = [
    new Error("one"),
    new TypeError("one"),
    withKey(new RangeError("two"), "code", "ZP_TWO"),
    withKey(new OwnError("three"), "list", [1, { a: 2 }]),
    "text",
    undefined,
    null,
    { code: "ZP_TWO" },
  ];
  /** The arguments that state what is to be thrown: one or none. */
  const expectations = [
    [],
    ...[
      "a message",
      Error,
      TypeError,
      RangeError,
      OwnError,
      Object,
      /one/,
      /^TypeError: one$/,
      { message: "one" },
      { message: /^o/ },
      { name: "TypeError", message: "one" },
      { code: "ZP_TWO" },
      { code: /^ZP/ },
      { list: [1, { a: 2 }] },
      { list: [1, { a: 3 }] },
      { absent: undefined },
      new Error("one"),
      new TypeError("one"),
      {},
      () => true,
      () => false,
      () => undefined,
      (error) => error instanceof TypeError,
      () => {
        throw new SyntaxError("of the function");
      },
    ].map((expected) => [expected]),
  ];

  it("agrees on thrown errors", async () => {
    const passed = new Set();
    for (const given of expectations) {
      for (const error of thrown) {
        const work = () => {
          throw error;
        };
        assert.deepEqual(await compare("throws", work, ...given), [], `${given} ${error}`);
        assert.deepEqual(await compare("rejects", async () => work(), ...given), []);
        assert.deepEqual(await compare("doesNotThrow", work), []);
        passed.add(await verdict(() => standIn.throws(work, ...given)));
      }
    }
    assert.ok(passed.has("passes") && passed.has("fails"));
  });

  it("agrees on functions and promises without an error", async () => {
    for (const given of expectations) {
      assert.deepEqual(await compare("throws", () => 1, ...given), []);
      assert.deepEqual(await compare("rejects", Promise.resolve(1), ...given), []);
    }
    assert.deepEqual(await compare("doesNotThrow", () => 1), []);
    assert.deepEqual(await compare("rejects", 1), []);
  });
});
