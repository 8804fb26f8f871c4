// Weights of GGUF with a scale in a tensor of its own, which llama.cpp multiplies products with: NVFP4 of ModelOpt, and
// BitNet's ternary weights.
// Source: llama.cpp, build_lora_mm and convert_hf_to_gguf.py.

import { isReadableBlock } from "../../base/block-types.js";
import { bytesOf, dtypeInfo, type FileDType } from "../../formats/dtypes.js";
import type { FileTensor } from "../../formats/source.js";
import { sizeOf } from "../../tensor/shape.js";
import { notExpressible, type StoredWeight, unknownWeight } from "./weight.js";

/** Decodes whole blocks of a dtype. */
type Decode = (dtype: FileDType, bytes: Uint8Array, out: Float32Array) => Float32Array;

/** The layout of these weights. */
const SCALED = "scaled";

/** Gemma 4's router: "ffn_gate_inp.scale" multiplies its inputs, "ffn_down_exps.scale" what it gives each expert. */
const ROUTER = /(^|\.)ffn_gate_inp$/;
const ROUTED = /ffn_down_exps$/;

/**
 * Finds quantized weights "a.weight" beside "a.scale" or "a.weight.scale": one float32 for all values, or one for each
 * row or each expert. Beside another shape or dtype the weight is of unknown quantization. Scales of Gemma 4's router
 * are parameters of their own, and so are those beside floats, which have their values without them.
 * @param decode  of all dtypes with values
 */
export function findScaledWeights(
  files: ReadonlyMap<string, FileTensor>,
  decode: Decode,
): StoredWeight[] {
  const scales = new Map<FileTensor, FileTensor[]>();
  for (const [name, scale] of files) {
    if (!name.endsWith(".scale")) continue;
    const module = name.slice(0, -".scale".length);
    const weight = files.get(`${module}.weight`) ?? files.get(module);
    if (weight === undefined || weight.shape.length < 2) continue;
    if (!isReadableBlock(weight.dtype)) continue;
    const router = module.replace(ROUTED, "ffn_gate_inp");
    if (ROUTER.test(module) || (ROUTED.test(module) && files.has(`${router}.scale`))) continue;
    scales.set(weight, [...(scales.get(weight) ?? []), scale]);
  }
  return Array.from(scales, ([weight, own]) => {
    if (own.length === 1 && isScaleOf(own[0], weight)) return scaledOf(weight, own[0], decode);
    const names = own.map(({ name }) => name);
    return unknownWeight(weight, names, names);
  });
}

/** Whether a tensor has a scale for all values of a weight, or for each index of its first axis. */
function isScaleOf({ dtype, shape }: FileTensor, weight: FileTensor): boolean {
  const count = sizeOf(shape);
  return dtype === "float32" && (count === 1 || count === weight.shape[0]);
}

function scaledOf(weight: FileTensor, scale: FileTensor, decode: Decode): StoredWeight {
  const { name, shape, dtype } = weight;
  const size = sizeOf(shape);
  const perScale = size / sizeOf(scale.shape);
  const { blockLength } = dtypeInfo(dtype) as { readonly blockLength: number };
  /** @param scales  of the values from `first` on */
  const multiply = (values: Float32Array, scales: Float32Array, first: number): Float32Array => {
    const begin = Math.floor(first / perScale);
    for (let i = 0; i < values.length; i++) {
      values[i] *= scales[Math.floor((first + i) / perScale) - begin];
    }
    return values;
  };
  const scalesIn = (bytes: Uint8Array): Float32Array =>
    decode("float32", bytes, new Float32Array(bytes.length / 4));
  return {
    ...{ name, shape, dtype, layout: SCALED, parts: { codes: name } },
    window: {
      // Codes of less than a byte begin at one.
      unit: Math.max(8, blockLength),
      async read(load, first, out) {
        const end = first + out.length;
        const [begin, last] = [first, end].map((index) => bytesOf(dtype, index) as number);
        decode(dtype, await load(name, begin, last), out);
        const [from, to] = [Math.floor(first / perScale), Math.ceil(end / perScale)];
        multiply(out, scalesIn(await load(scale.name, 4 * from, 4 * to)), first);
      },
    },
    async read(load) {
      const parts = await load({ codes: name, scale: scale.name });
      const values = decode(dtype, parts.codes.bytes, new Float32Array(size));
      return multiply(values, scalesIn(parts.scale.bytes), 0);
    },
    async readQuantized() {
      throw notExpressible(name, `is multiplied by ${scale.name}`);
    },
  };
}
