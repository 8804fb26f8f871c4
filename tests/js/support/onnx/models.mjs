// Small ONNX models, made with the writers of src/js/formats/onnx.

import {
  bytesField,
  dataTypeOf,
  nodeMessage,
  tensorMessage,
  varintField,
} from "../../../internal/formats.mjs";
import { collect } from "../files/formats.mjs";

/** A tensor to write. @param data  a typed array with as many bytes as the dtype's values take */
export const constant = (name, shape, data, dtype = dtypeOf(data)) => ({
  name,
  shape,
  dtype,
  bytes: () => [new Uint8Array(data.buffer, data.byteOffset, data.byteLength)],
});

const DTYPES = {
  Float32Array: "float32",
  Float64Array: "float64",
  Int8Array: "int8",
  Uint8Array: "uint8",
  Int32Array: "int32",
  BigInt64Array: "int64",
};
const dtypeOf = (data) => DTYPES[data.constructor.name];

/** A value's name, dtype and shape: numbers, or names of unknown lengths. */
const valueMessage = ({ name, shape, dtype = "float32" }) => {
  const dims = shape.flatMap((length) =>
    bytesField(1, typeof length === "number" ? varintField(1, length) : bytesField(2, length)),
  );
  const type = [...varintField(1, dataTypeOf(dtype)), ...bytesField(2, dims)];
  return [...bytesField(1, name), ...bytesField(2, bytesField(1, type))];
};

/** The fields of a node. `graphs`: subgraphs by the name of their attribute. */
const nodeFields = ({ graphs = {}, ...node }) => [
  ...nodeMessage(node),
  ...Object.entries(graphs).flatMap(([name, graph]) =>
    bytesField(5, [
      ...bytesField(1, name),
      ...bytesField(6, graphMessage({ name, ...graph })),
      ...varintField(20, 5),
    ]),
  ),
];

const graphMessage = ({ name = "g", nodes, initializers = [], inputs = [], outputs }) => [
  ...nodes.flatMap((node) => bytesField(1, nodeFields(node))),
  ...bytesField(2, name),
  ...initializers.flatMap((tensor) => bytesField(5, tensorMessage(tensor, tensor.place))),
  ...inputs.flatMap((value) => bytesField(11, valueMessage(value))),
  ...outputs.flatMap((value) => bytesField(12, valueMessage(value))),
];

/**
 * The bytes of a model.
 * @param graph  { nodes, initializers, inputs, outputs }; the `place` of an initializer is in external data
 * @param options.opsets  versions by domain
 */
export const onnxModel = (graph, { irVersion = 8, opsets = { "": 17 } } = {}) =>
  collect(
    (async function* () {
      const parts = [
        ...varintField(1, irVersion),
        ...bytesField(7, graphMessage(graph)),
        ...Object.entries(opsets).flatMap(([domain, version]) =>
          bytesField(8, [...bytesField(1, domain), ...varintField(2, version)]),
        ),
      ];
      for (const part of parts) {
        if (part instanceof Uint8Array) yield part;
        else yield* part.bytes();
      }
    })(),
  );

/** Numbers of a normal distribution, the same for every call with the same seed. */
export function normals(length, seed = 1) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return Float32Array.from(
    { length },
    () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()),
  );
}
