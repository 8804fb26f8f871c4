// Random tensors against PyTorch's, for the same seeds.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { torch } from "zeropoint/notebook";
import { assertTensor, cases, decodeTensor } from "../support/vectors.mjs";

/** What the library draws for a case; a case without a seed goes on where the last one ended. */
function draw({ op, seed, args }) {
  if (seed !== "goes on") torch.manual_seed(BigInt(seed));
  if (op === "randint") return torch.randint(args.low, args.high, args.shape);
  return torch[op](args.shape, { dtype: torch[args.dtype] });
}

const all = cases("random");

describe("torch.rand and torch.randint", () => {
  it("draw PyTorch's numbers, bit for bit", () => {
    const exact = new Set(["rand", "randint"]);
    let count = 0;
    for (const one of all) {
      const t = draw(one);
      if (!exact.has(one.op)) continue;
      assertTensor(t.data, t.shape, one.out, one.id);
      count++;
    }
    assert.equal(count, 67);
  });
});

describe("torch.randint", () => {
  // From PyTorch 1.13, after manual_seed(1).
  it("draws from wide ranges, for floats and for narrow dtypes", () => {
    torch.manual_seed(1);
    const draws = (low, high, count, dtype) =>
      torch.randint(low, high, [count], { dtype }).tolist();
    assert.deepEqual(draws(-(2n ** 62n), 2n ** 62n, 2, torch.int64), [
      3081012064131973355n,
      -547416547354995640n,
    ]);
    // The largest of these floats is below the bound, though 2^31 - 2 would be rounded beyond it.
    assert.deepEqual(draws(0, 2 ** 31 - 1, 3, torch.float32), [491263, 550290304, 1298508544]);
    assert.deepEqual(draws(-(2 ** 31), 2 ** 31, 2, torch.int32), [2143362693, -1517171889]);
    assert.deepEqual(draws(0, 2 ** 40, 2, torch.float64), [825030312080, 554850762700]);
  });

  it("refuses bounds that the dtype does not hold", () => {
    const runtimeError = { name: "RangeError", pythonType: "RuntimeError" };
    assert.throws(() => torch.randint(0, 257, [1], { dtype: torch.uint8 }), runtimeError);
    assert.throws(() => torch.randint(0, 3, [1], { dtype: torch.bool }), runtimeError);
    assert.throws(() => torch.randint(0, 2n ** 64n, [1]), runtimeError);
    assert.throws(() => torch.randint(0, 0.5, [1]), { pythonType: "TypeError" });
    assert.equal(torch.randint(255, 256, [1], { dtype: torch.uint8 }).item(), 255);
  });
});

describe("torch.randn", () => {
  // Fewer than 16 values are computed in double precision and rounded. Others are a product of
  // radius <= sqrt(-2 ln 2^-24) < 5.8 and a sine or cosine, in float32 from float32 functions that
  // are right to a few units in their last place: four of them for each factor make at most
  // 5.8 * 8 * 2^-24. The same holds in double precision, where 1 - u may be 2^-53: 8.6 * 8 * 2^-53.
  const bound = ({ args, out }) => {
    const count = decodeTensor(out).data.length;
    if (count < 16) return args.dtype === "float32" ? 2 ** -24 : 2 ** -50;
    return args.dtype === "float32" ? 5.8 * 2 ** -21 : 8.6 * 2 ** -50;
  };

  it("draws PyTorch's numbers up to their last bits", () => {
    let count = 0;
    for (const one of all) {
      const t = draw(one);
      if (one.op !== "randn") continue;
      count++;
      const expected = decodeTensor(one.out).data;
      assert.equal(t.data.constructor, expected.constructor);
      t.data.forEach((value, i) => {
        const distance = Math.abs(value - expected[i]);
        assert.ok(distance <= bound(one), `${one.id} value ${i}: ${value}, not ${expected[i]}`);
      });
    }
    assert.equal(count, 52);
  });

  it("has mean 0 and variance 1", () => {
    torch.manual_seed(5);
    const x = torch.randn([100, 1000]).double();
    // Five standard deviations of the mean and the variance of 100000 normal values.
    assert.ok(Math.abs(x.view(1, -1).mean(1).item()) < 5 / Math.sqrt(1e5));
    assert.ok(Math.abs(x.square().view(1, -1).mean(1).item() - 1) < 5 * Math.sqrt(2 / 1e5));
  });
});

describe("torch.manual_seed", () => {
  it("takes a BigInt for what a number does not hold exactly", () => {
    assert.throws(() => torch.manual_seed(2 ** 53), {
      message:
        "torch.manual_seed: seed must be a BigInt beyond 2^53 - 1, where a number is not exact, got 9007199254740992",
    });
    torch.manual_seed(2n ** 53n);
    assert.equal(torch.initial_seed(), 2n ** 53n);
    assert.throws(() => torch.manual_seed(1.5), { message: /seed must be whole/ });
  });

  it("makes the numbers repeat, and forgets a normal value that waits", () => {
    torch.manual_seed(7);
    const first = torch.randn(3);
    torch.manual_seed(7);
    assert.ok(torch.randn(3).equal(first));
    assert.ok(!torch.randn(3).equal(first));
    assert.equal(torch.initial_seed(), 7);
    torch.manual_seed(-1);
    assert.equal(torch.initial_seed(), 2n ** 64n - 1n);
  });

  it("refuses seeds that are not whole or too large", () => {
    assert.throws(() => torch.manual_seed(0.5), { name: "TypeError", pythonType: "TypeError" });
    assert.throws(() => torch.manual_seed(2n ** 64n), {
      name: "RangeError",
      pythonType: "RuntimeError",
    });
  });
});
