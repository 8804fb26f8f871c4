// Names of llm-compressor's presets, as schemes for target "compressed-tensors".

/** Schemes by preset. W8A8 (or INT8) also quantizes activations, per token, while the model runs. */
export const PRESETS: ReadonlyMap<string, string> = /* @__PURE__ */ new Map([
  ["w4a16", "int4-g128"],
  ["w4a16_asym", "int4-g128-affine"],
  ["w8a16", "int8-g128"],
  ["w8a8", "int8-channel"],
  ["int8", "int8-channel"],
]);

/** Whether a preset quantizes activations. */
export const isDynamicPreset = (name: unknown): boolean =>
  typeof name === "string" && /^(w8a8|int8)$/i.test(name);

/** The preset of a scheme. */
export const presetOf = (scheme: string): string | undefined => {
  const [found] = [...PRESETS].find(([, each]) => each === scheme) ?? [];
  return found?.toUpperCase();
};
