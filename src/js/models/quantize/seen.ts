// What a report says of values once they were streamed: weights that are all zero or not finite in the file, and both
// errors of weights that are rounded twice.

import { fieldOf } from "../../base/fields.js";
import { show } from "../../base/format-value.js";
import type { Model, ModelTensor } from "../open/model.js";
import { allValues, floatsOf, type Values, valueSourceOf } from "../weights/values.js";
import { isReadableQuantized } from "./requantize.js";
import type { QuantizedRow, QuantizeReport } from "./types.js";
import { ValueWatch } from "./watch.js";

/**
 * The SQNR in dB of the values of a tensor against those of the model that it was quantized from.
 * @returns undefined if that has no tensor of its name and shape
 */
export async function errorBefore(
  where: string,
  original: Model,
  model: Model,
  { name, shape }: ModelTensor,
): Promise<number | undefined> {
  const origin = original.tensors.get(name);
  if (origin === undefined || origin.shape.join() !== shape.join()) return undefined;
  const [a, b] = [original, model].map((each) => valueSourceOf(where, each, name));
  const others = allValues(b);
  let [signal, noise] = [0, 0];
  try {
    for await (const run of allValues(a)) {
      const { value } = (await others.next()) as { value: Values };
      const [x, y] = [floatsOf(run), floatsOf(value)];
      for (let i = 0; i < x.length; i++) {
        signal += x[i] ** 2;
        noise += (x[i] - y[i]) ** 2;
      }
    }
  } finally {
    await others.return();
  }
  return noise === 0 ? Infinity : 10 * Math.log10(signal / noise);
}

/** What a weight was before it is quantized again. */
export function formBefore(tensor: ModelTensor): string {
  const layout = fieldOf(tensor, "layout");
  return layout === undefined ? tensor.dtype : `${tensor.dtype} of ${layout}`;
}

/** Completes a report while its files are streamed. */
export class Seen {
  readonly #watches = new Map<string, ValueWatch>();
  readonly #reasons = new Map<QuantizedRow, string | undefined>();
  #notes = 0;
  #report: QuantizeReport | undefined;

  constructor(
    readonly model: Model,
    readonly requantize: boolean,
  ) {}

  /** Watches the values of a weight. */
  watch(name: string): ValueWatch {
    const tensor = this.model.tensors.get(name);
    const isMeasured = this.requantize && tensor !== undefined && isReadableQuantized(tensor);
    const watch = new ValueWatch(isMeasured);
    this.#watches.set(name, watch);
    return watch;
  }

  /** The report that is completed. */
  set report(report: QuantizeReport) {
    this.#report = report;
    this.#notes = report.notes.length;
    for (const row of report.rows) this.#reasons.set(row, fieldOf(row, "reason"));
  }

  /** Called when a file was streamed to its end. */
  complete(): void {
    const report = this.#report;
    if (report === undefined) return;
    const lost = new Map<string, string[]>();
    for (const row of report.rows) {
      const watch = this.#watches.get(row.name);
      if (watch === undefined) continue;
      const own = row as { -readonly [K in keyof QuantizedRow]: QuantizedRow[K] };
      const { loss, sqnr } = watch;
      const requantized = fieldOf(row, "requantized");
      if (requantized !== undefined && sqnr !== undefined)
        own.requantized = { ...requantized, sqnr };
      const reasons = [this.#reasons.get(row), loss && REASONS[loss]];
      const reason = reasons.filter((each) => each !== undefined).join("; ");
      if (reason !== "") own.reason = reason;
      if (loss !== undefined) lost.set(loss, [...(lost.get(loss) ?? []), row.name]);
    }
    const notes = Array.from(lost, ([loss, names]) => noteOf(loss as "zero", names));
    const both = errorsOf(report.rows);
    (report.notes as string[]).splice(this.#notes, Infinity, ...notes, ...both);
  }
}

const REASONS = {
  zero: "all values are 0 in the file: they are too small for its numbers",
  "not finite": "some values are infinite or NaN in the file: they are too large for its numbers",
};

function noteOf(loss: keyof typeof REASONS, names: readonly string[]): string {
  const weights = names.length === 1 ? "1 weight is" : `${names.length} weights are`;
  const some = names.slice(0, 3).map(show).join(", ");
  const more = names.length > 3 ? " …" : "";
  const what = loss === "zero" ? "all zero" : "not finite";
  return `${weights} ${what} in the file, but not in the model: ${some}${more}`;
}

/** The least SQNR of both roundings. */
function errorsOf(rows: readonly QuantizedRow[]): string[] {
  const twice = rows.flatMap((row) => fieldOf(row, "requantized") ?? []);
  const least = (key: "sqnr" | "sqnrBefore"): number | undefined => {
    const own = twice.flatMap((each) => fieldOf(each, key) ?? []);
    return own.length === 0 ? undefined : own.reduce((a, b) => Math.min(a, b));
  };
  const [second, first] = [least("sqnr"), least("sqnrBefore")];
  if (second === undefined) return [];
  const before =
    first === undefined ? "not known without options.original" : `${first.toFixed(1)} dB`;
  return [
    `least SQNR of a weight that is rounded twice: first rounding ${before}, second ${second.toFixed(1)} dB`,
  ];
}
