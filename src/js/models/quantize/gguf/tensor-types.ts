// The dtype that llama-quantize gives each tensor.
// Source: llama.cpp 0.7 (llama-quant.cpp), without its rules for the lattice types.

import { rangeError } from "../../../base/errors.js";
import { fieldOf } from "../../../base/fields.js";
import { dtypeInfo, type FileDType, isBlockType } from "../../../formats/dtypes.js";
import type { FileType } from "./file-types.js";

/** What the mixes depend on, besides names and shapes. */
export interface ModelFacts {
  readonly architecture: string;
  readonly layers: number;
  /** Attention heads of the first layer, and those of its keys and values. */
  readonly heads: number;
  readonly keyHeads: number;
  readonly experts: number;
}

/** A tensor as the choice sees it. */
export interface TensorFacts {
  readonly name: string;
  /** Row-major. */
  readonly shape: readonly number[];
  readonly dtype: FileDType;
}

/** The dtype of a tensor in the new file. */
export interface TensorChoice {
  readonly dtype: FileDType;
  /** Why it is another one than the file type's. */
  readonly reason?: string;
}

/** How the types of a file's tensors are chosen. */
export interface ChoiceOptions {
  readonly fileType: FileType;
  /** Give all weights the same dtype. */
  readonly pure: boolean;
  /** dtypes of the token embeddings and of output.weight. Default: by the mix. */
  readonly tokenEmbedding?: FileDType | undefined;
  readonly output?: FileDType | undefined;
  /** Whether there is an importance matrix. */
  readonly hasImportance: boolean;
  /** dtypes of weights whose names match an expression anywhere; the first match decides. */
  readonly overrides?: readonly TypeOverride[];
}

/** A dtype for weights whose names match an expression. */
export type TypeOverride = readonly [pattern: RegExp, dtype: FileDType];

/**
 * Chooses the dtype of each tensor as llama-quantize does.
 * @param tensors  in the order of the new file, on which the counts of layers depend
 * @throws {RangeError} `ZP_INVALID_SHAPE` if rows are not whole blocks of Q1_0 or of a given dtype; `ZP_INVALID_OPTION`
 *   if a weight of Q2_K_S has no importance matrix
 */
export function chooseTensorTypes(
  where: string,
  tensors: readonly TensorFacts[],
  facts: ModelFacts,
  options: ChoiceOptions,
): TensorChoice[] {
  const mix = new Mix(tensors, facts, options);
  return tensors.map((tensor) => {
    const { fileType } = options;
    const kept = keptReason(tensor);
    if (fileType.dtype === undefined) return { dtype: tensor.dtype, reason: "COPY" };
    if (kept !== undefined) return { dtype: tensor.dtype, reason: kept };
    const given = givenType(tensor, options);
    if (given !== undefined) {
      if (!fits(tensor, given)) throw notWhole(where, tensor, given);
      return { dtype: given, reason: "its type is given" };
    }
    const base = fileType.dtype;
    if (!isBlockType(base)) return { dtype: base };
    const override = options.overrides?.find(([pattern]) => pattern.test(tensor.name))?.[1];
    // As in llama-quantize, weights of a given type are not counted among those of the mix.
    const chosen = override ?? (options.pure ? base : mix.dtypeOf(tensor));
    const dtype = fitted(where, tensor, chosen);
    if (dtype !== chosen) {
      const { blockLength } = dtypeInfo(chosen) as { blockLength: number };
      const reason = `rows of ${tensor.shape.at(-1)} values are not blocks of ${blockLength} (${chosen})`;
      return { dtype, reason };
    }
    checkImportance(where, tensor, dtype, options);
    if (override !== undefined) return { dtype, reason: "its type is given" };
    return chosen === base ? { dtype } : { dtype, reason: `mix of ${fileType.name}` };
  });
}

/** The dtype that the options give a tensor, in every mix and without one. */
function givenType({ name }: TensorFacts, options: ChoiceOptions): FileDType | undefined {
  if (EMBEDDINGS.includes(name)) return options.tokenEmbedding;
  return name === "output.weight" ? options.output : undefined;
}

