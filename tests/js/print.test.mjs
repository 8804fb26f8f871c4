// How tensors print, against the text that PyTorch printed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { tensor } from "zeropoint";
import { torch } from "zeropoint/notebook";
import { cases, decodeTensor } from "./vectors.mjs";

function tensorFrom(encoded) {
  const { dtype, data, shape } = decodeTensor(encoded);
  return torch.tensor({ data, shape }).to(torch[dtype]);
}

const all = cases("printing");

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
