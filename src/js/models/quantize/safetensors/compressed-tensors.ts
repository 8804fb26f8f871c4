// The layout of compressed-tensors, which vLLM and transformers read: packed integers with scales, by groups of
// modules that config.json names.
// Source: compressed-tensors 0.18 and llm-compressor's file-by-file quantizer.

import { rangeError } from "../../../base/errors.js";
import type { Core } from "../../../core/core.js";
import type { FileDType } from "../../../formats/dtypes.js";
import type { ModelTensor } from "../../open/model.js";
import type { LinearScheme, Scheme } from "../../scheme.js";
import { BitPacker } from "../../structure/bits.js";
import { encodeCodes, encodeParams } from "../../weights/slabs.js";
import { type FileEncoder, groupsPerRow } from "../../weights/slices.js";
import { encodeFloats, type ScaleDType } from "../halves.js";
import type { OutputTensor } from "../output-tensor.js";
import type { SchemeChoice } from "../types.js";
import { configOf } from "./compressed-config.js";
import { compressedEncoder } from "./rounding.js";
import { searchingEncoder } from "./searching.js";
import { isAnyQuantized, type Layout, metadataWith, type Weight } from "./weight-layout.js";

/** Bits of a scheme's codes. */
export const bitsOf = ({ dtype }: LinearScheme): number => Number(/\d+/.exec(dtype)?.[0]);

/** The float type of scales: that of the weight. */
export const scaleDTypeOf = ({ dtype }: ModelTensor): ScaleDType =>
  dtype === "float16" || dtype === "bfloat16" ? dtype : "float32";

/** Modules that engines look up in float: the table of tokens and the last layer. */
const FLOAT_MODULES = /(^|\.)(embed_tokens|tok_embeddings|word_embeddings|wte|lm_head|embed_out)$/;

/** Modules that hold the matrices of all experts in one tensor. */
export const EXPERTS = /(^|\.)(switch_\w+|experts)\./;

/** What weights/experts.ts knows how to cut. */
export const CUT_STACKS =
  "a stack is cut as [experts, outputs, inputs], for model types in config.json that docs/formats.md lists";

const STACK_OF_EXPERTS = `engines load a matrix for each expert (experts.0.up_proj.weight); ${CUT_STACKS}`;

/** The name of a weight's module: "a.b" of "a.b.weight"; undefined for other names. */
export const moduleOf = (name: string): string | undefined => /^(.+)\.weight$/.exec(name)?.[1];

/**
 * Which weights have their inputs quantized per token, if activations are dynamic: those of 8 bits without groups
 * (W8A8), so that a plan may also have weights for float inputs (W4A16); all weights if there are none of these.
 */
export function dynamicSchemes(choice: SchemeChoice): (scheme: LinearScheme) => boolean {
  const isW8A8 = (scheme: Scheme): boolean =>
    scheme.kind === "linear" && bitsOf(scheme) === 8 && scheme.granularity !== "group";
  const isMixed = choice.kind !== "uniform" && [...choice.schemes.values()].some(isW8A8);
  return isMixed ? isW8A8 : () => true;
}

/**
 * The layout of compressed-tensors.
 * @param isDynamic  whether inputs of the weights of a scheme are quantized per token; their codes are not packed
 */
export function compressedLayout(core: Core, isDynamic: (scheme: LinearScheme) => boolean): Layout {
  const isPacked = (scheme: LinearScheme): boolean => !isDynamic(scheme);
  return {
    target: "compressed-tensors",
    splitsExperts: "matrices",
    isAlwaysIndexed: true,
    style: { indent: 2, sorted: "all" },
    refuse(tensor, scheme, isExplicit) {
      const { name, shape } = tensor;
      const module = moduleOf(name);
      if (shape.length === 3 && EXPERTS.test(name)) return STACK_OF_EXPERTS;
      if (module === undefined) return 'the layout takes tensors named "….weight"';
      if (shape.length !== 2) return "the layout takes matrices";
      if (!isExplicit && FLOAT_MODULES.test(module)) return "engines read it in float";
      const columns = shape[1];
      if (scheme.granularity === "group" && columns % (scheme.groupSize as number) !== 0) {
        return `${columns} columns are no whole groups of ${scheme.groupSize}`;
      }
      return undefined;
    },
    encoderOf: (tensor, scheme) => encoderOf(core, tensor, scheme),
    parts: (weight, claim) => partsOf(weight, isPacked(weight.scheme), claim),
    // The reference writes none; transformers before 5 do not open a file without a format.
    metadata: (given) => metadataWith(given, "pt"),
    config: (entries) =>
      isAnyQuantized(entries) ? { quantization_config: configOf(entries, isPacked) } : undefined,
  };
}

function encoderOf(core: Core, tensor: ModelTensor, scheme: LinearScheme): FileEncoder {
  const dtype = scaleDTypeOf(tensor);
  const own = compressedEncoder(core, bitsOf(scheme), scheme.isAffine, dtype);
  return scheme.search === "minmax"
    ? own
    : searchingEncoder(core, scheme, own, "compressed", dtype);
}