/** Parts of names of small or sensitive tensors. */
const KEPT_PARTS = [
  "_norm.weight",
  "ffn_gate_inp.weight",
  "ffn_gate_tid2eid.weight",
  "altup",
  "laurel",
  "per_layer_model_proj",
  "ssm_conv1d",
  "shortconv.conv.weight",
  "indexer.k_proj.weight",
  "indexer.q_proj.weight",
  "attn_rel_b.weight",
  ".position_embd",
  "sam.pos_embd",
  "sam.neck.",
  "sam.net_",
  ".rel_pos",
  ".patch_embd",
  ".patch_merger",
  "a.rvq.codebook",
  "mm.a.code_embd",
];
const KEPT_NAMES = ["position_embd.weight", "token_types.weight"];
const KEPT_OF_RWKV = /time_mix_(first|[wva][012]|g[12]|decay_w[12]|lerp_fused)\.weight/;

/** Why a tensor is copied. @returns undefined if it is quantized */
function keptReason({ name, shape }: TensorFacts): string | undefined {
  if (ggmlRank(shape) < 2) return "a vector";
  if (!name.endsWith("weight")) return "its name does not end in weight";
  if (name.includes("_norm.weight")) return "a norm";
  const isKept = KEPT_NAMES.includes(name) || KEPT_PARTS.some((part) => name.includes(part));
  return isKept || KEPT_OF_RWKV.test(name) ? "small or sensitive, by its name" : undefined;
}

/** Why llama.cpp takes a tensor in float32 alone. @returns undefined if it takes other dtypes */
export function float32Reason({ name, shape }: Omit<TensorFacts, "dtype">): string | undefined {
  if (ggmlRank(shape) < 2) return "a vector: llama.cpp takes these in float32 alone";
  return name.includes("_norm.weight")
    ? "a norm: llama.cpp takes these in float32 alone"
    : undefined;
}

/** Axes without the outermost ones of length 1, as ggml counts them. */
export function ggmlRank(shape: readonly number[]): number {
  const first = shape.findIndex((length) => length !== 1);
  return first < 0 ? 1 : shape.length - first;
}

/** Dtypes that replace those of 256 values to a block, and one of 64. float16 replaces those of 32. */
const FALLBACKS: { readonly [dtype: string]: FileDType } = {
  q2_0: "q4_0",
  q2_k: "q4_0",
  q3_k: "q4_0",
  tq1_0: "q4_0",
  tq2_0: "q4_0",
  q4_k: "q5_0",
  q5_k: "q5_1",
  q6_k: "q8_0",
  iq4_xs: "iq4_nl",
};

/** The dtype, or the one that replaces it, if the rows are not whole blocks. */
function fitted(where: string, tensor: TensorFacts, dtype: FileDType): FileDType {
  if (fits(tensor, dtype)) return dtype;
  if (dtype === "q1_0") throw notWhole(where, tensor, dtype);
  const fallback = fieldOf(FALLBACKS, dtype) ?? "float16";
  return fits(tensor, fallback) ? fallback : "float16";
}

function notWhole(where: string, { name, shape }: TensorFacts, dtype: FileDType): Error {
  const problem = `rows of tensor ${JSON.stringify(name)} have ${shape.at(-1)} values, which are not whole blocks of ${dtype}`;
  return rangeError("ZP_INVALID_SHAPE", where, problem);
}

/** Whether a tensor's rows are whole blocks of a dtype. */
export function fits({ shape }: { readonly shape: readonly number[] }, dtype: FileDType): boolean {
  const { blockLength } = dtypeInfo(dtype) as { blockLength: number };
  return (shape.at(-1) ?? 1) % blockLength === 0;
}

const EMBEDDINGS = ["token_embd.weight", "per_layer_token_embd.weight"];

/** Whether Q2_K_S needs the importance of this tensor's columns. */
export function needsImportance(name: string, dtype: FileDType, { name: type }: FileType): boolean {
  const isEdge = EMBEDDINGS.includes(name) || name === "output.weight";
  return type === "Q2_K_S" && dtype === "q2_k" && !isEdge;
}

