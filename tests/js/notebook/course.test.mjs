import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import {
  get_q_scale_and_zero_point,
  get_q_scale_and_zero_point004,
  get_q_scale_symmetric,
  get_q_scale_symmetric004,
  init,
  linear_dequantization,
  linear_dequantization_per_group,
  linear_q_symmetric,
  linear_q_symmetric_per_channel,
  linear_q_symmetric_per_channel004,
  linear_q_symmetric_per_group,
  linear_q_symmetric_per_group004,
  linear_q_symmetric004,
  linear_q_with_scale_and_zero_point,
  linear_quantization,
  linear_quantization004,
  quantization_error,
  quantized_linear_W8A32_without_bias,
  torch,
} from "zeropoint/notebook";
import { assertScalar, cases, decodeScalar, decodeTensor, isTensor } from "../support/vectors.mjs";
import { forAll, matches, raises, tensorFrom, testTensor } from "./asserts.mjs";

before(async () => {
  await init();
});

/** An encoded number or tensor. */
function operandFrom(encoded) {
  return isTensor(encoded) ? tensorFrom(encoded) : decodeScalar(encoded);
}

const isCase =
  (op, keep = () => true) =>
  (one) =>
    one.op === op && keep(one);

describe("linear_q_with_scale_and_zero_point and linear_dequantization", () => {
  const all = cases("linear_q");

  const turned = () => {
    const rows = [
      [1, 2, 3],
      [4, 5, 6],
    ];
    return torch.tensor(rows).float().T;
  };
  const scale = torch.tensor([[1], [2], [4]]).float();

  it("quantize to the memory layout of their input, as PyTorch's operations do", () => {
    const x = turned();
    const q = linear_q_with_scale_and_zero_point(x, scale, 1);
    assert.deepEqual(q.tolist(), [
      [2, 5],
      [2, 4],
      [2, 2],
    ]);
    assert.deepEqual(q.stride(), [1, 3]);
    assert.ok(!q.is_contiguous());
    assert.throws(() => q.view(6), { pythonType: "RuntimeError" });
    assert.deepEqual(linear_q_symmetric(x)[0].stride(), [1, 3]);
    assert.deepEqual(linear_q_symmetric_per_channel(x, 0)[0].stride(), [1, 3]);
  });

  it("dequantize to the memory layout of the codes", () => {
    const q = linear_q_with_scale_and_zero_point(turned(), scale, 1);
    const dequantized = linear_dequantization(q, scale, 1);
    assert.deepEqual(dequantized.tolist(), [
      [1, 4],
      [2, 6],
      [4, 4],
    ]);
    assert.deepEqual(dequantized.stride(), [1, 3]);
    assert.deepEqual(linear_dequantization(q.long(), scale, 1).stride(), [1, 3]);
  });

  it("give PyTorch's bits in every case of linear_q.json", () => {
    forAll(
      all.filter(isCase("linear_q_with_scale_and_zero_point")),
      83,
      ({ id, in: given, out }) => {
        const x = tensorFrom(given.x);
        const [scale, zeroPoint] = [operandFrom(given.scale), operandFrom(given.zero_point)];
        const q = linear_q_with_scale_and_zero_point(x, scale, zeroPoint, torch[given.dtype]);
        assert.equal(q.dtype, torch[given.dtype]);
        matches(q, out.q, id);
        const expected = out.dq ?? out.dq_f64;
        if (expected === undefined) return;
        const dq = linear_dequantization(q, scale, zeroPoint);
        matches(dq, expected, `${id} dequantized`);
        if (out.mse) assertScalar(quantization_error(x, dq), out.mse, `${id} mse`);
      },
    );
  });

  it("wrap around without the cast to float, as PyTorch does", () => {
    const isWrap = isCase("dequantize_without_float_cast");
    forAll([...all, ...cases("seeds")].filter(isWrap), 11, ({ id, in: given, out }) => {
      const q = tensorFrom(given.q);
      matches(q.sub(given.zero_point).mul(decodeScalar(given.scale)), out.dq, id);
    });
  });

  it("turn 127 and 126 into -206.5 and -210.0 without the cast", () => {
    const q = torch.tensor([127, 126], { dtype: torch.int8 });
    assert.equal(String(q.sub(-70).mul(3.5)), "tensor([-206.5000, -210.0000])");
    assert.equal(String(linear_dequantization(q, 3.5, -70)), "tensor([689.5000, 686.0000])");
  });

  it("give PyTorch's codes for random bits, in every dtype", () => {
    forAll(cases("fuzz").filter(isCase("linear_q_all_dtypes")), 10, ({ id, in: given, out }) => {
      const [x, scale] = [tensorFrom(given.x), decodeScalar(given.scale)];
      for (const dtype of ["int8", "uint8", "int16", "int32", "int64"]) {
        const q = linear_q_with_scale_and_zero_point(x, scale, given.zero_point, torch[dtype]);
        matches(q, out[dtype], `${id} ${dtype}`);
      }
    });
  });

  /** Random and special values, each with every kind of scale and zero point that broadcasts. */
  function* combinations() {
    torch.manual_seed(1);
    const x = torch.randn([40, 33]).mul(100);
    const special = torch.tensor([[Number.NaN], [Infinity], [-Infinity], [3e38], [-0], [0.5]]);
    const scales = [0.37, -2, 0, 1e39, Number.NaN, torch.rand(33), torch.rand(40, 1).double()];
    const int8 = torch.tensor([5], { dtype: torch.int8 });
    const zeroPoints = [0, -77, 2.5, torch.tensor(3), torch.arange(33), int8];
    for (const scale of scales) {
      for (const zeroPoint of zeroPoints) {
        for (const values of [x, x.t().contiguous().t(), special]) {
          if (values === special && torch.is_tensor(scale) && scale.dim() === 2) continue;
          yield { values, scale, zeroPoint };
        }
      }
    }
  }

  for (const name of ["int8", "uint8", "int16", "uint16", "int32"]) {
    it(`give the same ${name} codes in the core as step by step`, () => {
      const dtype = torch[name];
      const { min, max } = torch.iinfo(dtype);
      for (const { values, scale, zeroPoint } of combinations()) {
        const q = linear_q_with_scale_and_zero_point(values, scale, zeroPoint, dtype);
        const steps = values.div(scale).add(zeroPoint).round().clamp(min, max).to(dtype);
        assert.ok(q.equal(steps), `${scale} ${zeroPoint}`);
      }
    });

    it(`give the same values of ${name} codes in the core as step by step`, () => {
      for (const { values, scale, zeroPoint } of combinations()) {
        const q = linear_q_with_scale_and_zero_point(values, scale, zeroPoint, torch[name]);
        const dq = linear_dequantization(q, scale, zeroPoint);
        const slowly = q.float().sub(zeroPoint).mul(scale);
        assert.equal(dq.dtype, slowly.dtype);
        assert.deepEqual(dq.data, slowly.data, `${scale} ${zeroPoint}`);
      }
    });
  }

  it("accept Python's keywords", () => {
    const x = testTensor();
    const q = linear_q_with_scale_and_zero_point(x, { scale: 3.5, zero_point: -70 });
    assert.ok(q.equal(linear_q_with_scale_and_zero_point(x, 3.5, -70)));
    const wide = linear_q_with_scale_and_zero_point(x, 3.5, -70, { dtype: torch.int16 });
    assert.equal(wide.dtype, torch.int16);
    const dq = linear_dequantization({ q, scale: 3.5, zero_point: -70 });
    assert.ok(dq.equal(linear_dequantization(q, 3.5, -70)));
    raises(() => linear_q_with_scale_and_zero_point(x, 3.5), "TypeError", "missing zero_point");
    raises(() => linear_q_with_scale_and_zero_point(x, 1, 0, { bits: 8 }), "TypeError", "unknown");
    raises(
      () => linear_q_with_scale_and_zero_point(x, 1, { scale: 1, zero_point: 0 }),
      "TypeError",
      "twice",
    );
    raises(
      () => linear_q_with_scale_and_zero_point(x, 1, 0, torch.int8, 1),
      "TypeError",
      "too many",
    );
  });

  it("refuse shapes that do not broadcast, and dtypes that are no integers", () => {
    const x = testTensor();
    raises(() => linear_q_with_scale_and_zero_point(x, torch.ones(2), 0), "RuntimeError", "scale");
    raises(() => linear_dequantization(x.char(), 1, torch.ones(2)), "RuntimeError", "zero point");
    raises(() => linear_q_with_scale_and_zero_point(x, 1, 0, torch.float32), "TypeError", "float");
    raises(() => linear_q_with_scale_and_zero_point(x, 1, 0, torch.bool), "TypeError", "bool");
    raises(() => linear_q_with_scale_and_zero_point(x, 1, 0, "int8"), "TypeError", "a name");
    raises(() => linear_q_with_scale_and_zero_point([1, 2], 1, 0), "TypeError", "an array");
  });

  it("do not take shapes for alike that only begin alike", () => {
    const [a, b] = [torch.zeros(1, 1, 1, 1, 2, 3), torch.ones(1, 1, 1, 1, 3, 2)];
    raises(() => quantization_error(a, b), "ValueError");
    raises(() => quantization_error(a, b.double()), "ValueError");
  });

  it("refuse bools where PyTorch subtracts them, and so does quantization_error", () => {
    const q = torch.tensor([1, 2], { dtype: torch.int8 });
    raises(() => linear_dequantization(q, 1, false), "RuntimeError", "a number");
    raises(() => linear_dequantization(q, 1, torch.tensor([true])), "RuntimeError", "a tensor");
    assert.deepEqual(linear_dequantization(q, true, 1).tolist(), [0, 1]);
    const isOdd = torch.tensor([true, false]);
    raises(() => quantization_error(q, isOdd, "rmse"), "RuntimeError", "before the kind of error");
  });
});

