// Models of given weights, and their analysis.

import { dequantize, dequantizeBlocks, quantize, quantizeBlocks, tensor } from "zeropoint";
import { analyze, openModel } from "zeropoint/models";
import { layoutSafetensors, writeSafetensors } from "../../../internal/formats.mjs";
import { collect } from "../../support/files/formats.mjs";

/** A model of named `[shape, values, dtype?]`. */
export async function modelOf(tensors) {
  const layout = layoutSafetensors(
    Object.entries(tensors).map(([name, [shape, values, dtype = "float32"]]) => ({
      name,
      dtype,
      shape,
      bytes: () => [new Uint8Array(values.buffer)],
    })),
  );
  return await openModel(await collect(writeSafetensors(layout)));
}

/** The rows of an analysis. */
export async function rowsOf(model, options) {
  const rows = [];
  for await (const row of analyze(model, options)) rows.push(row);
  return rows;
}

/** The quantized and dequantized values of a scheme, by the functions of the library. */
export function valuesOf(name, data, ownShape) {
  const x = tensor(data, ownShape);
  const [, dtype, unit, size, affine, mse] =
    /^(u?int\d)-(tensor|channel|g(\d+))(-affine)?(-mse)?$/.exec(name) ?? [];
  if (dtype === undefined) {
    const type = { float16: "f16", bfloat16: "bf16" }[name] ?? name;
    return dequantizeBlocks(quantizeBlocks(x, type), type, ownShape).data;
  }
  const options = {
    dtype,
    scheme: affine ? "affine" : "symmetric",
    range: mse ? "mse" : "minmax",
    ...(unit === "channel" ? { axis: 0 } : size ? { groupSize: Number(size) } : {}),
  };
  return dequantize(quantize(x, options)).data;
}
