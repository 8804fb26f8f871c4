// PyTorch's functions with given qparams in batches.

import type { QDType } from "../../base/dtype.js";
import { hasField } from "../../base/fields.js";
import { codesArray } from "../../base/typed-arrays.js";
import { TorchQuantizedTensor } from "../../torch/tensor.js";
import type { Names } from "../library/objects.js";
import type { Zeropoint } from "../library/zeropoint.js";
import { cutChannels, isObject, largeTensor, partOf } from "./boxes.js";
import { type Batches, outputOf, overBoxes, tensorOf } from "./over-boxes.js";

export async function* torchFunction(
  zp: Zeropoint,
  name:
    | "quantizePerTensor"
    | "quantizePerChannel"
    | "fakeQuantizePerTensor"
    | "fakeQuantizePerChannel",
  [x, scale, zeroPoint, ...rest]: readonly unknown[],
): Batches {
  const large = largeTensor(x);
  if (large === undefined) return undefined;
  const isChannel = name.endsWith("Channel");
  const isFake = name.startsWith("fake");
  const axis = isChannel ? rest[0] : undefined;
  const at = isFake ? rest.length - 1 : Number(isChannel) + 1;
  const options = isObject(rest[at]) ? rest[at] : {};
  const before = isObject(rest[at]) ? rest.slice(0, at) : rest;
  const { shape } = large;
  if (
    isChannel &&
    !(Number.isInteger(axis) && (axis as number) >= 0 && (axis as number) < shape.length)
  ) {
    return undefined;
  }
  const channels = shape[axis as number];
  const lengthOf = (value: unknown) =>
    (
      (isObject(value) && hasField(value, "data")
        ? (value as { data?: unknown }).data
        : value) as ArrayLike<number>
    )?.length;
  if (isChannel && [scale, zeroPoint].some((value) => lengthOf(value) !== channels))
    return undefined;
  const type = isFake ? Float32Array : codesArray(String(rest[Number(isChannel)]) as QDType);
  const data = outputOf(options.out, type as Float32ArrayConstructor, large.data.length);
  if (data?.length !== large.data.length) return undefined;
  const call = (zp as unknown as Names)[name];
  const first = yield* overBoxes(large, 1, 0, (part, box) => {
    const own = [scale, zeroPoint].map((value) =>
      isChannel ? cutChannels(value, axis, box) : value,
    );
    return call(part, ...own, ...before, { ...options, out: partOf(data, box) });
  });
  if (first === undefined || isFake) return first && tensorOf(options.out, data, shape);
  const { dtype, qscheme } = first as unknown as TorchQuantizedTensor;
  let whole = first as unknown as TorchQuantizedTensor;
  if (isChannel) {
    // One call on one value per channel gives the parameters of all channels in the function's own form.
    const ones = shape.map((length, i) => (i === axis ? length : 1));
    const one = { data: new Float32Array(channels), shape: ones };
    whole = call(one, scale, zeroPoint, axis, dtype) as TorchQuantizedTensor;
  }
  return new TorchQuantizedTensor(
    data as Int8Array,
    [...shape],
    dtype,
    qscheme,
    whole.scale,
    whole.zeroPoint,
    axis as number | undefined,
  );
}