describe("get_q_scale_and_zero_point, linear_quantization and linear_q_symmetric", () => {
  const all = cases("qparams");
  const dtypeOf = (given) => torch[given.dtype];

  it("divide integers of 64 bits with one rounding, ties to even, as Python does", () => {
    // (127 * (2**53 + 1)) / 127 and (127 * (2**53 + 3)) / 127 in Python: halfway between two floats.
    for (const [odd, scale] of [
      [2n ** 53n + 1n, 2 ** 53],
      [2n ** 53n + 3n, 2 ** 53 + 4],
    ]) {
      const x = torch.tensor([127n * odd, 0n]);
      assert.equal(get_q_scale_symmetric(x, torch.int8), scale);
    }
  });

  it("give PyTorch's bits in every affine case of qparams.json", () => {
    const list = all.filter(isCase("linear_quantization", (one) => !one.in.seed004_compat));
    forAll(list, 68, ({ id, in: given, out }) => {
      const x = tensorFrom(given.x);
      const chosen = get_q_scale_and_zero_point(x, dtypeOf(given));
      const [q, scale, zeroPoint] = linear_quantization(x, dtypeOf(given));
      assert.deepEqual([scale, zeroPoint], [...chosen]);
      assertScalar(scale, out.scale, `${id} scale`);
      assert.equal(Number(zeroPoint), out.zero_point, `${id} zero point`);
      matches(q, out.q, id);
      const dq = linear_dequantization(q, scale, zeroPoint);
      matches(dq, out.dq, `${id} dequantized`);
      assertScalar(quantization_error(x, dq), out.mse, `${id} mse`);
    });
  });

  it("give PyTorch's bits in every symmetric case of qparams.json", () => {
    const list = all.filter(isCase("linear_q_symmetric", (one) => !one.in.seed004_compat));
    forAll(list, 98, ({ id, in: given, out }) => {
      const x = tensorFrom(given.x);
      const [q, scale] = linear_q_symmetric(x, { dtype: dtypeOf(given) });
      assert.ok(Object.is(get_q_scale_symmetric(x, dtypeOf(given)), scale));
      assertScalar(scale, out.scale, `${id} scale`);
      matches(q, out.q, id);
      const dq = linear_dequantization(q, scale, 0);
      matches(dq, out.dq, `${id} dequantized`);
      assertScalar(quantization_error(x, dq), out.mse, `${id} mse`);
      assertScalar(quantization_error(x, dq, "mae"), out.mae, `${id} mae`);
    });
  });

  it("ignore the dtype for the range under notebook 5's names", () => {
    forAll(
      all.filter(({ in: given }) => given.seed004_compat),
      100,
      ({ id, op, in: given, out }) => {
        const x = tensorFrom(given.x);
        if (op === "linear_quantization") {
          const [q, scale, zeroPoint] = linear_quantization004(x, dtypeOf(given));
          assertScalar(scale, out.scale, `${id} scale`);
          assert.equal(zeroPoint, out.zero_point, `${id} zero point`);
          assert.deepEqual(
            [...get_q_scale_and_zero_point004(x, dtypeOf(given))],
            [scale, zeroPoint],
          );
          matches(q, out.q, id);
        } else {
          const [q, scale] = linear_q_symmetric004(x, dtypeOf(given));
          assertScalar(scale, out.scale, `${id} scale`);
          assert.equal(get_q_scale_symmetric004(x), scale);
          matches(q, out.q, id);
        }
      },
    );
  });

  it("raise what Python raises in every other case of qparams.json", () => {
    forAll(
      all.filter(({ out }) => out.raises),
      36,
      ({ id, op, in: given, out }) => {
        const x = tensorFrom(given.x);
        if (op === "get_q_scale_symmetric") {
          raises(() => get_q_scale_symmetric(x, torch.float32), out.raises.type, `${id}, float`);
          raises(() => get_q_scale_symmetric(x, dtypeOf(given)), out.raises.type, id);
          raises(() => linear_q_symmetric(x, dtypeOf(given)), out.raises.type, id);
        } else {
          raises(() => get_q_scale_and_zero_point(x, dtypeOf(given)), out.raises.type, id);
          raises(() => linear_quantization(x, dtypeOf(given)), out.raises.type, id);
        }
      },
    );
  });

  it("give PyTorch's scale and zero point for random ranges", () => {
    forAll(cases("fuzz").filter(isCase("choose_qparams_rows")), 1, ({ in: given, out }) => {
      const [min, max] = [decodeTensor(given.min).data, decodeTensor(given.max).data];
      const scales = decodeTensor(out.seed_scale_int8).data;
      assert.equal(min.length, 160);
      min.forEach((low, i) => {
        const x = torch.tensor(Float32Array.of(low, max[i]));
        const [scale, zeroPoint] = get_q_scale_and_zero_point(x);
        assert.ok(Object.is(scale, scales[i]), `scale ${i}`);
        assert.equal(zeroPoint, out.seed_zero_point_int8[i], `zero point ${i}`);
      });
    });
  });

  it("agree on float32 and float64 tensors of the same values", () => {
    torch.manual_seed(2);
    for (const dtype of [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]) {
      const x = torch.randn([7, 9]).mul(20);
      assert.deepEqual(
        [...get_q_scale_and_zero_point(x, dtype)],
        [...get_q_scale_and_zero_point(x.double(), dtype)],
      );
      assert.equal(get_q_scale_symmetric(x, dtype), get_q_scale_symmetric(x.double(), dtype));
    }
  });

  it("take integer tensors, whose magnitudes wrap as in PyTorch", () => {
    const q = torch.tensor([-128, 5], { dtype: torch.int8 });
    // abs(-128) is -128 in int8, so 5 is the largest magnitude.
    assert.equal(get_q_scale_symmetric(q), 5 / 127);
    assert.equal(get_q_scale_symmetric(torch.tensor([-128], { dtype: torch.int8 })), -128 / 127);
    // Python divides such an int exactly and rounds once; as a float, it would end in 382.5.
    const wide = torch.tensor([0n, 422360298083198623n]);
    assert.equal(get_q_scale_symmetric(wide), 3325671638450383);
    assert.equal(get_q_scale_symmetric(wide.neg()), 3325671638450383);
    assert.deepEqual([...get_q_scale_and_zero_point(torch.tensor([-7, 300]))], [307 / 255, -122]);
  });

  it("return tuples that come apart like arrays and cannot be changed", () => {
    const result = linear_quantization(testTensor());
    assert.ok(Array.isArray(result));
    assert.ok(Object.isFrozen(result));
    assert.equal(result.length, 3);
    assert.deepEqual(get_q_scale_and_zero_point(testTensor()), [3.578823433670343, -77]);
  });
});

