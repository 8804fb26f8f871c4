// Contracts between the safetensors writer and the layouts of quantized weights, and what several layouts have in common.

import type { ModelTensor } from "../../open/model.js";
import type { LinearScheme } from "../../scheme.js";
import { STRUCTURE_KEY } from "../../structure/structure.js";
import type { ExpertStack } from "../../weights/experts.js";
import type { WeightSource } from "../../weights/slabs.js";
import type { Encoder, FileEncoder, Groups } from "../../weights/slices.js";
import type { WeightView } from "../../weights/view.js";
import type { OutputTensor } from "../output-tensor.js";

/** A weight that a layout is asked to hold. */
export interface Weight {
  readonly tensor: ModelTensor;
  readonly scheme: LinearScheme;
  readonly view: WeightView;
  /** Its values, groups and encoder. */
  readonly source: WeightSource;
}

/** A tensor of the model, as a file to write has it. */
export interface Entry {
  readonly tensor: ModelTensor;
  /** The scheme of a quantized weight; undefined for any other tensor. */
  readonly scheme: LinearScheme | undefined;
  readonly parts: readonly OutputTensor[];
}

/** How the text of config.json and of the index is written. */
export interface TextStyle {
  readonly indent: number;
  /** Names in config.json that are sorted: of all objects, or of the outermost one. */
  readonly sorted: "all" | "top";
}

/** A layout of quantized weights. */
export interface Layout {
  readonly target: string;
  /** Whether an index is written for one file, too. */
  readonly isAlwaysIndexed: boolean;
  readonly style: TextStyle;
  /** The tensors that are written in the place of a stack of experts. */
  readonly splitsExperts?: keyof ExpertStack;
  /** Whether all scales of a file stand before all codes, by the order of safetensors. */
  readonly hasScalesFirst?: boolean;
  /**
   * Why a weight is kept: a name or a shape that the layout does not hold.
   * @param isExplicit  whether a plan or a function named its scheme
   * @param groups  of the weight
   * @throws {RangeError} `ZP_INVALID_SCHEME` for a scheme that the layout does not have
   */
  refuse(
    tensor: ModelTensor,
    scheme: LinearScheme,
    isExplicit: boolean,
    groups: Groups,
  ): string | undefined;
  /** The arithmetic of a weight. */
  encoderOf(tensor: ModelTensor, scheme: LinearScheme): Encoder | FileEncoder;
  /**
   * The tensors that hold a weight.
   * @param claim  makes a name that no other tensor has
   */
  parts(weight: Weight, claim: (name: string) => string): readonly OutputTensor[];
  /** Bytes by which a weight makes `__metadata__` longer; none if not given. */
  noteBytes?(name: string): number;
  /** `__metadata__` of a file. @param given  that of the source */
  metadata(
    given: ReadonlyMap<string, string>,
    entries: readonly Entry[],
  ): Iterable<readonly [string, string]>;
  /**
   * Fields for config.json, if the layout has any.
   * @param entries  of all files
   * @returns undefined if none of them is quantized
   */
  config?(entries: readonly Entry[]): Readonly<Record<string, unknown>> | undefined;
  /** What readers of the layout do not do with these weights. */
  notes?(entries: readonly Entry[]): readonly string[];
  /** Fields for `metadata` of the index. */
  indexed?(entries: readonly Entry[]): Readonly<Record<string, number>>;
}

/** Whether a layout holds any weight of these. */
export const isAnyQuantized = (entries: readonly Entry[]): boolean =>
  entries.some(({ scheme }) => scheme !== undefined);

/**
 * `__metadata__` of the source with the format that readers of a layout ask for. The structure that `save` writes is left
 * out: it describes the source's own tensors.
 */
export const metadataWith = (
  given: ReadonlyMap<string, string>,
  format: "pt" | "mlx",
): [string, string][] => [
  ...[...given].filter(([key]) => key !== "format" && key !== STRUCTURE_KEY),
  ["format", format],
];
