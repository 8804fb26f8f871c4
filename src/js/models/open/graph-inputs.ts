// The inputs of a model with a graph.

import type { FileDType } from "../../formats/dtypes.js";
import type { OnnxModel } from "../../formats/onnx/graph.js";
import { dtypeOf } from "../../formats/onnx/tensor.js";

/** An input of a model that can be run, as the file declares it. */
export interface ModelInput {
  /** Its name in the graph. */
  readonly name: string;
  /** The dtype of its values; undefined for a type that is no tensor or not known. */
  readonly dtype: FileDType | undefined;
  /** Lengths of the axes: numbers, names of open ones, or undefined; undefined as a whole if nothing is declared. */
  readonly shape: readonly (number | string | undefined)[] | undefined;
}

/** The inputs of an ONNX model without those that have values in the file. */
export function inputsOf({ graph }: OnnxModel): readonly ModelInput[] {
  const constants = new Set(graph.initializers.map(({ name }) => name));
  const own = graph.inputs.filter(({ name }) => !constants.has(name));
  return Object.freeze(
    own.map(({ name, elementType, shape }) =>
      Object.freeze({
        name,
        dtype: dtypeOf(elementType),
        shape: shape && Object.freeze([...shape]),
      }),
    ),
  );
}
