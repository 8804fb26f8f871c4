// Stacks of experts in checkpoints: the matrices of all experts of a layer in one tensor, and how engines name each of
// them.

import { fieldOf } from "../../base/fields.js";
import { sizeOf } from "../../tensor/shape.js";

/** A tensor that is cut from a stack: the matrix of an expert, or the matrices of one kind of all of them. */
export interface ExpertTensor {
  /** Its name in checkpoints that have such tensors. */
  readonly name: string;
  /** [outputs, inputs], or [experts, outputs, inputs]. */
  readonly shape: readonly number[];
  /** The first value in the stack of each of its pieces, which have one size. */
  readonly begins: readonly number[];
}

/** How a stack is cut, by the engine that reads it. */
export interface ExpertStack {
  /** vLLM's: a matrix for each expert, in the order of the stack. */
  readonly matrices: readonly ExpertTensor[];
  /** mlx-lm's: gate_proj, up_proj and down_proj of all experts; undefined where it has other names. */
  readonly stacks: readonly ExpertTensor[] | undefined;
}

/**
 * Architectures whose stacks have the rows of gate_proj before those of up_proj, and whose checkpoints have
 * `experts.0.gate_proj.weight` otherwise.
 * Source: transformers 5, conversion_mapping.py and the experts' classes; llm-compressor, which cuts stacks in the same way.
 */
const GATES_FIRST = [
  ...["qwen2_moe", "qwen3_moe", "qwen3_next", "qwen3_omni_moe", "qwen3_vl_moe", "qwen3_5_moe"],
  ...["deepseek_v2", "deepseek_v3", "dots1", "ernie4_5_moe", "flex_olmo", "glm4_moe", "glm4v_moe"],
  ...["hunyuan_v1_moe", "jamba", "longcat_flash", "olmoe"],
];

/**
 * Those of them whose stacks mlx-lm has as `switch_mlp`, and whose other tensors it does not read in another way beside
 * matrices of experts (as it does for qwen3_next).
 * Source: mlx-lm 0.31, `sanitize` of each model.
 */
const SWITCH_MLP = [
  ...["qwen2_moe", "qwen3_moe", "qwen3_5_moe", "deepseek_v2", "deepseek_v3", "glm4_moe", "olmoe"],
];

const GATE_UP = /^(.*\bexperts)\.gate_up_proj$/;

const OF_MLP = /\bmlp\.experts$/;

/** A tensor's name and shape. */
interface Shaped {
  readonly shape: readonly number[];
}

/**
 * The stacks of a checkpoint that engines load in parts, by name. The shapes of a layer's two stacks tell that both are
 * [experts, outputs, inputs]: of the other order, outputs of one are not the inputs of the other.
 * @param config  of config.json
 */
export function stacksOf(
  config: unknown,
  tensors: ReadonlyMap<string, Shaped>,
): ReadonlyMap<string, ExpertStack> {
  const stacks = new Map<string, ExpertStack>();
  type Config = { readonly model_type?: unknown; readonly text_config?: unknown };
  const own = Object(config) as Config;
  const text = Object(fieldOf(own, "text_config")) as Config;
  const types = [fieldOf(own, "model_type"), fieldOf(text, "model_type")];
  const isAmong = (list: readonly string[]): boolean =>
    types.some((type) => typeof type === "string" && list.includes(type.replace(/_text$/, "")));
  if (!isAmong(GATES_FIRST)) return stacks;
  const isSwitch = isAmong(SWITCH_MLP);
  for (const [name, { shape }] of tensors) {
    const module = GATE_UP.exec(name)?.[1];
    if (module === undefined || shape.length !== 3) continue;
    const down = tensors.get(`${module}.down_proj`)?.shape;
    const [experts, rows, columns] = shape;
    const inputs = rows / 2;
    if (down?.length !== 3 || down[0] !== experts) continue;
    if (down[1] !== columns || down[2] !== inputs) continue;
    const cut = (parts: readonly string[], shape: readonly number[]): ExpertStack => {
      const size = sizeOf(shape);
      const begins = Array.from({ length: experts * parts.length }, (_, i) => i * size);
      const matrices = begins.map((begin, i) => ({
        name: `${module}.${Math.floor(i / parts.length)}.${parts[i % parts.length]}.weight`,
        ...{ shape, begins: [begin] },
      }));
      if (!isSwitch || !OF_MLP.test(module)) return { matrices, stacks: undefined };
      const own = parts.map((part, k) => ({
        name: `${module.replace(OF_MLP, "mlp.switch_mlp")}.${part}.weight`,
        shape: [experts, ...shape],
        // Of one kind, the stack is the tensor.
        begins: parts.length === 1 ? [0] : begins.filter((_, i) => i % parts.length === k),
      }));
      return { matrices, stacks: own };
    };
    stacks.set(name, cut(["gate_proj", "up_proj"], [inputs, columns]));
    stacks.set(`${module}.down_proj`, cut(["down_proj"], [columns, inputs]));
  }
  return stacks;
}
