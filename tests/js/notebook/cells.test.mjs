import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import {
  display,
  float,
  get_q_scale_and_zero_point,
  get_q_scale_symmetric,
  init,
  linear_dequantization,
  linear_q_symmetric,
  linear_q_symmetric_per_channel,
  linear_q_with_scale_and_zero_point,
  plot_quantization_errors,
  quantization_error,
  quantized_linear_W8A32_without_bias,
  repr,
  torch,
  tuple,
} from "zeropoint/notebook";
import { assertScalar, cases, decodeScalar, decodeTensor } from "../support/vectors.mjs";
import { forAll, matches, raises, tensorFrom, testTensor } from "./asserts.mjs";

before(async () => {
  await init();
});

describe("the notebooks' cells", () => {
  // What each cell computes, from the same inputs, and what it shows.
  const RUN = {
    linear_q_with_scale_and_zero_point: ({ x, scale, zero_point }, out, id) => {
      const q = linear_q_with_scale_and_zero_point(tensorFrom(x), decodeScalar(scale), zero_point);
      matches(q, out.q, id);
      return q;
    },
    linear_dequantization: ({ q, scale, zero_point }, out, id) => {
      const dq = linear_dequantization(tensorFrom(q), decodeScalar(scale), zero_point);
      matches(dq, out.dq, id);
      return dq;
    },
    dequantize_without_float_cast: ({ q, scale, zero_point }, out, id) => {
      const dq = tensorFrom(q).sub(zero_point).mul(decodeScalar(scale));
      matches(dq, out.dq, id);
      return dq;
    },
    mse: ({ a, b }, out, id) => {
      const mse = tensorFrom(a).sub(tensorFrom(b)).square().mean();
      matches(mse, out.mse, id);
      return mse;
    },
    sub: ({ a, b }, out, id) => {
      const difference = tensorFrom(a).sub(tensorFrom(b));
      matches(difference, out.diff, id);
      return difference;
    },
    square: ({ x }, out, id) => {
      const y = tensorFrom(x).square();
      matches(y, out.y, id);
      return y;
    },
    min: ({ x }, out, id) => {
      const value = tensorFrom(x).min().item();
      assertScalar(value, out.r_min, id);
      return float(value);
    },
    max: ({ x }, out, id) => {
      const value = tensorFrom(x).max().item();
      assertScalar(value, out.r_max, id);
      return float(value);
    },
    get_q_scale_and_zero_point: ({ x }, out, id) => {
      const [scale, zeroPoint] = get_q_scale_and_zero_point(tensorFrom(x));
      assertScalar(scale, out.scale, id);
      assert.equal(zeroPoint, out.zero_point, id);
      return { text: `${repr(scale)} ${repr(zeroPoint)}` };
    },
    linear_q_symmetric: ({ x }, out, id) => {
      const [q, scale] = linear_q_symmetric(tensorFrom(x));
      matches(q, out.q, id);
      assertScalar(scale, out.scale, id);
      return id.endsWith("In[57]") ? tuple(q, scale) : q;
    },
    get_q_scale_symmetric: ({ x }, out, id) => {
      const scale = get_q_scale_symmetric(tensorFrom(x));
      assertScalar(scale, out.scale, id);
      return scale;
    },
    quantization_error: ({ a, b }, out, id) => {
      const error = quantization_error(tensorFrom(a), tensorFrom(b));
      assertScalar(error, out.mse, id);
      return id.includes("001.") ? { text: `Quantization Error : ${repr(error)}` } : error;
    },
    true_divide: ({ a, b }, out, id) => {
      const y = tensorFrom(a).div(tensorFrom(b));
      matches(y, out.y, id);
      return y;
    },
    linear_q_symmetric_per_channel: ({ x, dim }, out, id) => {
      const [q, scale] = linear_q_symmetric_per_channel(tensorFrom(x), dim);
      matches(q, out.q, id);
      matches(scale, out.scale, id);
      matches(linear_dequantization(q, scale, 0), out.dq, id);
      return q;
    },
    per_channel_scale: ({ x, dim }, out, id) => {
      const [, scale] = linear_q_symmetric_per_channel(tensorFrom(x), dim);
      const shown = scale.view(out.scale.shape);
      matches(shown, out.scale, id);
      return shown;
    },
    quantized_linear_W8A32_without_bias: ({ input, q_w, s_w, z_w }, out, id) => {
      const [codes, scale] = [tensorFrom(q_w), decodeScalar(s_w)];
      matches(codes.float().mul(scale).add(z_w), out.weight, id);
      return quantized_linear_W8A32_without_bias(tensorFrom(input), codes, scale, z_w);
    },
    linear: ({ input, weight }) =>
      torch.nn.functional.linear(tensorFrom(input), tensorFrom(weight)),
  };
  /** Of the torch family: observers and torch.quantize_*. */
  const isTorchFamily = ({ id }) => /seeds\/003\./.test(id);
  const unseeded = "seeds/004.In[25]";
  const all = cases("seeds").filter((one) => !isTorchFamily(one) && one.id !== unseeded);

  it("compute and show what PyTorch does", () => {
    forAll(all, 36, ({ id, op, in: given, out, torch_repr }) => {
      const value = RUN[op](given, out, id);
      assert.equal(
        (torch.is_tensor(value) ? undefined : value.text) ?? repr(value),
        torch_repr,
        id,
      );
    });
  });

  it("show what the notebooks store", () => {
    forAll(
      all.filter(({ printed }) => printed !== null),
      26,
      ({ id, op, in: given, out, printed }) => {
        const value = RUN[op](given, out, id);
        assert.equal(
          (torch.is_tensor(value) ? undefined : value.text) ?? display(value),
          printed,
          id,
        );
      },
    );
  });

  it("quantize notebook 5's unseeded tensor to the stored codes, as far as four decimals tell", () => {
    const { in: given, out } = cases("seeds").find(({ id }) => id === unseeded);
    const scale = decodeScalar(given.scale);
    const x = tensorFrom(given.x_rounded_to_4_decimals);
    const stored = decodeTensor(out.q).data;
    const codes = linear_q_with_scale_and_zero_point(x, scale, given.zero_point).data;
    codes.forEach((code, i) => {
      const position = x.data[i] / scale + given.zero_point;
      const slack = 0.5 + 5e-5 / scale;
      assert.ok(code === stored[i] || Math.abs(position - stored[i]) <= slack, `code ${i}`);
    });
  });

  it("show a tuple as notebook 5 stores it", () => {
    const weight = torch.tensor([
      [-2, -1.13, 0.42],
      [-1.51, 0.25, 1.62],
      [0.23, 1.35, 2.15],
    ]);
    assert.equal(
      display(linear_q_symmetric(weight)),
      `(tensor([[-118,  -67,   25],
         [ -89,   15,   96],
         [  14,   80,  127]], dtype=torch.int8),
 0.016929134609192376)`,
    );
  });

  it("fill a tensor of scales index by index", () => {
    const x = testTensor();
    const scale = torch.zeros(3);
    for (let index = 0; index < 3; index++) {
      scale[index] = get_q_scale_symmetric(x.select(0, index));
    }
    assert.equal(String(scale), "tensor([5.7370, 2.3268, 5.3906])");
    assert.deepEqual(Object.keys(scale), []);
  });
});

