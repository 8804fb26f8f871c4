import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { bytesSource, readOnnx } from "../../../internal/formats.mjs";
import { sameDeep } from "../../support/asserts.mjs";
import { collect, fromBase64 } from "../../support/files/formats.mjs";
import { modelOf, quantized } from "../../support/onnx/layers.mjs";
import { readVectors } from "../../support/vectors.mjs";

await init();

const { cases } = readVectors("formats/nbits");

describe("quantizeModel writes the bytes of ONNX Runtime's packer for MatMulNBits", () => {
  for (const { name, bits, block, symmetric, shape, ...given } of cases) {
    it(name, async () => {
      const [inputs, outputs] = shape;
      const layer = {
        shape,
        graph: {
          inputs: [{ name: "x", shape: ["m", inputs] }],
          outputs: [{ name: "y", shape: ["m", outputs] }],
          nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
        },
      };
      const w = new Float32Array(fromBase64(given.w).slice().buffer);
      const scheme = symmetric ? `int${bits}-g${block}` : `uint${bits}-g${block}-affine`;
      const options = { target: "webgpu" };
      const { bytes, report } = await quantized(await modelOf(layer, w), () => scheme, options);
      assert.equal(report.rows[0].form, "MatMulNBits");
      const { tensors } = await readOnnx(bytesSource(bytes));
      const bytesOf = (part) => collect(tensors.get(`w_${part}`).bytes());
      sameDeep(await bytesOf("quantized"), fromBase64(given.packed), "codes");
      sameDeep(await bytesOf("scale"), fromBase64(given.scales), "scales");
      if (symmetric) assert.equal(tensors.has("w_zero_point"), false);
      else sameDeep(await bytesOf("zero_point"), fromBase64(given.zeroPoints), "zero points");
    });
  }
});
