// Rows of an analysis for plans.

import fc from "fast-check";

/** Rows of tensors with `[bytes, relative]` by scheme. */
export const rowsOf = (tensors) =>
  Object.entries(tensors).flatMap(([name, { parameters = 100, sha256, reason, ...schemes }]) =>
    Object.entries(schemes).map(([scheme, [bytes, relative]]) => ({
      name,
      scheme,
      parameters,
      bytes,
      relative,
      ...(sha256 && { sha256 }),
      ...(reason && { reason }),
    })),
  );

/** The schemes of a tensor: [bytes, relative error]. */
export const two = { small: [10, 0.5], large: [20, 0.25] };

const option = fc.record({
  bytes: fc.integer({ min: 1, max: 60 }),
  relative: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 0.25, 0.5)),
});
/** Rows of up to six tensors with up to four schemes each. */
export const randomRows = fc
  .array(
    fc.record({
      parameters: fc.integer({ min: 1, max: 1000 }),
      options: fc.array(option, { minLength: 1, maxLength: 4 }),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((tensors) =>
    tensors.flatMap(({ parameters, options }, i) =>
      options.map((each, j) => ({ name: `t${i}`, scheme: `s${j}`, parameters, ...each })),
    ),
  );
