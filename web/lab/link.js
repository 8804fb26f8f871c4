// The lab's state in the address: everything but the data.

/**
 * @typedef {object} LabState
 * @property {import("./format.js").Metric} metric
 * @property {string} filter
 * @property {string} sort  a column's name, with - in front for descending
 * @property {number | undefined} budget  bytes of the plan
 * @property {Record<string, string>} pins  scheme of a tensor by its name
 * @property {string} format  of the output; empty for that of the model
 * @property {string} target  program that the output is for; empty for the first one of its format
 * @property {string | undefined} sample  name of the sample, if one is open
 * @property {string | undefined} file  address of the file, if it was opened by one
 * @property {string | undefined} beside  address of the model that it is compared with, or name of a sample
 */

/** @returns {LabState} */
export const emptyState = () => ({
  metric: "sqnr",
  filter: "",
  sort: "",
  budget: undefined,
  pins: {},
  format: "",
  target: "",
  sample: undefined,
  file: undefined,
  beside: undefined,
});

/**
 * The state as the text behind #lab.
 * @param {LabState} state
 */
export function toLink(state) {
  const { metric, filter, sort, budget, pins, format, target, sample, file, beside } = state;
  const parameters = new URLSearchParams({ v: "1" });
  if (sample) parameters.set("sample", sample);
  if (file) parameters.set("file", file);
  if (beside) parameters.set("beside", beside);
  if (metric !== "sqnr") parameters.set("metric", metric);
  if (filter) parameters.set("filter", filter);
  if (sort) parameters.set("sort", sort);
  if (budget !== undefined) parameters.set("budget", String(Math.round(budget)));
  if (format) parameters.set("format", format);
  if (target) parameters.set("target", target);
  for (const [name, scheme] of Object.entries(pins)) parameters.append("pin", `${name}=${scheme}`);
  const text = parameters.toString();
  return text === "v=1" ? "#lab" : `#lab?${text}`;
}

/**
 * Reads the text behind #lab; values that no lab writes are ignored.
 * @param {string} hash
 * @param {readonly string[]} metrics
 * @returns {LabState}
 */
export function fromLink(hash, metrics) {
  const state = emptyState();
  const parameters = new URLSearchParams(hash.replace(/^#lab\??/, ""));
  const metric = parameters.get("metric") ?? "";
  if (metrics.includes(metric)) state.metric = /** @type {LabState["metric"]} */ (metric);
  state.filter = parameters.get("filter") ?? "";
  state.sort = parameters.get("sort") ?? "";
  const budget = Number(parameters.get("budget"));
  if (budget > 0) state.budget = budget;
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
