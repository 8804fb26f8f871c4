// A weight and a scheme -> codes, scales and zero points in the order of the weight, piece by piece.

import { newArray, newArrayLike } from "../../../base/typed-arrays.js";
import type { Core } from "../../../core/core.js";
import { runOn } from "../../../core/init.js";
import type { OnnxWeight } from "../../../formats/onnx/weights.js";
import { dequantize } from "../../../quantize/dequantize.js";
import { quantize } from "../../../quantize/quantize.js";
import type { QuantizedTensor } from "../../../quantize/quantized-tensor.js";
import { rangesOf as sliceRangesOf } from "../../../tensor/range.js";
import { sizeOf } from "../../../tensor/shape.js";
import { searchHalfQuadratic, searchRange } from "../../range-search.js";
import type { LinearScheme } from "../../scheme.js";
import { heldTensor, SharedBytes } from "../../weights/held.js";
import { HELD_BYTES, SLAB_VALUES } from "../../weights/memory.js";
import {
  allValues,
  gatherRuns,
  type Run,
  readRuns,
  tensorOf,
  type ValueSource,
  type Values,
  valuesOfFile,
} from "../../weights/values.js";
import { type Axes3, axesAround, type Slices, viewOfOnnx } from "../../weights/view.js";
import type { ValueWatch } from "../watch.js";

/** Codes below 16 bits, one each. */
export type CodeArray = Int8Array | Uint8Array;

/** Memory of codes, used again for the next piece: pieces are packed, or copied, before they leave the library. */
class CodeMemory {
  #codes: CodeArray;

  constructor({ dtype }: LinearScheme) {
    this.#codes = dtype.startsWith("u") ? new Uint8Array(0) : new Int8Array(0);
  }

  take(length: number): CodeArray {
    if (this.#codes.length < length) {
      this.#codes = newArrayLike("quantizeModel", this.#codes, length);
    }
    return this.#codes.subarray(0, length);
  }
}

/** Consecutive codes, and the qparams of the slices in them; of a tensor or channels once for all pieces. */
export interface Piece {
  readonly codes: CodeArray;
  /** In double precision for a tensor, as `quantize` chooses it. */
  readonly scales: Float32Array | Float64Array;
  readonly zeroPoints: Int32Array;
}

type QParamArrays = Omit<Piece, "codes">;

/** The most scales that are held from writing codes to writing scales. */
export const MOST_SCALES = HELD_BYTES / 8;

/** Quantizes one weight. Nothing is read before it is asked for. */
export class WeightCoder {
  /** Outer indices, inputs, inner indices. */
  readonly view: Axes3;
  readonly #slices: Slices;
  /** Inputs that share a scale. */
  readonly groupSize: number;
  /** Groups of the inputs of one output. */
  readonly groups: number;
  #qparams: Promise<QParamArrays> | undefined;
  #values: ValueSource | undefined;

  constructor(
    readonly weight: OnnxWeight,
    readonly scheme: LinearScheme,
    /** Called before anything is read. */
    readonly hold: (self: WeightCoder) => void,
    readonly core: Core,
    /** Watches what becomes of the values. */
    readonly watch?: ValueWatch,
  ) {
    const view = viewOfOnnx(weight);
    this.view = view.aroundInputs;
    this.#slices = view.slices(scheme, "onnx");
    const inputs = this.view[1];
    this.groupSize = scheme.granularity === "group" ? this.#slices.groupSize : inputs;
    this.groups = Math.ceil(inputs / this.groupSize);
  }

  /** Forgets what is in memory. */
  release(): void {
    this.#values = undefined;
    if (this.scheme.granularity === "group") this.#qparams = undefined;
  }

  /** The values of the weight, read once if they are within the budget. */
  get values(): ValueSource {
    this.#values ??= valuesOfWeight(this.weight, this.core);
    return this.#values;
  }

  /** Scales: of groups in the order [outer, groups, inner], of channels by index, or one. */
  async scales(): Promise<Float32Array> {
    const { scales } = await this.#allQParams();
    return scales instanceof Float32Array ? scales : Float32Array.from(scales);
  }

