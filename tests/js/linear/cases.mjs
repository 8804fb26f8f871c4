// Options, bounds and values for the tests of linear layers.

import { init } from "zeropoint";

await init();

export const ACCUMULATE = ["exact", "float32"];

const WEIGHT_DTYPES = [
  "int2",
  "int3",
  "int4",
  "int6",
  "int8",
  "uint1",
  "uint2",
  "uint3",
  "uint4",
  "uint7",
  "uint8",
];

/** Options for the granularities of a weight. */
export function weightOptions(groupSize) {
  const kinds = WEIGHT_DTYPES.flatMap((dtype) => [
    ...(dtype.startsWith("u") ? [] : [{ dtype }]),
    { dtype, scheme: "affine" },
  ]);
  const slicings = [{}, { axis: 0 }, { axis: 1 }, { groupSize }];
  return kinds.flatMap((kind) => slicings.map((slicing) => ({ ...kind, ...slicing })));
}
