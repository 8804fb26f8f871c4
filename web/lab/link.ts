// The lab's state in the address: everything but the data.

import type { Metric } from "./format.js";

export interface LabState {
  metric: Metric;
  filter: string;
  /** A column's name, with - in front for descending. */
  sort: string;
  /** Bytes of the plan. */
  budget: number | undefined;
  /** Mix of llama-quantize that is the plan, in place of one of the budget; empty for none. */
  preset: string;
  /** Scheme of a tensor by its name. */
  pins: Record<string, string>;
  /** Of the output; empty for that of the model. */
  format: string;
  /** Program that the output is for; empty for the first one of its format. */
  target: string;
  /** Name of the sample, if one is open. */
  sample: string | undefined;
  /** Address of the file, if it was opened by one. */
  file: string | undefined;
  /** Address of the model that it is compared with, or name of a sample. */
  beside: string | undefined;
}

export const emptyState = (): LabState => ({
  metric: "sqnr",
  filter: "",
  sort: "",
  budget: undefined,
  preset: "",
  pins: {},
  format: "",
  target: "",
  sample: undefined,
  file: undefined,
  beside: undefined,
});

/** The state as the text behind #lab. */
export function toLink(state: LabState) {
  const { metric, filter, sort, budget, preset, pins, format, target } = state;
  const { sample, file, beside } = state;
  const parameters = new URLSearchParams({ v: "1" });
  if (sample) parameters.set("sample", sample);
  if (file) parameters.set("file", file);
  if (beside) parameters.set("beside", beside);
  if (metric !== "sqnr") parameters.set("metric", metric);
  if (filter) parameters.set("filter", filter);
  if (sort) parameters.set("sort", sort);
  if (budget !== undefined) parameters.set("budget", String(Math.round(budget)));
  if (preset) parameters.set("preset", preset);
  if (format) parameters.set("format", format);
  if (target) parameters.set("target", target);
  for (const [name, scheme] of Object.entries(pins)) parameters.append("pin", `${name}=${scheme}`);
  const text = parameters.toString();
  return text === "v=1" ? "#lab" : `#lab?${text}`;
}

/** Reads the text behind #lab; values that no lab writes are ignored. */
export function fromLink(hash: string, metrics: readonly string[]): LabState {
  const state = emptyState();
  const parameters = new URLSearchParams(hash.replace(/^#lab\??/, ""));
  const metric = parameters.get("metric") ?? "";
  if (metrics.includes(metric)) state.metric = metric as LabState["metric"];
  state.filter = parameters.get("filter") ?? "";
  state.sort = parameters.get("sort") ?? "";
  const budget = Number(parameters.get("budget"));
  if (budget > 0) state.budget = budget;
  state.preset = parameters.get("preset") ?? "";
  state.pins = Object.fromEntries(
    parameters.getAll("pin").flatMap((pin) => {
      const end = pin.lastIndexOf("=");
      return end > 0 ? [[pin.slice(0, end), pin.slice(end + 1)]] : [];
    }),
  );
  state.format = parameters.get("format") ?? "";
  state.target = parameters.get("target") ?? "";
  state.sample = parameters.get("sample") ?? undefined;
  state.file = parameters.get("file") ?? undefined;
  state.beside = parameters.get("beside") ?? undefined;
  return state;
}
