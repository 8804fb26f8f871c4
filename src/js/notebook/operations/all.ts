// All operations of the tables.

import { arithmetic } from "./arithmetic.js";
import { arrangement } from "./arrangement.js";
import { elementwise } from "./elementwise.js";
import type { OperationMethods } from "./methods/all.js";
import type { Operation } from "./operation.js";
import { products } from "./products.js";
import { reductions } from "./reductions.js";
import { selection } from "./selection.js";
import { sorting } from "./sorting.js";
import { statistics } from "./statistics.js";

/** Operations by the names of methods and functions. */
export const operations: { readonly [name in keyof OperationMethods<never>]: Operation } = {
  ...sorting,
  ...statistics,
  ...selection,
  ...arrangement,
  ...products,
  ...elementwise,
  ...arithmetic,
  ...reductions,
};