describe("linear_q_symmetric_per_channel and linear_q_symmetric_per_group", () => {
  const all = cases("channel_group");

  it("give PyTorch's bits for every dimension in channel_group.json", () => {
    const list = all.filter(isCase("linear_q_symmetric_per_channel", ({ out }) => !out.raises));
    forAll(list, 80, ({ id, in: given, out }) => {
      const x = tensorFrom(given.x);
      const { dim } = given;
      const dtype = torch[given.dtype];
      const [q, scale] = linear_q_symmetric_per_channel(x, { dim, dtype });
      matches(q, out.q, id);
      matches(scale, out.scale, `${id} scale`);
      const dq = linear_dequantization(q, scale, 0);
      matches(dq, out.dq, `${id} dequantized`);
      if (out.mse) assertScalar(quantization_error(x, dq), out.mse, `${id} mse`);
      if (out.mae) assertScalar(quantization_error(x, dq, "mae"), out.mae, `${id} mae`);
    });
  });

  it("give PyTorch's bits for every group size in channel_group.json", () => {
    const list = all.filter(isCase("linear_q_symmetric_per_group", ({ out }) => !out.raises));
    forAll(list, 16, ({ id, in: given, out }) => {
      const x = tensorFrom(given.x);
      const [q, scale] = linear_q_symmetric_per_group(x, given.group_size, torch[given.dtype]);
      matches(q, out.q, id);
      matches(scale, out.scale, `${id} scale`);
      const dq = linear_dequantization_per_group(q, scale, given.group_size);
      matches(dq, out.dq, `${id} dequantized`);
      assertScalar(quantization_error(x, dq), out.mse, `${id} mse`);
    });
  });

  it("raise what Python raises in every other case of channel_group.json", () => {
    forAll(
      all.filter(({ out }) => out.raises),
      10,
      ({ id, op, in: given, out }) => {
        const x = given.x_transposed_of
          ? tensorFrom(given.x_transposed_of).t()
          : tensorFrom(given.x);
        const dtype = torch[given.dtype];
        const call =
          op === "linear_q_symmetric_per_channel"
            ? () => linear_q_symmetric_per_channel(x, given.dim, dtype)
            : () => linear_q_symmetric_per_group(x, given.group_size, dtype);
        raises(call, out.raises.type, id);
      },
    );
  });

  it("ignore the dtype for the scales under notebook 5's names", () => {
    const x = testTensor();
    const [, scale] = linear_q_symmetric_per_channel(x, 0);
    const [q16, scale16] = linear_q_symmetric_per_channel004(x, 0, torch.int16);
    assert.ok(scale16.equal(scale));
    assert.equal(q16.dtype, torch.int16);
    assert.ok(q16.equal(linear_q_with_scale_and_zero_point(x, scale, 0, torch.int16)));
    const [, own] = linear_q_symmetric_per_channel(x, 0, torch.int16);
    assert.ok(!own.equal(scale));
    const [g16, groupScale16] = linear_q_symmetric_per_group004(x, 3, torch.int16);
    assert.ok(groupScale16.equal(scale));
    assert.ok(g16.equal(q16));
  });

  it("keep a zero point and scale per group for rows that are cut up", () => {
    const x = torch.arange(12).float().view(2, 6);
    const [q, scale] = linear_q_symmetric_per_group(x, 3);
    assert.deepEqual(scale.shape, [4, 1]);
    assert.deepEqual(q.tolist(), [
      [0, 64, 127, 76, 102, 127],
      [95, 111, 127, 104, 115, 127],
    ]);
  });
});