  /** Zero points in the order of the scales. */
  async zeroPoints(): Promise<Int32Array> {
    return (await this.#allQParams()).zeroPoints;
  }

  /** How many scales there are. */
  get slices(): number {
    return this.#slices.count;
  }

  /** Codes in the order of the weight. */
  async *codes(): AsyncGenerator<CodeArray, void, undefined> {
    this.hold(this);
    // Scales are written next, unless they are too many to be held.
    const isHeld = this.scheme.granularity === "group" && this.slices <= MOST_SCALES;
    const held: QParamArrays = {
      scales: new Float32Array(isHeld ? this.slices : 0),
      zeroPoints: new Int32Array(isHeld && this.scheme.isAffine ? this.slices : 0),
    };
    let at = 0;
    for await (const { codes, scales, zeroPoints } of this.#pieces()) {
      if (isHeld) {
        held.scales.set(scales, at);
        if (this.scheme.isAffine) held.zeroPoints.set(zeroPoints, at);
        at += scales.length;
      }
      yield codes;
    }
    if (isHeld) this.#qparams = Promise.resolve(held);
  }

  async #allQParams(): Promise<QParamArrays> {
    this.hold(this);
    if (this.scheme.granularity !== "group") return await this.#sharedQParams();
    if (this.#qparams !== undefined) return await this.#qparams;
    const scales = new Float32Array(this.slices);
    const zeroPoints = new Int32Array(this.scheme.isAffine ? this.slices : 0);
    let at = 0;
    for await (const piece of this.#pieces()) {
      scales.set(piece.scales, at);
      if (this.scheme.isAffine) zeroPoints.set(piece.zeroPoints, at);
      at += piece.scales.length;
    }
    return { scales, zeroPoints };
  }

  #pieces(): AsyncGenerator<Piece, void, undefined> {
    this.watch?.restart();
    return this.scheme.granularity === "group" ? this.#groupPieces() : this.#sharedPieces();
  }

  /** Groups run along the inputs: rows of an output each, or inputs with a column for each output. */
  async *#groupPieces(): AsyncGenerator<Piece, void, undefined> {
    const [, inputs, inner] = this.view;
    const { groupSize } = this;
    const slices = { groupSize };
    const memory = new CodeMemory(this.scheme);
    if (inner === 1) {
      const rows = Math.max(1, Math.floor(SLAB_VALUES / inputs));
      for await (const values of allValues(this.values, undefined, rows * inputs)) {
        const shape = [values.length / inputs, inputs];
        const q = quantizeAs(this.scheme, values, shape, slices, this.core, memory);
        yield arraysOf(this.#seen(values, q));
      }
      return;
    }
    // A group is some rows of the file, and a column of them has a scale.
    for await (const { run, values } of readRuns(this.values, runsOfInputs(this.view, groupSize))) {
      const shape = [run.inputs, inner];
      const q = quantizeAs(this.scheme, values, shape, { axis: 1 }, this.core, memory);
      yield arraysOf(this.#seen(values, q));
    }
  }

  /** The tensor, or its channels, with the same qparams in all pieces. */
  async *#sharedPieces(): AsyncGenerator<Piece, void, undefined> {
    const qparams = await this.#sharedQParams();
    const memory = new CodeMemory(this.scheme);
    if (this.scheme.granularity === "tensor") {
      for await (const values of allValues(this.values)) {
        const q = quantizeBy(this.scheme, values, [values.length], qparams, this.core, memory);
        yield { ...qparams, codes: this.#seen(values, q).data as CodeArray };
      }
      return;
    }
    const runs = channelRuns(this.#channels);
    for await (const { run, values } of readRuns(this.values, runs)) {
      const { shape, first } = run;
      const part = {
        scales: qparams.scales.subarray(first, first + shape[1]),
        zeroPoints: qparams.zeroPoints.subarray(first, first + shape[1]),
      };
      const q = quantizeBy(this.scheme, values, shape, part, this.core, memory);
      yield { ...qparams, codes: this.#seen(values, q).data as CodeArray };
    }
  }

  #seen(values: Values, q: QuantizedTensor): QuantizedTensor {
    if (this.watch?.needs(arraysOf(q).scales)) {
      this.watch.see(values, runOn(this.core, () => dequantize(q)).data);
    }
    return q;
  }

  /** The weight with its channels in the middle; all of it for a tensor. */
  get #channels(): Axes3 {
    const { tensor, orientation } = this.weight;
    const { channelAxis } = orientation;
    if (this.scheme.granularity === "tensor") return [1, this.values.size, 1];
    return axesAround(tensor.shape, channelAxis, channelAxis);
  }

  #sharedQParams(): Promise<QParamArrays> {
    this.#qparams ??= this.#readSharedQParams();
    return this.#qparams;
  }

