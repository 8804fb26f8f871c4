// The public exports of zeropoint/models, nothing else.

export type { PlatformByteStream } from "../base/platform.js";
export type { FileDType } from "../formats/dtypes.js";
export { analyze } from "./analyze/analyze.js";
export type { AnalyzeOptions } from "./analyze/options.js";
export type { AnalysisRow, ValueHistogram, WorstRow } from "./analyze/row.js";
export { DEFAULT_SCHEMES } from "./analyze/schemes.js";
export { type CompareOptions, compare } from "./compare/compare.js";
export type { CompareRow } from "./compare/row.js";
export {
  type OutputVerification,
  type VerifyOutputOptions,
  verifyOutput,
} from "./compare/verify.js";
export type { Activations } from "./inputs/activations.js";
export { klDivergence } from "./inputs/divergence.js";
export { InputMoments } from "./inputs/moments.js";
export { type RecordedInputs, recordInputs, recordOnnxInputs } from "./inputs/record.js";
export type { ModelInput } from "./open/graph-inputs.js";
export type { Model, ModelFormat, ModelTensor } from "./open/model.js";
export { type OpenModelOptions, openModel } from "./open/open.js";
export type { FileSource, RandomAccess } from "./open/sources.js";
export { describePlan } from "./plan/describe.js";
export type { PlanFormat } from "./plan/formats.js";
export { type FrontierOptions, type FrontierPoint, frontier } from "./plan/frontier.js";
export { DEFAULT_SAME } from "./plan/groups.js";
export type { MetricName } from "./plan/metric.js";
export { type Plan, type PlanConstraints, type PlanOptions, plan } from "./plan/plan.js";
export type { FileRows, PlanRow } from "./plan/rows.js";
export { type QuantizeModelOptions, quantizeModel } from "./quantize/quantize-model.js";
export type {
  ExternalData,
  RuntimeSession,
  RuntimeTensor,
  SessionFactory,
} from "./quantize/runtime.js";
export type { SchemeFunction, SchemePlan } from "./quantize/scheme-choice.js";
export {
  type StoredRow,
  type StoredRows,
  type StoredRowsOptions,
  storedRows,
} from "./quantize/stored-rows.js";
export type {
  OutputDifference,
  OutputFile,
  OutputFormat,
  QuantizedRow,
  QuantizeModelResult,
  QuantizeProgress,
  QuantizeReport,
} from "./quantize/types.js";
export { type LoadOptions, load } from "./save/load.js";
export { save } from "./save/save.js";
export type { Loaded, Saveable } from "./save/saveable.js";
export { schemeOptions } from "./scheme.js";
export type { FileArray } from "./structure/arrays.js";
export type { OtherTensor, RawTensor } from "./structure/tensors.js";
export type { Difference } from "./verify/difference.js";
export type { DerivationStatement, ResourceDescriptor } from "./verify/statement.js";
export type { TiedTensor, Verification, VerifyOptions } from "./verify/types.js";
export { verify } from "./verify/verify.js";
