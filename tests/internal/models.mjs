// What the tests use of src/js/models beyond the public exports: parts of analyses, plans and quantization.

export { layoutOf } from "../../dist/models/analyze/layout.js";
export { TensorPasses } from "../../dist/models/analyze/passes.js";
export { sampleOf } from "../../dist/models/analyze/sample.js";
export { Sha256, sha256 } from "../../dist/models/analyze/sha256.js";
export { Totals } from "../../dist/models/analyze/totals.js";
export { loadModule } from "../../dist/models/load-module.js";
export { BlobReader } from "../../dist/models/open/blob-reader.js";
export { documentOf, weightsOf } from "../../dist/models/open/model.js";
export { READERS } from "../../dist/models/open/readers.js";
export { hullsOf } from "../../dist/models/plan/hull.js";
export { Checksum } from "../../dist/models/quantize/checksum.js";
export { OUTPUT_FORMATS } from "../../dist/models/quantize/formats.js";
export { parseFileType } from "../../dist/models/quantize/gguf/file-types.js";
export { chooseTensorTypes } from "../../dist/models/quantize/gguf/tensor-types.js";
export { formsFor } from "../../dist/models/quantize/onnx/choose.js";
export { readOutput } from "../../dist/models/quantize/output.js";
export { parseScheme } from "../../dist/models/scheme.js";
export { keptReason, refusedReason } from "../../dist/models/selection.js";
export { tiesOf } from "../../dist/models/verify/ties.js";
export { SharedBytes } from "../../dist/models/weights/held.js";
export { RowErrors } from "../../dist/models/weights/row-errors.js";
export { floatsOf, readRuns, runsWithin, valueSourceOf } from "../../dist/models/weights/values.js";
export { WeightView } from "../../dist/models/weights/view.js";
