// The methods of torch.Tensor that the tables beside this folder give, for TypeScript. Each optional argument may be
// replaced by an object of keyword arguments.

import type { ArithmeticMethods, ElementwiseMethods } from "./elementwise.js";
import type { ProductMethods } from "./products.js";
import type { ReductionMethods, SortingMethods, StatisticsMethods } from "./reductions.js";
import type { ArrangementMethods, SelectionMethods } from "./selection.js";

/** Methods that tables of operations give. */
export interface OperationMethods<T>
  extends SortingMethods<T>,
    StatisticsMethods<T>,
    SelectionMethods<T>,
    ArrangementMethods<T>,
    ProductMethods<T>,
    ElementwiseMethods<T>,
    ArithmeticMethods<T>,
    ReductionMethods<T> {}
