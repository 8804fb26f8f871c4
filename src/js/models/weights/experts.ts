// Stacks of experts in checkpoints: the matrices of all experts of a layer in one tensor, and how engines name each of
// them.

import { fieldOf } from "../../base/fields.js";

/** The matrix of one expert: some rows of a stack. */
export interface ExpertMatrix {
  /** Its name in checkpoints that have a tensor for each expert. */
  readonly name: string;
  /** [outputs, inputs]. */
  readonly shape: readonly [rows: number, columns: number];
  /** Its first value in the stack. */
  readonly begin: number;
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

const GATE_UP = /^(.*\bexperts)\.gate_up_proj$/;

/** A tensor's name and shape. */
interface Shaped {
  readonly shape: readonly number[];
}

/**
 * The stacks of a checkpoint that engines load as matrices, by name. The shapes of a layer's two stacks tell that both are
 * [experts, outputs, inputs]: of the other order, outputs of one are not the inputs of the other.
 * @param config  of config.json
 */
export function stacksOf(
  config: unknown,
  tensors: ReadonlyMap<string, Shaped>,
): ReadonlyMap<string, readonly ExpertMatrix[]> {
  const stacks = new Map<string, readonly ExpertMatrix[]>();
  type Config = { readonly model_type?: unknown; readonly text_config?: unknown };
  const own = Object(config) as Config;
  const text = Object(fieldOf(own, "text_config")) as Config;
  const isKnown = (type: unknown): boolean =>
    typeof type === "string" && GATES_FIRST.includes(type.replace(/_text$/, ""));
  if (!isKnown(fieldOf(own, "model_type")) && !isKnown(fieldOf(text, "model_type"))) return stacks;
  for (const [name, { shape }] of tensors) {
    const module = GATE_UP.exec(name)?.[1];
    if (module === undefined || shape.length !== 3) continue;
    const down = tensors.get(`${module}.down_proj`)?.shape;
    const [experts, rows, columns] = shape;
    const inputs = rows / 2;
    if (down?.length !== 3 || down[0] !== experts) continue;
    if (down[1] !== columns || down[2] !== inputs) continue;
    const matrices = (parts: readonly string[], shape: ExpertMatrix["shape"]): ExpertMatrix[] =>
      Array.from({ length: experts * parts.length }, (_, i) => ({
        name: `${module}.${Math.floor(i / parts.length)}.${parts[i % parts.length]}.weight`,
        shape,
        begin: i * shape[0] * shape[1],
      }));
    stacks.set(name, matrices(["gate_proj", "up_proj"], [inputs, columns]));
    stacks.set(`${module}.down_proj`, matrices(["down_proj"], [columns, inputs]));
  }
  return stacks;
}