describe("quantization_error", () => {
  const all = cases("error");

  it("gives PyTorch's bits in every case of error.json", () => {
    forAll(all.filter(isCase("quantization_error")), 46, ({ id, in: given, out }) => {
      const [a, b] = [tensorFrom(given.a), tensorFrom(given.b)];
      assertScalar(quantization_error(a, b), out.mse, `${id} mse`);
      assertScalar(quantization_error(a, b, "mse"), out.mse, `${id} mse`);
      assertScalar(quantization_error(a, b, { error_type: "mae" }), out.mae, `${id} mae`);
      if (out.sum_a) matches(a.sum(), out.sum_a, `${id} sum`);
    });
  });

  it("adds up as PyTorch does at every size, in the core and step by step", () => {
    forAll(all.filter(isCase("sum_mean")), 6, ({ id, in: given, out }) => {
      const x = tensorFrom(given.x);
      matches(x.sum(), out.sum, `${id} sum`);
      matches(x.mean(), out.mean, `${id} mean`);
      matches(x.square().mean(), out.mean_sq, `${id} mean of squares`);
      // With a dimension that stays, the sum is not the core's.
      assert.deepEqual(x.view(1, -1).sum(1).data, x.sum().view(1).data, `${id} both ways`);
    });
  });

  it("agrees with its formula, tensor operation by tensor operation", () => {
    torch.manual_seed(4);
    for (const shape of [[3], [8, 9], [130, 7], [2, 3, 4, 5]]) {
      const [a, b] = [torch.randn(shape), torch.randn(shape)];
      assert.equal(quantization_error(a, b), a.sub(b).pow(2).mean().item());
      assert.equal(quantization_error(a, b, "mae"), a.sub(b).abs().mean().item());
      // Transposed tensors take the other way, and PyTorch adds them up in memory order too.
      assert.equal(quantization_error(a.T, b.T), quantization_error(a, b));
    }
  });

  it("raises what Python raises, in Python's order", () => {
    const [two, three] = [torch.tensor([1.5, 2]), torch.tensor([1.5, 2, 3])];
    forAll(all.filter(isCase("quantization_error_raises")), 5, ({ id, in: given, out }) => {
      const call = {
        "ValueError shape": () => quantization_error(two, three),
        "ValueError shape: no broadcasting": () => quantization_error(two, two.view(1, 2)),
        TypeError: () => quantization_error(two, Float32Array.of(1, 2)),
        "ValueError error_type": () => quantization_error(two, two, "rmse"),
        "integer tensors: RuntimeError from mean": () =>
          quantization_error(torch.tensor([1, 2]), torch.tensor([1, 3])),
      }[given.note];
      raises(call, out.raises.type, id);
    });
    raises(() => quantization_error(two, three, "rmse"), "ValueError", "shape before kind");
    raises(() => quantization_error([1], [2]), "TypeError", "arrays");
    raises(
      () => quantization_error(Float32Array.of(1), Float32Array.of(2)),
      "TypeError",
      "typed arrays",
    );
  });
});