  async #readSharedQParams(): Promise<QParamArrays> {
    const { scheme, values } = this;
    const view = this.#channels;
    const [outer, channels, inner] = view;
    if (scheme.granularity === "tensor") return await qparamsOfTensor(scheme, values, this.core);
    if (scheme.search === "minmax") {
      const ends = await rangesOf(values, view, this.core);
      return arraysOf(quantizeAs(scheme, ends, [channels, 2], { axis: 0 }, this.core));
    }
    const scales = new Float32Array(channels);
    const zeroPoints = new Int32Array(channels);
    const step = Math.max(1, Math.floor(SLAB_VALUES / (outer * inner)));
    const memory = newArray(
      "quantizeModel",
      Float32Array,
      Math.min(step, channels) * outer * inner,
    );
    for (let first = 0; first < channels; first += step) {
      const end = Math.min(channels, first + step);
      const block = await gatherRuns(values, runsOfChannels(view, first, end), memory);
      const part = arraysOf(
        quantizeAs(scheme, block, [outer, end - first, inner], { axis: 1 }, this.core),
      );
      scales.set(part.scales, first);
      zeroPoints.set(part.zeroPoints, first);
    }
    return { scales, zeroPoints };
  }
}

/** The scale and zero point of a tensor that is read in pieces. */
async function qparamsOfTensor(
  scheme: LinearScheme,
  values: ValueSource,
  core: Core,
): Promise<QParamArrays> {
  const where = "quantizeModel";
  const { size: length } = values;
  let ends = await rangesOf(values, [1, 1, length], core);
  // NaN and infinities are refused below.
  const search = ends.every(Number.isFinite) ? scheme.search : "minmax";
  const slice = { length, parts: () => allValues(values) };
  const range = [ends[0], ends[1]] as const;
  if (search === "hqq") {
    const { scale, zero } = await searchHalfQuadratic(
      ...([core, where, scheme, slice, range] as const),
    );
    return { scales: Float64Array.of(scale), zeroPoints: Int32Array.of(zero) };
  }
  if (search === "mse") {
    ends = Float32Array.of(...(await searchRange(core, where, scheme, slice, range)));
  }
  return arraysOf(quantizeAs({ ...scheme, search: "minmax" }, ends, [2], {}, core));
}

/** The values of a weight, read once if they are within the budget. */
export const valuesOfWeight = ({ tensor }: OnnxWeight, core: Core): ValueSource =>
  valuesOfFile("quantizeModel", () => core, heldTensor("quantizeModel", tensor, new SharedBytes()));

/** The groups of inputs of all outputs of a matrix. */
function* runsOfInputs(
  [outer, inputs, inner]: Axes3,
  groupSize: number,
): Generator<Run & { inputs: number }> {
  for (let index = 0; index < outer; index++) {
    for (let input = 0; input < inputs; input += groupSize) {
      const count = Math.min(groupSize, inputs - input);
      const begin = (index * inputs + input) * inner;
      yield { begin, end: begin + count * inner, inputs: count };
    }
  }
}

/** The runs of some indices of the middle axis. */
function* runsOfChannels(
  [outer, middle, inner]: Axes3,
  first: number,
  end: number,
): Generator<Run> {
  for (let index = 0; index < outer; index++) {
    const start = index * middle * inner;
    yield { begin: start + first * inner, end: start + end * inner };
  }
}

