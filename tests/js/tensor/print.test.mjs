// How tensors print, against the text that PyTorch printed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { init, tensor } from "zeropoint";
import { torch } from "zeropoint/notebook";
import { intRepr, quantizePerChannel, quantizePerTensor } from "zeropoint/torch";
import { INSPECT } from "../support/asserts.mjs";
import { cases, decodeTensor } from "../support/vectors.mjs";

function tensorFrom(encoded) {
  const { dtype, data, shape } = decodeTensor(encoded);
  return torch.tensor({ data, shape }).to(torch[dtype]);
}

const all = cases("printing");
await init();

describe("a tensor of zeropoint/notebook", () => {
  it("prints as PyTorch prints it, in all 710 cases of printing.json", () => {
    assert.equal(all.length, 710);
    for (const { id, tensor: encoded, text, note } of all) {
      assert.equal(String(tensorFrom(encoded)), text, `${id} ${note ?? ""}`);
    }
  });

  it("prints the same where it lies in memory in another order", () => {
    const some = all.filter(({ tensor: { shape } }) => shape.length >= 2);
    assert.ok(some.length > 200);
    for (const { id, tensor: encoded, text } of some) {
      const t = tensorFrom(encoded);
      const order = t.shape.map((_, axis) => axis).reverse();
      const scattered = t.permute(order).contiguous().permute(order);
      assert.equal(String(scattered), text, id);
    }
  });

  it("prints parts of a larger tensor", () => {
    const t = torch.arange(24).view(2, 3, 4);
    assert.equal(String(t[1].select(1, 2)), "tensor([14, 18, 22])");
    assert.equal(String(t.get(1, 2, 3)), "tensor(23)");
    assert.equal(
      String(t.narrow(2, 1, 2)[0]),
      "tensor([[ 1,  2],\n        [ 5,  6],\n        [ 9, 10]])",
    );
  });

  it("prints the same in Node's console", () => {
    const t = torch.tensor([1.5, 2]);
    assert.equal(inspect(t), "tensor([1.5000, 2.0000])");
    assert.equal(inspect({ t }), "{ t: tensor([1.5000, 2.0000]) }");
    assert.equal(inspect(torch.zeros(2, 1).shape), "torch.Size([2, 1])");
    assert.equal(inspect(torch.int8), "torch.int8");
  });

  it("rounds exact ties to even, where toFixed rounds up", () => {
    assert.equal((0.03125).toFixed(4), "0.0313");
    assert.equal(String(torch.tensor([0.03125, 0.5])), "tensor([0.0312, 0.5000])");
    assert.equal(String(torch.tensor([0.09375, -0.09375])), "tensor([ 0.0938, -0.0938])");
  });

  it("prints -0 with its sign", () => {
    // Zeros do not count for the width, so a negative one sticks out, as in PyTorch.
    assert.equal(String(torch.tensor([-0, 0.5])), "tensor([-0.0000, 0.5000])");
    assert.equal(String(torch.zeros(2).neg()), "tensor([-0., -0.])");
  });

  it("prints uint16, which PyTorch 1.13 does not have", () => {
    const t = torch.tensor([0, 65535], { dtype: torch.uint16 });
    assert.equal(String(t), "tensor([    0, 65535], dtype=torch.uint16)");
  });
});

describe("a tensor of zeropoint", () => {
  it("prints as PyTorch prints its float32 tensor", () => {
    const floats = all.filter(({ tensor: { t } }) => t === "f32");
    assert.ok(floats.length > 300);
    for (const { id, tensor: encoded, text } of floats) {
      const { data, shape } = decodeTensor(encoded);
      assert.equal(String(tensor(data, shape)), text, id);
    }
  });
});

describe("a tensor whose memory was transferred", () => {
  const transfer = ({ buffer }) => structuredClone(buffer, { transfer: [buffer] });
  const values = () =>
    tensor([
      [1, 2],
      [3, 4],
    ]);
  const printsAs = (t, text) => {
    assert.equal(String(t), text);
    assert.equal(t[INSPECT](), text);
  };

  it("says so, and makes up no values", () => {
    const x = values();
    transfer(x.data);
    printsAs(x, "tensor(<detached, size=(2, 2)>)");
    const codes = intRepr(quantizePerTensor(values(), 1, 0, "qint8"));
    transfer(codes.data);
    printsAs(codes, "tensor(<detached, size=(2, 2)>, dtype=torch.int8)");
  });

  it("says so where only a part is gone", () => {
    const buffer = new ArrayBuffer(16, { maxByteLength: 16 });
    const { constructor: Tensor } = values();
    const x = new Tensor(new Float32Array(buffer), [2, 2]);
    assert.equal(String(x), "tensor([[0., 0.],\n        [0., 0.]])");
    // Not every engine has memory that shrinks.
    if (typeof buffer.resize !== "function") return;
    buffer.resize(8);
    printsAs(x, "tensor(<detached, size=(2, 2)>)");
  });

  it("says so for views of it", () => {
    for (const dtype of [torch.float32, torch.int64, torch.bool]) {
      const t = torch.ones(2, 3, { dtype });
      transfer(t.data);
      printsAs(t.t(), "tensor(<detached, size=(3, 2)>)");
      printsAs(t[1].expand(2, 3), "tensor(<detached, size=(2, 3)>)");
    }
    assert.equal(String(torch.ones(0, 2)), "tensor([], size=(0, 2))");
  });

  it("says of a quantized one what is gone", () => {
    const gone = (what) =>
      `tensor(<TorchQuantizedTensor: the memory of this.${what}, is detached (transferred or shrunk away)>)`;
    const q = quantizePerTensor(values(), 1, 0, "qint8");
    transfer(q.data);
    printsAs(q, gone("data, of type Int8Array"));
    const perChannel = quantizePerChannel(values(), [1, 2], [0, 0], 0, "qint8");
    transfer(perChannel.scale.data);
    printsAs(perChannel, gone("scale, of type Float32Array"));
  });
});