function checkImportance(
  where: string,
  { name }: TensorFacts,
  dtype: FileDType,
  { fileType, hasImportance }: ChoiceOptions,
): void {
  if (hasImportance || !needsImportance(name, dtype, fileType)) return;
  const problem = `Q2_K_S needs options.imatrix for tensor ${JSON.stringify(name)}`;
  throw rangeError("ZP_INVALID_OPTION", where, problem);
}

/** Whether a layer is among the first or last eighth, or every third in between. */
function isSensitive(layer: number, layers: number): boolean {
  const eighth = Math.floor(layers / 8);
  return layer < eighth || layer >= Math.floor((7 * layers) / 8) || (layer - eighth) % 3 === 2;
}

const isAttentionValue = (name: string): boolean => /attn_(v|qkv|kv_b)\.weight/.test(name);

/** The dtypes of a mix, tensor by tensor. */
class Mix {
  readonly #base: FileDType;
  readonly #type: string;
  readonly #isTied: boolean;
  readonly #groupedQueries: boolean;
  readonly #eightExperts: boolean;
  readonly #isFalcon: boolean;
  readonly #values: number;
  #value = 0;
  #down = 0;

  constructor(
    tensors: readonly TensorFacts[],
    readonly facts: ModelFacts,
    readonly options: ChoiceOptions,
  ) {
    this.#base = options.fileType.dtype ?? "float32";
    this.#type = options.fileType.name;
    this.#isTied = !tensors.some(({ name }) => name === "output.weight");
    // A first layer without attention has no heads of keys.
    this.#groupedQueries = facts.keyHeads > 0 && Math.floor(facts.heads / facts.keyHeads) >= 4;
    this.#isFalcon = facts.architecture === "falcon";
    this.#eightExperts = facts.experts === 8;
    this.#values = tensors.filter(({ name }) => isAttentionValue(name)).length;
  }

