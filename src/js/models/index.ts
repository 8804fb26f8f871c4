// The public exports of zeropoint/models, nothing else.

export type { FileDType } from "../formats/dtypes.js";
export type { FileArray } from "./kinds/arrays.js";
export type { OtherTensor } from "./kinds/tensors.js";
export { type LoadOptions, load } from "./load.js";
export type { Model, ModelFormat, ModelTensor } from "./model.js";
export { type OpenModelOptions, openModel } from "./open.js";
export { save } from "./save.js";
export type { FileSource, RandomAccess } from "./sources.js";
export type { Loaded, Saveable } from "./things.js";
