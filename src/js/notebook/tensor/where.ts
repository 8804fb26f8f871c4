// A choice between two operands, element by element.

import { pythonError } from "../python/errors.js";
import { isScalar } from "./cast.js";
import { dtypes, type Storage } from "./dtype.js";
import { commonLayout, keptStrides, type Operand, operandElements } from "./layout.js";
import { resultType } from "./promotion.js";
import type { View } from "./view.js";

/**
 * The elements of one operand where a condition holds, and of the other elsewhere.
 *
 * Source: `torch.where` with three arguments.
 *
 * @param condition  bool, or uint8
 * @returns a tensor of the shape to which all three broadcast, of the operands' common dtype
 * @throws {RangeError} RuntimeError for another condition, and for shapes that do not fit
 */
export function choose(where: string, condition: View, input: Operand, other: Operand): View {
  if (condition.dtype !== dtypes.bool && condition.dtype !== dtypes.uint8) {
    throw pythonError(
      "RuntimeError",
      `${where}: condition must be torch.bool, got ${condition.dtype}; comparisons such as gt make one`,
    );
  }
  const type = resultType(input, other);
  const placements = [condition, input, other].map((operand) =>
    isScalar(operand) ? operand : { shape: operand.shape, strides: keptStrides(operand) },
  );
  const layout = commonLayout(where, placements);
  const [chosen, a, b] = [
    operandElements(condition, dtypes.bool, layout),
    operandElements(input, type, layout),
    operandElements(other, type, layout),
  ];
  const out = type.allocate(layout.count);
  const at = (values: Storage, i: number): number | bigint => values[values.length === 1 ? 0 : i];
  for (let i = 0; i < layout.count; i++) out[i] = at(at(chosen, i) ? a : b, i);
  return { storage: out, dtype: type, shape: layout.shape, strides: layout.strides, offset: 0 };
}
