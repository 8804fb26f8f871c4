// quantization_config of compressed-tensors, version 0.18.

import { compareText } from "../../../formats/source.js";
import type { LinearScheme } from "../../scheme.js";
import { presetOf } from "./presets.js";
import type { Entry } from "./weight-layout.js";

type JSONObject = { readonly [name: string]: unknown };

const args = (
  bits: number,
  isSymmetric: boolean,
  strategy: string,
  groupSize: number | null,
  isDynamic: boolean,
): JSONObject => ({
  actorder: null,
  block_structure: null,
  dynamic: isDynamic,
  group_size: groupSize,
  num_bits: bits,
  observer: isDynamic ? null : "memoryless_minmax",
  observer_kwargs: {},
  scale_dtype: null,
  strategy,
  symmetric: isSymmetric,
  type: "int",
  zp_dtype: isSymmetric ? null : "torch.int8",
});

/** What tells schemes apart in the configuration. */
const keyOf = ({ dtype, granularity, groupSize, isAffine }: LinearScheme): string =>
  `int${/\d+/.exec(dtype)?.[0]}-${granularity === "group" ? `g${groupSize}` : granularity}` +
  (isAffine ? "-affine" : "");

const moduleOf = (name: string): string => name.replace(/\.weight$/, "");

/**
 * The configuration. One group has every Linear as its target, and a list of modules that it ignores; several groups
 * name their modules.
 */
export function configOf(
  entries: readonly Entry[],
  isPacked: (scheme: LinearScheme) => boolean,
): JSONObject {
  const groups = new Map<string, { readonly scheme: LinearScheme; readonly modules: string[] }>();
  const ignored: string[] = [];
  for (const { tensor, scheme } of entries) {
    const isMatrix = tensor.shape.length === 2 && tensor.name.endsWith(".weight");
    const module = moduleOf(tensor.name);
    if (scheme === undefined) {
      if (isMatrix && !/norm$/.test(module)) ignored.push(module);
      continue;
    }
    const key = keyOf(scheme);
    const group = groups.get(key) ?? { scheme, modules: [] };
    groups.set(key, group);
    group.modules.push(module);
  }
  const formats = new Set<string>();
  const configs = Array.from(groups, ([key, { scheme, modules }], i) => {
    const { granularity, groupSize, isAffine } = scheme;
    const format = isPacked(scheme) ? "pack-quantized" : "int-quantized";
    formats.add(format);
    const preset = key === "int8-channel" && isPacked(scheme) ? undefined : presetOf(key);
    const name = groups.size === 1 && preset !== undefined ? preset : `group_${i}`;
    const bits = Number(/\d+/.exec(scheme.dtype)?.[0]);
    const config = {
      format,
      input_activations: isPacked(scheme) ? null : args(8, true, "token", null, true),
      output_activations: null,
      targets: groups.size === 1 ? ["Linear"] : modules,
      weights: args(bits, !isAffine, granularity, groupSize ?? null, false),
    };
    return [name, config] as const;
  });
  const [format] = formats;
  return {
    config_groups: Object.fromEntries(configs),
    format: formats.size === 1 ? format : formats.size === 0 ? "pack-quantized" : "mixed-precision",
    global_compression_ratio: null,
    ignore: [...new Set(ignored.map(patternOf))].sort(compareText),
    kv_cache_scheme: null,
    quant_method: "compressed-tensors",
    quantization_status: "compressed",
    transform_config: {},
    version: "0.18.0",
  };
}

/** A module in the list of ignored ones: the table of tokens by its last name, wherever an engine puts it. */
const patternOf = (module: string): string =>
  /(^|\.)embed_tokens$/.test(module) ? "re:.*embed_tokens" : module;
