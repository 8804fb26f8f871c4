// Linear layers with int8 weights and activations in 8 bits: the weights' memory, and how it is used.

import type { Core } from "./build.js";
import type { CheckedTensor } from "./check.js";
import { rangeError, typeError, type ZeropointError } from "./errors.js";
import { runOn } from "./init.js";
import { aligned, type Block, type Memory } from "./memory.js";
import { MinMaxObserver, PerChannelMinMaxObserver, tensorRange } from "./observer.js";
import { refused } from "./qparams.js";
import { perChannelTensor, TorchQuantizedTensor } from "./qtensor.js";
import { quantizePerChannel, quantizePerTensor } from "./torch.js";

/** Scale and zero point of quint8 activations. */
export interface Activation {
  /** In double precision. */
  readonly scale: number;
  readonly zeroPoint: number;
}

/** Int8 weights whose zero point is 0. */
export interface Int8Weight {
  readonly outFeatures: number;
  readonly inFeatures: number;
  /** [outFeatures, inFeatures] */
  readonly codes: Int8Array;
  /** One, or one for each output. */
  readonly scales: ArrayLike<number>;
}

/** Core memory that a layer owns. */
interface Owned {
  readonly memory: Memory;
  readonly block: Block;
}

const abandoned = /* @__PURE__ */ new FinalizationRegistry<Owned>(({ memory, block }) => {
  memory.release(block);
});

/** Int8 weights, copied into the core's memory once to be used many times. */
export class Int8Layer {
  readonly inFeatures: number;
  readonly outFeatures: number;
  readonly #core: Core;
  readonly #scaleCount: number;
  readonly #codesAt: number;
  readonly #scalesAt: number;
  readonly #sumsAt: number;
  readonly #biasAt: number;
  #owned: Owned | undefined;