describe("plot_quantization_errors", () => {
  it("returns four panels that survive structuredClone", () => {
    const x = testTensor();
    const [q, scale] = linear_q_symmetric(x);
    const dq = linear_dequantization(q, scale, 0);
    const plot = plot_quantization_errors(x, q, dq);
    assert.deepEqual(structuredClone(plot), plot);
    assert.equal(plot.kind, "quantization-errors");
    assert.equal(plot.n_bits, 8);
    assert.deepEqual(
      plot.panels.map(({ title, shape, dtype }) => [title, shape, dtype]),
      [
        ["Original Tensor", [3, 3], "float32"],
        ["8-bit Linear Quantized Tensor", [3, 3], "int8"],
        ["Dequantized Tensor", [3, 3], "float32"],
        ["Quantization Error Tensor", [3, 3], "float32"],
      ],
    );
    assert.deepEqual(plot.panels[0].data, x.data);
    assert.deepEqual(plot.panels[1].data, q.data);
    assert.deepEqual(plot.panels[2].data, dq.data);
    assert.deepEqual(plot.panels[3].data, x.sub(dq).abs().data);
    assert.notEqual(plot.panels[0].data, x.data);
  });

  it("takes the number of bits from the codes' dtype, where nobody says it", () => {
    const x = torch.tensor([[0.5, 1.5]]);
    for (const [dtype, bits] of [
      [torch.uint8, 8],
      [torch.int16, 16],
      [torch.uint16, 16],
      [torch.int32, 32],
      [torch.int64, 8],
      [torch.float32, 8],
    ]) {
      const plot = plot_quantization_errors(x, torch.tensor([[1, 3]], { dtype }), x);
      assert.equal(plot.n_bits, bits, String(dtype));
      assert.equal(plot.panels[1].title, `${bits}-bit Linear Quantized Tensor`);
    }
  });

  it("takes the number of bits by position or by name, and prints its numbers", () => {
    const x = torch.tensor([[0.5, 1.5]]);
    const q = torch.tensor([[1, 3]]);
    assert.equal(plot_quantization_errors(x, q, x, 4).n_bits, 4);
    const plot = plot_quantization_errors(x, q, x, { n_bits: 2 });
    assert.equal(
      String(plot),
      `Original Tensor
tensor([[0.5000, 1.5000]])

2-bit Linear Quantized Tensor
tensor([[1, 3]])

Dequantized Tensor
tensor([[0.5000, 1.5000]])

Quantization Error Tensor
tensor([[0., 0.]])`,
    );
    assert.deepEqual(plot.panels[1].data, Float64Array.of(1, 3));
    raises(() => plot_quantization_errors(x, q), "TypeError", "missing");
    raises(() => plot_quantization_errors(x, q, torch.ones(3)), "RuntimeError", "shapes");
  });
});
