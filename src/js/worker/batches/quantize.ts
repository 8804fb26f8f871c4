// quantize, fakeQuantize and dequantize in batches.

import type { DType } from "../../base/dtype.js";
import { codesArray } from "../../base/typed-arrays.js";
import type { Zeropoint } from "../library/zeropoint.js";
import { alignmentOf, cutQParams, type Fields, isObject, largeTensor, partOf } from "./boxes.js";
import { CHOOSING, qparamsOf, withQParams } from "./choose-qparams.js";
import { type Batches, outputOf, overBoxes, tensorOf } from "./over-boxes.js";

export async function* quantize(
  zp: Zeropoint,
  [x, options = {}]: readonly unknown[],
): Batches<Fields> {
  const large = largeTensor(x);
  if (large === undefined || !isObject(options)) return undefined;
  const given = yield* withQParams(zp, x, options);
  if (given === undefined) return undefined;
  const { out, dtype = "int8" } = given;
  if (typeof dtype !== "string" || !/^u?int\d+$/.test(dtype)) return undefined;
  const data = outputOf(out, codesArray(dtype as DType), large.data.length);
  if (data?.length !== large.data.length) return undefined;
  const done = options.scale === undefined ? CHOOSING : 0;
  const first = yield* overBoxes(large, alignmentOf(given), done, (part, box) => {
    const own = cutQParams(given, large.shape, box);
    if (own === undefined) return undefined;
    return zp.quantize(
      part as unknown as Float32Array,
      { ...given, ...own, out: partOf(data, box) } as object,
    );
  });
  if (first === undefined) return undefined;
  const own = Object.entries(qparamsOf(given)).filter(([, value]) => value !== undefined);
  const chosen = typeof given.scale === "number" ? {} : Object.fromEntries(own);
  return { ...first, ...chosen, data, shape: [...large.shape] };
}

export async function* fakeQuantize(zp: Zeropoint, [x, options = {}]: readonly unknown[]): Batches {
  const large = largeTensor(x);
  if (large === undefined || !isObject(options)) return undefined;
  const given = yield* withQParams(zp, x, options);
  if (given === undefined) return undefined;
  const data = outputOf(given.out, Float32Array, large.data.length);
  if (data?.length !== large.data.length) return undefined;
  const done = options.scale === undefined ? CHOOSING : 0;
  const isDone = yield* overBoxes(large, alignmentOf(given), done, (part, box) => {
    const own = cutQParams(given, large.shape, box);
    if (own === undefined) return undefined;
    return zp.fakeQuantize(
      part as unknown as Float32Array,
      { ...given, ...own, out: partOf(data, box) } as object,
    );
  });
  return isDone && tensorOf(given.out, data, large.shape);
}

type QuantizedPart = Parameters<Zeropoint["dequantize"]>[0];

export async function* dequantize(zp: Zeropoint, [q, options]: readonly unknown[]): Batches {
  const large = largeTensor(q);
  if (large === undefined) return undefined;
  const { out } = (options ?? {}) as Fields;
  const data = outputOf(out, Float32Array, large.data.length) as Float32Array;
  if (data?.length !== large.data.length) return undefined;
  const isDone = yield* overBoxes(large, alignmentOf(large.fields), 0, (part, box) => {
    const qparams = cutQParams(large.fields, large.shape, box);
    if (qparams === undefined) return undefined;
    return zp.dequantize({ ...part, ...qparams } as unknown as QuantizedPart, {
      ...(options as object),
      out: partOf(data, box),
    });
  });
  return isDone && tensorOf(out, data, large.shape);
}