  /** @param bias  float32 for dynamic activations; for static ones see `setStaticBias` */
  constructor(
    core: Core,
    where: string,
    { outFeatures, inFeatures, codes, scales }: Int8Weight,
    bias: ArrayLike<number> | undefined,
  ) {
    this.#core = core;
    this.inFeatures = inFeatures;
    this.outFeatures = outFeatures;
    this.#scaleCount = scales.length;
    const { memory, module } = core;
    let bytes = 0;
    const place = (size: number): number => {
      const at = bytes;
      bytes += aligned(size);
      return at;
    };
    const codesAt = place(codes.length);
    const scalesAt = place(4 * scales.length);
    const sumsAt = place(4 * outFeatures);
    const biasAt = place(bias === undefined ? 0 : 4 * outFeatures);
    const block = memory.allocate(where, bytes);
    this.#codesAt = block.base + codesAt;
    this.#scalesAt = block.base + scalesAt;
    this.#sumsAt = block.base + sumsAt;
    this.#biasAt = bias === undefined ? 0 : block.base + biasAt;
    this.#owned = { memory, block };
    memory.write("Int8Array", this.#codesAt, codes);
    memory.write("Float32Array", this.#scalesAt, Float32Array.from(scales));
    const status = module.weightRowSums(this.#codesAt, outFeatures, inFeatures, this.#sumsAt);
    if (status !== "kOk") {
      memory.release(block);
      throw refused(where, status);
    }
    if (bias !== undefined) memory.write("Float32Array", this.#biasAt, Float32Array.from(bias));
    abandoned.register(this, this.#owned, this);
  }

  /** Turns the bias, in place, into int32 steps of the input's scale times the weight's. */
  setStaticBias(where: string, bias: Float32Array, { scale }: Activation): void {
    const { memory, module } = this.#core;
    const biasAt = memory.place(4 * bias.length);
    const base = memory.commit(where);
    try {
      memory.write("Float32Array", base + biasAt, bias);
      const status = module.quantizeBias(
        base + biasAt,
        bias.length,
        scale,
        this.#scalesAt,
        this.#scaleCount,
        this.#biasAt,
      );
      if (status !== "kOk") throw refused(where, status);
    } finally {
      memory.end();
    }
  }

  /**
   * Runs with float activations, which are quantized on the fly with one scale for all.
   * @param rows  of inFeatures values each
   */
  runDynamic(
    where: string,
    { data, size }: CheckedTensor,
    rows: number,
    reduceRange: boolean,
    out: Float32Array,
  ): void {
    this.checkAlive(where);
    if (out.length === 0) return;
    const { memory, module } = this.#core;
    const { inFeatures, outFeatures } = this;
    const xAt = memory.place(4 * size);
    const codesAt = memory.place(size);
    const rangeAt = memory.place(8);
    const scaleAt = memory.place(8);
    const zeroAt = memory.place(4);
    const outAt = memory.place(out.byteLength);
    const base = memory.commit(where);
    try {
      memory.write("Float32Array", base + xAt, data);
      // PyTorch takes an input without values for one of zeros.
      memory.write("Float32Array", base + rangeAt, [0, 0]);
      if (size > 0) module.minMax(base + xAt, size, base + rangeAt);
      const min = memory.readOne("Float32Array", base + rangeAt);
      const max = memory.readOne("Float32Array", base + rangeAt + 4);
      const [scaleOffset, zeroOffset] = [base + scaleAt, base + zeroAt];
      const chosen = module.chooseQuantizationParams(
        min,
        max,
        0,
        255,
        reduceRange,
        scaleOffset,
        zeroOffset,
      );
      if (chosen === "kNonFinite") throw nonFiniteInput(where, min, max);
      if (chosen !== "kOk") throw refused(where, chosen);
      const scale = memory.readOne("Float64Array", scaleOffset);
      const zeroPoint = memory.readOne("Int32Array", zeroOffset);
      const quantized = module.quantizePerTensor(
        base + xAt,
        size,
        scale,
        zeroPoint,
        "quint8",
        "saturate",
        base + codesAt,
      );
      if (quantized !== "kOk") throw refused(where, quantized);
      const status = module.linearDynamic(
        base + codesAt,
        rows,
        inFeatures,
        scale,
        zeroPoint,
        this.#codesAt,
        outFeatures,
        this.#scalesAt,
        this.#scaleCount,
        this.#sumsAt,
        this.#biasAt,
        base + outAt,
      );
      if (status !== "kOk") throw refused(where, status);
      memory.read(base + outAt, out);
    } finally {
      memory.end();
    }
  }

  /**
   * Runs with quint8 activations in and out.
   * @param codes  of rows × inFeatures
   */
  runStatic(
    where: string,
    codes: Uint8Array,
    rows: number,
    input: Activation,
    output: Activation,
    out: Uint8Array,
  ): void {
    this.checkAlive(where);
    if (out.length === 0) return;
    const { memory, module } = this.#core;
    const codesAt = memory.place(codes.length);
    const outAt = memory.place(out.length);
    const base = memory.commit(where);
    try {
      memory.write("Uint8Array", base + codesAt, codes);
      const status = module.linearStatic(
        base + codesAt,
        rows,
        this.inFeatures,
        input.scale,
        input.zeroPoint,
        this.#codesAt,
        this.outFeatures,
        this.#scalesAt,
        this.#scaleCount,
        this.#sumsAt,
        this.#biasAt,
        output.scale,
        output.zeroPoint,
        base + outAt,
      );
      if (status !== "kOk") throw refused(where, status);
      memory.read(base + outAt, out);
    } finally {
      memory.end();
    }
  }

  /** @throws {TypeError} `ZP_DISPOSED` */
  checkAlive(where: string): void {
    if (this.#owned !== undefined) return;
    throw typeError("ZP_DISPOSED", `${where}: the layer is disposed and cannot be used any more`);
  }

  /** Frees the weights' memory; a second time it does nothing. */
  dispose(): void {
    if (this.#owned === undefined) return;
    const { memory, block } = this.#owned;
    this.#owned = undefined;
    abandoned.unregister(this);
    memory.release(block);
  }
}

function nonFiniteInput(where: string, min: number, max: number): ZeropointError {
  return rangeError(
    "ZP_NON_FINITE",
    `${where}: input must be finite to choose its scale, got values from ${min} to ${max}`,
  );
}

/**
 * Quantizes the weights of a layer as PyTorch does for dynamic quantization: qint8, symmetric, with
 * max|w| / 127.5 for a scale; one for all weights, or one for each output.
 */
export function quantizeInt8Weight(
  core: Core,
  where: string,
  weight: CheckedTensor,
  perOutput: boolean,
): TorchQuantizedTensor<"qint8"> {
  const { data, shape, size } = weight;
  if (size === 0) return emptyWeight(shape, perOutput);
  const range = tensorRange(core, where, weight);
  if (range === undefined || !Number.isFinite(range.min) || !Number.isFinite(range.max)) {
    throw rangeError(
      "ZP_NON_FINITE",
      `${where}: weight must be finite to choose a scale, got values from ${range?.min} to ` +
        `${range?.max}`,
    );
  }
  const values = { data: Float32Array.from(data), shape };
  return runOn(core, () => {
    const observer = perOutput
      ? new PerChannelMinMaxObserver({ dtype: "qint8", qscheme: "per_channel_symmetric" })
      : new MinMaxObserver({ dtype: "qint8", qscheme: "per_tensor_symmetric" });
    observer.observe(values);
    const { scale } = observer.calculateQParams();
    if (!perOutput) return quantizePerTensor(values, scale, 0, "qint8");
    return quantizePerChannel(values, scale, new Int32Array(shape[0]), 0, "qint8");
  });
}

/** Without values there is nothing to choose from; any scale will do. */
function emptyWeight(shape: readonly number[], perOutput: boolean): TorchQuantizedTensor<"qint8"> {
  const codes = new Int8Array(0);
  if (!perOutput) {
    return new TorchQuantizedTensor(codes, shape, "qint8", "per_tensor_affine", 1, 0);
  }
  const scales = new Float32Array(shape[0]).fill(1);
  const qparams = { axis: 0, scales, zeroPoints: new Int32Array(shape[0]) };
  return perChannelTensor(codes, shape, "qint8", qparams);
}