function partsOf(
  weight: Weight,
  isPacked: boolean,
  claim: (name: string) => string,
): OutputTensor[] {
  const { tensor, scheme, source } = weight;
  const bits = bitsOf(scheme);
  const dtype = scaleDTypeOf(tensor);
  const inputBytes = tensor.byteLength;
  const [rows, columns] = tensor.shape;
  const perRow = groupsPerRow(source.groups);
  const isTensor = scheme.granularity === "tensor";
  const scaleShape = isTensor ? [1] : [rows, perRow];
  const module = moduleOf(tensor.name) as string;
  const named = (part: string): string => claim(`${module}.${part}`);
  const half = 2 ** (bits - 1);
  const parts: OutputTensor[] = [];
  if (isPacked) {
    const packed = [rows, Math.ceil((columns * bits) / 32)];
    parts.push({
      ...{ name: named("weight_packed"), dtype: "int32", shape: packed, inputBytes },
      async *stream(advance) {
        const packer = new RowPacker(bits, columns, half);
        yield* encodeCodes(source, advance, (codes) => packer.put(codes));
      },
    });
    const shape = new Uint8Array(BigInt64Array.of(BigInt(rows), BigInt(columns)).buffer);
    parts.push({
      ...{ name: named("weight_shape"), dtype: "int64", shape: [2], inputBytes: 0 },
      stream: () => [shape],
    });
  } else {
    parts.push({
      ...{ name: tensor.name, dtype: "int8", shape: [rows, columns], inputBytes },
      stream: (advance) =>
        encodeCodes(source, advance, (codes) =>
          new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength).slice(),
        ),
    });
  }
  parts.push({
    ...{ name: named("weight_scale"), dtype, shape: scaleShape, inputBytes },
    stream: (advance) =>
      encodeParams(source, advance, ({ scale }) => encodeFloats(scale.slice(), dtype)),
  });
  if (!scheme.isAffine) return parts;
  const isPackedZero = isPacked && !isTensor;
  const zeroShape = isPackedZero ? [Math.ceil((rows * bits) / 32), perRow] : scaleShape;
  const zeroDType: FileDType = isPackedZero ? "int32" : "int8";
  parts.push({
    ...{ name: named("weight_zero_point"), dtype: zeroDType, shape: zeroShape, inputBytes },
    async *stream(advance) {
      if (!isPackedZero) {
        yield* encodeParams(
          source,
          advance,
          ({ zero }) => new Uint8Array(Int8Array.from(zero).buffer),
        );
        return;
      }
      const packer = new ColumnPacker(bits, perRow, half);
      yield* encodeParams(source, advance, ({ zero }) => packer.put(zero));
      yield packer.end();
    },
  });
  return parts;
}

/** Packs codes row by row: each row begins with a word of its own. */
export class RowPacker {
  readonly #packer: BitPacker;
  #column = 0;

  /** @param half  added to each code, so that it is not negative */
  constructor(
    bits: number,
    readonly columns: number,
    half: number,
  ) {
    this.#packer = new BitPacker(bits, half);
  }

  put(codes: Uint8Array | Int8Array): Uint8Array {
    for (let at = 0; at < codes.length; ) {
      const end = Math.min(codes.length, at + this.columns - this.#column);
      this.#packer.put(codes, at, end);
      this.#column = (this.#column + end - at) % this.columns;
      at = end;
      if (this.#column === 0) this.#packer.align();
    }
    return this.#packer.take();
  }
}

/** Packs zero points along rows: the words of each column of groups are a stream of their own. */
class ColumnPacker {
  /** Zero points of up to 32 rows, which make `bits` words of each column. */
  readonly #rows: number[] = [];

  constructor(
    readonly bits: number,
    readonly columns: number,
    readonly half: number,
  ) {}

  put(zeros: Float32Array | Int32Array): Uint8Array {
    const blocks: Uint8Array[] = [];
    for (const zero of zeros) {
      this.#rows.push(zero + this.half);
      if (this.#rows.length === 32 * this.columns) blocks.push(this.#take());
    }
    return joined(blocks);
  }

  end(): Uint8Array {
    return this.#rows.length === 0 ? new Uint8Array(0) : this.#take();
  }

  #take(): Uint8Array {
    const { bits, columns } = this;
    const rows = this.#rows.length / columns;
    const height = Math.ceil((rows * bits) / 32);
    const words = new Uint8Array(4 * height * columns);
    for (let column = 0; column < columns; column++) {
      const packer = new BitPacker(bits);
      const codes = Uint8Array.from(
        { length: rows },
        (_, row) => this.#rows[row * columns + column],
      );
      packer.put(codes, 0, rows);
      packer.align();
      const bytes = packer.take(true);
      for (let row = 0; row < height; row++) {
        words.set(bytes.subarray(4 * row, 4 * row + 4), 4 * (row * columns + column));
      }
    }
    this.#rows.length = 0;
    return words;
  }
}

function joined(blocks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(blocks.reduce((length, block) => length + block.length, 0));
  let at = 0;
  for (const block of blocks) {
    whole.set(block, at);
    at += block.length;
  }
  return whole;
}

/** The error for a scheme that a layout does not have. */
export function refuseScheme(where: string, target: string, takes: string, got: string): Error {
  const problem = `target ${target} takes ${takes}, got "${got}"`;
  return rangeError("ZP_INVALID_SCHEME", where, problem);
}
