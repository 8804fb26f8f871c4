// quantizationError in batches.

import type { ErrorTotal } from "../../quantize/metrics.js";
import type { Tensor } from "../../tensor/tensor.js";
import type { Zeropoint } from "../library/zeropoint.js";
import { boxesOf, type Fields, type Large, largeTensor, partsOf, VALUES } from "./boxes.js";
import type { Batches } from "./over-boxes.js";

/** Whole tiles of the core's sums. */
const SUMS = 4096;

export async function* quantizationError(
  zp: Zeropoint,
  [a, b, metric, options]: readonly unknown[],
): Batches<number> {
  const { axis, groupSize, blockShape } = (options ?? {}) as Fields;
  if ([axis, groupSize, blockShape].some((own) => own !== undefined)) return undefined;
  const [x, y] = [largeTensor(a), largeTensor(b)];
  if (x === undefined || String(y?.shape) !== String(x.shape)) return undefined;
  const total = x.data.length;
  const others = partsOf({ ...(y as Large), shape: [total] }, boxesOf([total], SUMS, VALUES));
  let sum: ErrorTotal | undefined;
  for await (const [part, { offset, size }] of partsOf(
    { ...x, shape: [total] },
    boxesOf([total], SUMS, VALUES),
  )) {
    const other = (await others.next()).value[0] as Fields;
    const pair = [part, other] as unknown as [Tensor, Tensor];
    sum = zp.measurePart(...pair, metric as "mse", offset, total, sum);
    yield (offset + size) / total;
  }
  return sum?.value;
}
