// Quantized tensors of TensorFlow.js models.

import { bytesOf, decodeValues } from "../../formats/dtypes.js";
import { integersOf } from "../../formats/layouts/scaled.js";
import type { FileTensor } from "../../formats/source.js";
import type { TfjsTensor } from "../../formats/tfjs.js";
import type { QuantizedTensor } from "../../quantize/quantized-tensor.js";
import { sizeOf } from "../../tensor/shape.js";
import { notExpressible, type StoredWeight } from "./weight.js";

/** Finds the tensors with codes: value = scale * code + min. */
export function findTfjsWeights(files: ReadonlyMap<string, FileTensor>): StoredWeight[] {
  return Array.from(files as ReadonlyMap<string, TfjsTensor>).flatMap(([name, tensor]) => {
    const { shape, dtype, quantization } = tensor;
    if (quantization === undefined) return [];
    const { scale, min } = quantization;
    const parts = { codes: name };
    const decode = (bytes: Uint8Array, out: Float32Array): Float32Array => {
      const values = decodeValues(dtype, bytes, out);
      for (let i = 0; i < values.length; i++) {
        const value = values[i] * scale + min;
        values[i] = quantization.dtype === "int32" ? Math.round(value) : value;
      }
      return values;
    };
    const width = (bytesOf(dtype, 8) as number) / 8;
    return {
      name,
      shape,
      dtype,
      parts,
      window: {
        unit: 8,
        async read(load, first, out) {
          const end = Math.ceil((first + out.length) * width);
          decode(await load(name, first * width, end), out);
        },
      },
      async read(load) {
        return decode((await load(parts)).codes.bytes, new Float32Array(sizeOf(shape)));
      },
      async readQuantized(load) {
        if (!Number.isFinite(min)) throw notExpressible(name, `has the offset ${min}`);
        const { bytes } = (await load(parts)).codes;
        const codes = integersOf(dtype, bytes, sizeOf(shape));
        if (codes === undefined) {
          throw notExpressible(name, `has codes of ${dtype}`);
        }
        const own = { data: codes, shape: [...shape], dtype, scheme: "affine", scale };
        // The converter moves min to a multiple of the scale, so that 0 has a code.
        const zeroPoint = Math.round(-min / scale);
        const isWhole = Math.abs(zeroPoint * scale + min) <= scale * 2 ** -20;
        const isCode = zeroPoint >= 0 && zeroPoint < 2 ** (8 * codes.BYTES_PER_ELEMENT);
        const zero = isWhole && isCode ? { zeroPoint } : { offset: min };
        return { ...own, ...zero } as unknown as QuantizedTensor;
      },
    } satisfies StoredWeight;
  });
}
