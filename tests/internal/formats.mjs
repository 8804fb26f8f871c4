// What the tests use of src/js/formats beyond the public exports: readers and writers of model files.

export { Budget } from "../../dist/formats/budget.js";
export { crc32 } from "../../dist/formats/crc32.js";
export {
  bytesOf,
  decodeValues,
  dtypeInfo,
  isDecodable,
  swapBytes,
} from "../../dist/formats/dtypes.js";
export { readGGUF } from "../../dist/formats/gguf/read.js";
export { ggmlTypeNumber } from "../../dist/formats/gguf/types.js";
export { ggufEntry, layoutGGUF, writeGGUF } from "../../dist/formats/gguf/write.js";
export { readJson } from "../../dist/formats/json.js";
export {
  describeQuantization,
  METHODS,
  readQuantizationConfig,
} from "../../dist/formats/layouts/checkpoints/config.js";
export { expressionOf } from "../../dist/formats/layouts/checkpoints/expressions.js";
export {
  findQuantizedWeights,
  LAYOUT_NAMES,
} from "../../dist/formats/layouts/checkpoints/patterns.js";
export { unpackWeight } from "../../dist/formats/layouts/checkpoints/weight.js";
export { dequantizeValues, roundTo } from "../../dist/formats/layouts/unpack.js";
export { readNpy, writeNpy } from "../../dist/formats/npy.js";
export { readNpz } from "../../dist/formats/npz/read.js";
export { writeNpz } from "../../dist/formats/npz/write.js";
export { OnnxNode } from "../../dist/formats/onnx/graph.js";
export { readOnnx } from "../../dist/formats/onnx/read.js";
export { dataTypeOf, OnnxTensor } from "../../dist/formats/onnx/tensor.js";
export {
  bytesField,
  floatField,
  joinParts,
  varint,
  varintField,
} from "../../dist/formats/onnx/wire.js";
export { nodeMessage, OnnxEditor, tensorMessage } from "../../dist/formats/onnx/write.js";
export { addressBeside, checkRelativePath } from "../../dist/formats/paths.js";
export {
  layoutSafetensors,
  readSafetensors,
  readShardIndex,
  shardIndexText,
  writeSafetensors,
} from "../../dist/formats/safetensors.js";
export { bytesSource } from "../../dist/formats/source.js";
export { readTfjs } from "../../dist/formats/tfjs.js";
export { axesIn } from "../../dist/formats/tfjs-topology.js";
export { readValues } from "../../dist/formats/values.js";
