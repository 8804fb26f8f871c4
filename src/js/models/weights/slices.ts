// Slices of a weight -> scales, zero points and codes, by the core: what `quantize` makes of them. Layouts of other engines
// have encoders of their own.

import { fieldOf, ownFields } from "../../base/fields.js";
import type { Core } from "../../core/core.js";
import { runOn } from "../../core/init.js";
import { chooseQParams } from "../../quantize/qparams.js";
import { quantize } from "../../quantize/quantize.js";
import { type Slice, searchHalfQuadratic, searchRange } from "../range-search.js";
import type { LinearScheme } from "../scheme.js";
import { tensorOf, type Values } from "./values.js";
import type { Slices } from "./view.js";

/**
 * Rows of a weight, and groups of consecutive values of a row; the last group of a row may be short. With `height`
 * every column of so many rows is a group.
 */
export interface Groups {
  readonly rows: number;
  readonly columns: number;
  readonly groupSize: number;
  readonly height?: number;
}

/** The slices of a weight as groups of rows, or as columns. */
export function groupsOf({ axes: [outer, length, inner], groupSize }: Slices): Groups {
  if (inner > 1) return { rows: outer * length, columns: inner, groupSize: 1, height: length };
  return { rows: outer, columns: length, groupSize };
}

/** Groups of a row. */
export const groupsPerRow = ({ columns, groupSize }: Groups): number =>
  Math.ceil(columns / groupSize);

/** All groups. */
export const groupCount = (groups: Groups): number =>
  (groups.rows / (fieldOf(groups, "height") ?? 1)) * groupsPerRow(groups);

/** Scales and zero points (or offsets) of some groups, in row-major order. */
export interface Params {
  readonly scale: Float32Array;
  readonly zero: Float32Array | Int32Array;
}

/** A group that is longer than a unit: its finite ends, and its values in units. */
export interface LongGroup extends Slice {
  readonly min: number;
  readonly max: number;
}

/** How values become codes. */
export interface Encoder {
  /** Whether the params of a group depend on its smallest and largest value alone. */
  readonly isByEnds?: boolean;
  /** Params of whole groups. @param groups  rows and columns of `values` */
  choose(values: Values, groups: Groups): Params;
  /** Params of one group that is too long to be held. */
  chooseLong(group: LongGroup): Params | Promise<Params>;
  /** Codes of values with these params, valid until the next call. */
  encode(values: Values, groups: Groups, params: Params): Uint8Array | Int8Array;
}

/** An encoder of a file whose values are not those of `quantize` and `dequantize`. */
export interface FileEncoder extends Encoder {
  /** The values that readers of the file make of codes. */
  restore(codes: Uint8Array | Int8Array, groups: Groups, params: Params): Float32Array;
}

/**
 * Scale and zero point per slice as `quantize` chooses them, rounded to float32; codes as it computes them.
 * @param float  choose real offsets instead of zero points
 */
export function ownEncoder(core: Core, scheme: LinearScheme, float?: "float"): Encoder {
  const { dtype, isAffine, search } = scheme;
  const own = { dtype, scheme: isAffine ? "affine" : "symmetric" } as const;
  const slices = (groups: Groups) => {
    const { columns, groupSize } = groups;
    if (fieldOf(groups, "height") !== undefined) return { axis: 1 };
    return groupSize === columns ? { axis: 0 } : { groupSize };
  };
  const chooseIn = (values: Values, groups: Groups, range: LinearScheme["search"]) => {
    const x = tensorOf(values, [groups.rows, groups.columns]);
    const options = { ...own, ...slices(groups), range, zeroPoint: float };
    const { scale, zeroPoint, offset } = ownFields(
      runOn(core, () => chooseQParams(x, options as never)),
    ) as {
      scale: { data: Float32Array };
      zeroPoint?: { data: Int32Array };
      offset?: { data: Float32Array };
    };
    const { data: zero } = (offset ?? zeroPoint) as { data: Int32Array | Float32Array };
    return { scale: scale.data, zero };
  };
  /** The codes of the last call, whose array the next call of this length fills. */
  let codes: Uint8Array | Int8Array | undefined;
  return {
    isByEnds: search === "minmax",
    choose: (values, groups) => chooseIn(values, groups, search),
    chooseLong: async (group) => {
      const where = "quantizeModel";
      let ends = [group.min, group.max] as const;
      if (search === "hqq") {
        const own = await searchHalfQuadratic(core, where, scheme, group, ends, float);
        return { scale: Float32Array.of(own.scale), zero: Float32Array.of(own.zero) };
      }
      if (search === "mse") ends = await searchRange(core, where, scheme, group, ends);
      const two = { rows: 1, columns: 2, groupSize: 2 };
      return chooseIn(Float32Array.of(...ends), two, "minmax");
    },
    encode: (values, groups, { scale, zero }) => {
      const x = tensorOf(values, [groups.rows, groups.columns]);
      const shape = [scale.length];
      const given = { scale: { data: scale, shape }, zeroPoint: { data: zero, shape } };
      const out = codes?.length === values.length ? codes : undefined;
      const options = { ...own, ...slices(groups), ...given, ...(out && { out }) };
      codes = runOn(core, () => quantize(x, options as never)).data as Uint8Array | Int8Array;
      return codes;
    },
  };
}