describe("quantized_linear_W8A32_without_bias", () => {
  const all = cases("w8a32");

  it("has PyTorch's weights and stays within the bound in every case of w8a32.json", () => {
    const list = all.filter(isCase("quantized_linear_W8A32_without_bias"));
    forAll(list, 14, ({ id, in: given, out }) => {
      const [input, codes] = [tensorFrom(given.input), tensorFrom(given.q_w)];
      const [scale, zero] = [operandFrom(given.s_w), operandFrom(given.z_w)];
      matches(codes.float().mul(scale).add(zero), out.weight, `${id} weight`);
      const y = quantized_linear_W8A32_without_bias(input, codes, scale, zero);
      assert.deepEqual(y.shape, out.y_torch.shape);
      const [exact, bound] = [decodeTensor(out.y_exact_f64).data, decodeTensor(out.tol_abs).data];
      y.data.forEach((value, i) => {
        assert.ok(Math.abs(value - exact[i]) <= bound[i], `${id} output ${i}`);
      });
    });
  });

  it("adds the zero point, as notebook 5 does", () => {
    const q = torch.tensor([[2, 4]], { dtype: torch.int8 });
    const y = quantized_linear_W8A32_without_bias(torch.ones(2), q, 0.5, 10);
    assert.deepEqual(y.tolist(), [23]); // (2 * 0.5 + 10) + (4 * 0.5 + 10)
  });

  it("asserts the dtypes of input and weights", () => {
    const q = torch.ones(2, 2, { dtype: torch.int8 });
    const call = quantized_linear_W8A32_without_bias;
    assert.equal(all.filter(isCase("quantized_linear_W8A32_without_bias_raises")).length, 1);
    raises(() => call(torch.ones(2).double(), q, 1, 0), "AssertionError", "input");
    raises(() => call(torch.ones(2), q.short(), 1, 0), "AssertionError", "q_w");
    raises(() => call(torch.ones(3), q, 1, 0), "RuntimeError", "shapes");
  });
});