  /** The dtype of the next tensor that is quantized. */
  dtypeOf(tensor: TensorFacts): FileDType {
    const { name } = tensor;
    const isEmbedding = EMBEDDINGS.includes(name);
    if (name === "output.weight" || (this.#isTied && isEmbedding)) return this.#output(tensor);
    if (this.#type === "MXFP4_MOE") return (tensor.shape.at(-3) ?? 1) > 1 ? "mxfp4" : "q8_0";
    if (isEmbedding) return /^(TQ[12]|Q2)_0$/.test(this.#type) ? "q4_k" : this.#base;
    if (isAttentionValue(name)) return this.#attentionValue();
    if (name.includes("attn_k.weight")) return this.#eightExperts ? "q8_0" : this.#base;
    if (name.includes("attn_q.weight")) return this.#base;
    if (name.includes("attn_output.weight")) return this.#attentionOutput();
    return name.includes("ffn_down") ? this.#feedForwardDown(name) : this.#base;
  }

  /** The last layer, or the embedding whose weights it shares. */
  #output(tensor: TensorFacts): FileDType {
    if (this.options.output !== undefined) return this.options.output;
    const isLarge = this.#type === "MXFP4_MOE" || this.#isFalcon;
    if (isLarge || !fits(tensor, this.#base)) return "q8_0";
    return this.#base === "q8_0" ? "q8_0" : "q6_k";
  }

  #attentionValue(): FileDType {
    const layer = this.#value++;
    if (this.#eightExperts) return "q8_0";
    const dtype = this.#plainAttentionValue(layer);
    // 70B: eight query heads share these weights, so more bits cost little.
    return is70B(this.facts) && (dtype === "q3_k" || dtype === "q4_k") ? "q5_k" : dtype;
  }

  #plainAttentionValue(layer: number): FileDType {
    const grouped = this.#groupedQueries;
    switch (this.#type) {
      case "Q2_K":
        return grouped ? "q4_k" : "q3_k";
      case "Q2_K_S":
        return grouped ? "q4_k" : this.#base;
      case "Q3_K_M":
        return layer < 2 ? "q5_k" : "q4_k";
      case "Q3_K_L":
        return "q5_k";
      case "IQ4_NL":
      case "IQ4_XS":
        return grouped ? "q5_k" : this.#base;
      case "Q4_K_M":
      case "Q5_K_M":
        return isSensitive(layer, this.#values) ? "q6_k" : this.#base;
      case "Q4_K_S":
        return layer < 4 ? "q5_k" : this.#base;
      default:
        return this.#base;
    }
  }

  #attentionOutput(): FileDType {
    if (this.#isFalcon) return this.#type === "Q3_K_L" ? "q4_k" : this.#base;
    if (this.#eightExperts) {
      const more = ["Q2_K", "Q3_K_S", "Q3_K_M", "IQ4_NL", "Q4_K_S", "Q4_K_M", "IQ4_XS"];
      return more.includes(this.#type) ? "q5_k" : this.#base;
    }
    const more: { readonly [type: string]: FileDType } = {
      Q2_K: "q3_k",
      Q3_K_M: "q4_k",
      Q3_K_L: "q5_k",
    };
    return fieldOf(more, this.#type) ?? this.#base;
  }

  #feedForwardDown(name: string): FileDType {
    const { layers, experts } = this.facts;
    const count = this.#down++;
    // Tensors of experts are several to a layer.
    const layer = experts > 1 ? Math.max(0, layerOf(name)) : count;
    const isEarly = layer < Math.floor(layers / 8);
    const { hasImportance } = this.options;
    const falcon = this.#isFalcon ? this.#falconDown(layer) : undefined;
    if (falcon !== undefined) return falcon;
    switch (this.#type) {
      case "Q2_K":
        return "q3_k";
      case "Q2_K_S":
        return isEarly ? "q4_k" : this.#base;
      case "Q3_K_M":
        return layer < Math.floor(layers / 16) ? "q5_k" : "q4_k";
      case "Q3_K_L":
        return "q5_k";
      case "Q4_K_M":
      case "Q5_K_M":
        return isSensitive(layer, layers) ? "q6_k" : this.#base;
      case "IQ4_NL":
      case "IQ4_XS":
        return isEarly && !hasImportance ? "q5_k" : this.#base;
      case "Q4_K_S":
        return isEarly ? "q5_k" : this.#base;
      case "Q4_0":
        return isEarly && hasImportance ? "q4_1" : this.#base;
      case "Q5_0":
        return isEarly && hasImportance ? "q5_1" : this.#base;
      default:
        return this.#base;
    }
  }

  /** What Falcon's mixes have in the place of others. @returns undefined where they are like those */
  #falconDown(layer: number): FileDType | undefined {
    const { layers } = this.facts;
    const isFirst = layer < Math.floor(layers / 16);
    switch (this.#type) {
      case "Q3_K_M":
        return isFirst ? "q5_k" : isSensitive(layer, layers) ? "q4_k" : "q3_k";
      case "Q3_K_L":
        return "q4_k";
      case "Q4_K_M":
        return isFirst ? "q6_k" : isSensitive(layer, layers) ? "q5_k" : "q4_k";
      case "Q4_K_S":
        return this.#base;
      default:
        return undefined;
    }
  }
}

/** Architectures whose models of 80 layers llama.cpp takes for ones of 70 billion parameters. */
const ARCHITECTURES_OF_70B = ["deci", "llama", "llama-embed", "olmo", "qwen2"];

/** Whether llama.cpp takes a model for one of 70 billion parameters. Llama's of 65 billion share no heads of keys. */
function is70B({ architecture, layers, heads, keyHeads }: ModelFacts): boolean {
  if (layers !== 80 || !ARCHITECTURES_OF_70B.includes(architecture)) return false;
  return !architecture.startsWith("llama") || heads !== keyHeads;
}

/** The number of a tensor's layer. @returns -1 if it is in none */
export function layerOf(name: string): number {
  const [, layer] = /^blk\.(\d+)/.exec(name) ?? [];
  return layer === undefined ? -1 : Number(layer);
}
