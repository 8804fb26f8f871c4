// Functions of torch and methods of tensors that have a table of operations, against what PyTorch answered.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { init, isTuple, torch } from "zeropoint/notebook";
import { cases, decodeTensor, dtypeName } from "../support/vectors.mjs";
import { raises } from "./asserts.mjs";

/** An argument of a case. */
function argumentFrom(encoded) {
  if (Array.isArray(encoded)) return encoded.map(argumentFrom);
  if (typeof encoded !== "object") return encoded;
  if ("shape" in encoded) {
    const { data, shape, dtype } = decodeTensor(encoded);
    return torch.tensor({ data, shape }).to(torch[dtype]);
  }
  const [[kind, content]] = Object.entries(encoded);
  if (kind === "none") return null;
  if (kind === "dtype") return torch[content];
  return Number(content.replace("inf", "Infinity"));
}

/** Functions that PyTorch computes in float32, or in another order: distance in units in the last place. */
const ULPS = {
  ...{ log2: 1, log10: 1, log1p: 1, exp2: 1, expm1: 1, sin: 1, cos: 1, tan: 1, asin: 1 },
  ...{ acos: 1, atan: 1, sinh: 1, cosh: 1, atan2: 1, rsqrt: 1, logspace: 1, randn_like: 1 },
  // A fused multiply-add in float64.
  linspace: 1,
  ...{ var: 1, std: 1, norm: 2, prod: 1, logsumexp: 2, pow: 1 },
  // Powers of float32, rounded before they are added.
  ".norm": 4,
  // Differences of values near the largest: a unit of 0.5 is 16 of 0.05.
  ...{ log_softmax: 16, "nn.functional.log_softmax": 16, "nn.functional.cross_entropy": 2 },
};

/** The distance of two floats in units in the last place of the expected one. */
function ulps(value, expected, bits) {
  if (Object.is(value, expected) || (Number.isNaN(value) && Number.isNaN(expected))) return 0;
  if (!Number.isFinite(value) || !Number.isFinite(expected)) return Infinity;
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(expected))), bits === 23 ? -126 : -1022);
  return Math.abs(value - expected) / 2 ** (exponent - bits) || Number(value !== expected);
}

function same(value, expected, message, allowed) {
  if (Array.isArray(expected)) {
    assert.ok(isTuple(value), `${message}: a tuple`);
    assert.equal(value.length, expected.length, message);
    for (const [i, each] of expected.entries()) same(value[i], each, `${message} [${i}]`, allowed);
    return;
  }
  if (typeof expected !== "object") {
    assert.equal(value, expected, message);
    return;
  }
  const { data, shape } = decodeTensor(expected);
  assert.equal(value.dtype.name, dtypeName(expected.t), `${message}: dtype`);
  assert.deepEqual([...value.shape], shape, `${message}: shape`);
  const bits = expected.t === "f64" ? 52 : 23;
  value.data.forEach((each, i) => {
    const far = typeof each === "bigint" ? Number(each !== data[i]) : ulps(each, data[i], bits);
    assert.ok(far <= allowed, `${message}: [${i}] is ${each}, not ${data[i]}: ${value}`);
  });
}

function run({ op, in: given, with: keywords, seed }) {
  if (seed !== undefined) torch.manual_seed(seed);
  const args = given.map(argumentFrom);
  if (op === "[]") return args[0].get(args[1]);
  if (op === "[]=") {
    args[0].set(args[1], args[2]);
    return args[0];
  }
  if (keywords) {
    const entries = Object.entries(keywords).map(([name, value]) => [name, argumentFrom(value)]);
    args.push(Object.fromEntries(entries));
  }
  if (op.startsWith(".")) return args[0][op.slice(1)](...args.slice(1));
  const [owner, name] = op.startsWith("nn.")
    ? [torch.nn.functional, op.slice("nn.functional.".length)]
    : [torch, op];
  return owner[name](...args);
}

describe("functions of torch", () => {
  before(async () => {
    await init();
  });

  const all = cases("torch_functions");
  for (const op of new Set(all.map((each) => each.op))) {
    it(`give PyTorch's dtypes, shapes, values and errors: ${op}`, () => {
      for (const each of all.filter((one) => one.op === op)) {
        const message = `${each.id} ${JSON.stringify(each).slice(0, 400)}`;
        if (each.raises === undefined) {
          same(run(each), each.out, message, ULPS[op] ?? 0);
          continue;
        }
        raises(() => run(each), each.raises, message);
      }
    });
  }
});
