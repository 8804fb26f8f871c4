// pack and unpack in batches of whole groups of eight codes.

import type { DType } from "../../base/dtype.js";
import { codesArray } from "../../base/typed-arrays.js";
import type { Zeropoint } from "../library/zeropoint.js";
import { type Fields, isShape, largeTensor, product } from "./boxes.js";
import { type Batches, overBoxes } from "./over-boxes.js";

const bitsOf = (dtype: unknown): number => Number(/\d+$/.exec(String(dtype))?.[0] ?? 0);

export async function* pack(zp: Zeropoint, [q]: readonly unknown[]): Batches {
  const large = largeTensor(q);
  const bits = bitsOf(large?.fields.dtype);
  if (large === undefined || typeof large.fields.scale !== "number" || bits === 0) return undefined;
  const flat = { ...large, shape: [large.data.length] };
  const bytes = new Uint8Array(Math.ceil((flat.data.length * bits) / 8));
  const isDone = yield* overBoxes(flat, 8, 0, (codes, { offset }) => {
    const part = zp.pack(codes as unknown as Parameters<typeof zp.pack>[0]);
    bytes.set(part, (offset * bits) / 8);
    return part;
  });
  return isDone && bytes;
}

export async function* unpack(zp: Zeropoint, [bytes, meta]: readonly unknown[]): Batches {
  const { shape, dtype, scale } = (meta ?? {}) as Fields;
  const bits = bitsOf(dtype);
  if (!isShape(shape) || typeof scale !== "number" || bits === 0) return undefined;
  const size = product(shape);
  const large = largeTensor(bytes);
  if (large?.data.length !== Math.ceil((size * bits) / 8)) return undefined;
  const data = new (codesArray(dtype as DType))(size);
  // Boxes of whole groups of eight codes.
  const first = yield* overBoxes(large, bits < 8 ? bits : 4, 0, ({ data: part }, box) => {
    const start = (box.offset * 8) / bits;
    const count = Math.min(size - start, (box.size * 8) / bits);
    const own = { ...(meta as object), shape: [count] } as unknown as Parameters<
      typeof zp.unpack
    >[1];
    const codes = zp.unpack(part as Uint8Array, own);
    data.set(codes.data as Int8Array, start);
    return codes;
  });
  return first && { ...first, data, shape: [...shape] };
}