/** Values in the order of the file: part of a channel, some channels of one outer index, or all of several. */
interface ChannelRun extends Run {
  readonly shape: readonly [outer: number, channels: number, inner: number];
  /** The first channel. */
  readonly first: number;
}

/** The runs of a view with channels in the middle. */
function* channelRuns([outer, channels, inner]: Axes3): Generator<ChannelRun, void, undefined> {
  const step = Math.min(channels, Math.max(1, Math.floor(SLAB_VALUES / inner)));
  const outers = step < channels ? 1 : Math.max(1, Math.floor(SLAB_VALUES / (channels * inner)));
  for (let index = 0; index < outer; index += outers) {
    for (let first = 0; first < channels; first += step) {
      const [height, width] = [Math.min(outers, outer - index), Math.min(step, channels - first)];
      for (let at = 0; at < inner; at += SLAB_VALUES) {
        const shape = [height, width, Math.min(SLAB_VALUES, inner - at)] as const;
        const begin = (index * channels + first) * inner + at;
        yield { begin, end: begin + sizeOf(shape), shape, first };
      }
    }
  }
}

/** The smallest and the largest value of each index of the middle axis; NaN where one is among them. */
async function rangesOf(source: ValueSource, view: Axes3, core: Core): Promise<Float32Array> {
  const where = "quantizeModel";
  const ends = new Float32Array(2 * view[1]);
  for (let i = 0; i < ends.length; i += 2) ends.set([Infinity, -Infinity], i);
  for await (const { run, values } of readRuns(source, channelRuns(view))) {
    const { shape, first } = run;
    const [outer, slices, inner] = shape;
    const found = sliceRangesOf(core, where, values, { outer, slices, inner }, "keep");
    for (let i = 0; i < found.length; i += 2) {
      const at = 2 * first + i;
      ends[at] = Math.min(ends[at], found[i]);
      ends[at + 1] = Math.max(ends[at + 1], found[i + 1]);
    }
  }
  return ends;
}

/** Quantizes values as a scheme says, in slices that the caller names. */
export function quantizeAs(
  { dtype, isAffine, search }: LinearScheme,
  values: Values,
  shape: readonly number[],
  slices: { readonly axis?: number; readonly groupSize?: number },
  core: Core,
  memory?: CodeMemory,
): QuantizedTensor {
  const options = {
    out: memory?.take(values.length),
    dtype,
    scheme: isAffine ? "affine" : "symmetric",
    range: search,
    ...slices,
  };
  const x = tensorOf(values, shape);
  return runOn(core, () => quantize(x, options as never)) as unknown as QuantizedTensor;
}

/** Values quantized with qparams that are known. */
function quantizeBy(
  { dtype }: LinearScheme,
  values: Values,
  shape: readonly number[],
  { scales, zeroPoints }: QParamArrays,
  core: Core,
  memory: CodeMemory,
): QuantizedTensor {
  const own = [1, scales.length, 1];
  const out = memory.take(values.length);
  const options =
    shape.length === 1
      ? { dtype, out, scale: scales[0], zeroPoint: zeroPoints[0] }
      : {
          ...{ dtype, out, axis: 1 },
          scale: { data: scales, shape: own },
          zeroPoint: { data: zeroPoints, shape: [...own] },
        };
  const x = tensorOf(values, shape);
  return runOn(core, () => quantize(x, options as never)) as unknown as QuantizedTensor;
}

/** Codes and qparams of a quantized tensor as arrays. */
export function arraysOf(q: QuantizedTensor): Piece {
  const { data, scale, zeroPoint } = q as unknown as {
    readonly data: CodeArray;
    readonly scale: number | { readonly data: Float32Array };
    readonly zeroPoint: number | { readonly data: Int32Array };
  };
  return {
    codes: data,
    scales: typeof scale === "number" ? Float64Array.of(scale) : scale.data,
    zeroPoints: typeof zeroPoint === "number" ? Int32Array.of(zeroPoint) : zeroPoint.data,
  };
}
