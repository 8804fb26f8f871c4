// plot_quantization_errors: the numbers of four heat maps. A page draws them; elsewhere they print.

import { bindArguments } from "../python/arguments.js";
import { type DTypeName, withText } from "../tensor/dtype.js";
import { checkTensor, type Tensor, viewOf } from "../tensor/tensor.js";
import { checkInteger, elements } from "../tensor/view.js";

/** One heat map. */
export interface PlotPanel {
  /** The heading. */
  readonly title: string;
  /** The values in row-major order. */
  readonly data:
    | Float32Array
    | Float64Array
    | Int8Array
    | Uint8Array
    | Int16Array
    | Uint16Array
    | Int32Array;
  /** The size of every dimension. */
  readonly shape: number[];
  /** The dtype of the tensor, without "torch.". */
  readonly dtype: DTypeName;
}

/** The result of `plot_quantization_errors`: plain data, which `structuredClone` copies. */
export interface QuantizationErrorsPlot {
  /** Distinguishes this plot from others. */
  readonly kind: "quantization-errors";
  /** The bits of a code, which determine the colour scale of the quantized panel. */
  readonly n_bits: number;
  /** Original, quantized, dequantized, and the absolute difference of the first and the third. */
  readonly panels: PlotPanel[];
}

/** Keywords of `plot_quantization_errors`. */
interface PlotKeywords {
  /** The bits of a code. Default: those of the codes' dtype; 8 for int64 and floats, which have no such number. */
  n_bits?: number;
}

/** The bits of a code, from a dtype of more than 8. */
const BITS: Partial<Record<DTypeName, number>> = { int16: 16, uint16: 16, int32: 32 };

/**
 * The numbers of four heat maps: the original, quantized and dequantized tensor, and
 * |original - dequantized|. A page can draw the result; `String(...)` prints it.
 *
 * The notebooks call this function but do not define it.
 *
 * Source: called in notebooks 1, 2 and 3.
 *
 * @param original_tensor, dequantized_tensor  shapes that fit each other, usually [rows, columns]
 * @param quantized_tensor  the codes
 * @param n_bits  the bits of a code; default: those of the codes' dtype; 8 for int64 and floats, which
 *                have no such number
 * @throws {RangeError} RuntimeError for shapes that do not fit each other
 */
export function plot_quantization_errors(
  original_tensor: Tensor,
  quantized_tensor: Tensor,
  dequantized_tensor: Tensor,
  n_bits?: number | PlotKeywords,
): QuantizationErrorsPlot;

export function plot_quantization_errors(...args: unknown[]): QuantizationErrorsPlot {
  const where = "plot_quantization_errors";
  const names = ["original_tensor", "quantized_tensor", "dequantized_tensor"];
  const [original, quantized, dequantized, bits] = bindArguments(
    where,
    [...names, "n_bits?"],
    args,
  );
  const [a, q, b] = [original, quantized, dequantized].map((tensor, i) =>
    checkTensor(where, names[i], tensor),
  );
  const n_bits = checkInteger(where, "n_bits", bits ?? BITS[q.dtype.name] ?? 8);
  const tensors: [title: string, tensor: Tensor][] = [
    ["Original Tensor", a],
    [`${n_bits}-bit Linear Quantized Tensor`, q],
    ["Dequantized Tensor", b],
    ["Quantization Error Tensor", a.sub(b).abs()],
  ];
  const plot: QuantizationErrorsPlot = {
    kind: "quantization-errors",
    n_bits,
    panels: tensors.map(([title, tensor]) => panel(title, tensor)),
  };
  return withText(plot, () => tensors.map(([title, tensor]) => `${title}\n${tensor}`).join("\n\n"));
}

function panel(title: string, tensor: Tensor): PlotPanel {
  const values = elements(viewOf(tensor));
  // A copy, since the tensor may change later; int64 as float64, which pages can draw.
  const data = values instanceof BigInt64Array ? Float64Array.from(values, Number) : values.slice();
  return { title, data, shape: [...tensor.shape], dtype: tensor.dtype.name };
}
