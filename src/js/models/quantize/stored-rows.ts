// storedRows: rows of an analysis with the bytes of a target. Padding, dtypes of scales and headers differ between targets.

import { wrongKind } from "../../base/check.js";
import { fieldOf } from "../../base/fields.js";
import { checkOptions } from "../../base/options.js";
import { documentOf, type Model } from "../open/model.js";
import { copyRow, type FileRows, listOfRows, type PlanRow } from "../plan/rows.js";
import { type QuantizeModelOptions, quantizeModel } from "./quantize-model.js";
import type { QuantizedRow, QuantizeReport } from "./types.js";

/** Options of `storedRows`: those of `quantizeModel` that sizes depend on. */
export type StoredRowsOptions = Pick<
  QuantizeModelOptions,
  | "format"
  | "target"
  | "activations"
  | "pure"
  | "tokenEmbeddingType"
  | "outputTensorType"
  | "signal"
>;

/** A row with the bytes of a target. */
export type StoredRow<Row extends PlanRow = PlanRow> = Omit<Row, "isWritten"> & {
  /** Bytes of packed codes, scales and zero points, independent of targets. */
  readonly nominalBytes?: number;
  /** Bytes that the tensor adds to the header or graph: names, shapes, metadata, nodes. */
  readonly headerBytes?: number;
  /** false if the target does not store this tensor by this scheme; its bytes are then an estimate. */
  readonly isWritten?: boolean;
};

/** Rows with the bytes of a target, for `plan` and `frontier`. */
export interface StoredRows<Row extends PlanRow = PlanRow> extends FileRows {
  /** The rows in their order. */
  readonly rows: readonly StoredRow<Row>[];
  /** The target's name in the writer; undefined if it stores none of the schemes. */
  readonly target: string | undefined;
  /** Upper limit of the bytes of a file in addition to those of its rows: the rest of header, index, graph. */
  readonly overhead: number;
}

const OPTIONS = [
  ...["format", "target", "activations", "pure", "tokenEmbeddingType", "outputTensorType"],
  "signal",
] as const;

/** Bytes of a tensor's entry in a header: two offsets of up to four parts, with two more digits each. */
const MORE_DIGITS = 16;

/** Codes of errors for schemes that a target does not have, and for formats without a writer. */
const NOT_WRITTEN = ["ZP_INVALID_SCHEME", "ZP_UNSUPPORTED_FILE", "ZP_UNSUPPORTED_DTYPE"];

/**
 * Rows of an analysis with the bytes that the writer of a format and target stores. Rows of schemes that the target does
 * not store for their tensor get `isWritten: false`; `plan` and `frontier` do not choose them. Reads headers only.
 *
 * `plan(await storedRows(model, rows, { target }), { bytes })` plans a file of so many bytes at most.
 * `quantizeModel(model, plan, { target })` says its exact size before anything is written: `report.bytesAfter`.
 *
 * @param model  the model of the rows, open
 * @param rows  of `analyze`
 * @param options.format  of the files to write; default: that of the model
 * @param options.target  the layout or engine that the files are for
 * @throws {TypeError} `ZP_INVALID_ROW`, `ZP_UNKNOWN_OPTION`, `ZP_INVALID_OPTION`, `ZP_DISPOSED`
 * @throws {RangeError} `ZP_INVALID_OPTION`, as `quantizeModel`
 * @example
 * const found = [];
 * for await (const row of analyze(opened, { schemes: ["int8-tensor", "int4-g32"] })) found.push(row);
 * const { rows: stored } = await storedRows(opened, found, { target: "mlx" });
 * stored.map(({ scheme, isWritten }) => `${scheme} ${isWritten ?? true}`); // ["keep true", "int8-tensor false", "int4-g32 true"]
 */
export async function storedRows<Row extends PlanRow>(
  model: Model,
  rows: Iterable<Row>,
  options?: StoredRowsOptions,
): Promise<StoredRows<Row>> {
  const where = "storedRows";
  documentOf(where, "model", model);
  const given = checkOptions(where, options, [...OPTIONS]) as StoredRowsOptions;
  const list = listOfRows(where, rows) as readonly Row[];
  for (const [i, row] of list.entries()) {
    const { name, scheme } = Object(row) as Partial<PlanRow>;
    if (typeof name === "string" && typeof scheme === "string") continue;
    throw wrongKind("ZP_INVALID_ROW", where, `rows[${i}]`, "a row of analyze", row);
  }
  /** What is written of each tensor by scheme; schemes that the target does not store are left out. */
  const written = new Map<string, Map<string, QuantizedRow>>();
  let target: string | undefined;
  let overhead = 0;
  const write = async (choose: (name: string) => string | undefined): Promise<QuantizeReport> => {
    const { report } = await quantizeModel(model, ({ name }) => choose(name) ?? "keep", given);
    return report;
  };
  const kept = new Map<string, number>();
  const measure = (report: QuantizeReport): number => {
    let bytes = 0;
    for (const row of report.rows) {
      bytes += row.bytesAfter + (fieldOf(row, "headerBytes") ?? 0);
      if (row.scheme === "keep") kept.set(row.name, row.bytesAfter);
    }
    overhead = Math.max(overhead, report.bytesAfter - bytes);
    return report.bytesAfter - bytes;
  };
  /** Bytes of the file of each scheme in addition to those of its rows. */
  const rest = new Map<string, number>();
  const namesOf = new Map<string, Set<string>>();
  for (const { name, scheme } of list) {
    if (scheme === "keep") continue;
    const names = namesOf.get(scheme) ?? new Set<string>();
    namesOf.set(scheme, names.add(name));
  }
  for (const [scheme, names] of namesOf) {
    try {
      const report = await write((name) => (names.has(name) ? scheme : undefined));
      const stored = report.rows.filter((row) => row.scheme === scheme);
      if (stored.length === 0) continue;
      for (const row of stored) {
        const own = written.get(row.name) ?? new Map<string, QuantizedRow>();
        written.set(row.name, own.set(scheme, row));
      }
      target = report.target;
      rest.set(scheme, measure(report));
    } catch (error) {
      if (!NOT_WRITTEN.includes((error as { readonly code?: string }).code ?? "")) throw error;
    }
  }
  // A mixture may need more than each scheme alone: config.json then names the modules of each.
  let turn = 0;
  const mixed = new Map(
    Array.from(written, ([name, own]) => [name, [...own.keys()][turn++ % own.size]] as const),
  );
  if (mixed.size > 1) {
    measure(await write((name) => mixed.get(name)));
    // Behind larger tensors than in each scheme alone, offsets have more digits.
    overhead += MORE_DIGITS * mixed.size;
  }
  // Without any stored scheme the file is that of the kept tensors, if the format can be written at all.
  if (mixed.size === 0) {
    try {
      measure(await write(() => undefined));
    } catch (error) {
      if (!NOT_WRITTEN.includes((error as { readonly code?: string }).code ?? "")) throw error;
    }
  }
  // The file of a single weight is measured by each scheme: its size is exact.
  if (mixed.size === 1) overhead = Math.min(...rest.values());
  const own = (scheme: string): number =>
    mixed.size === 1 ? (rest.get(scheme) as number) - overhead : 0;
  const sized = list.map((given): StoredRow<Row> => {
    const row = copyRow(given);
    // Formats without a dtype of the model hold its tensors in a wider one.
    if (row.scheme === "keep")
      return { ...(row as StoredRow<Row>), bytes: kept.get(row.name) ?? row.bytes };
    const found = written.get(row.name)?.get(row.scheme);
    const { isWritten: _, ...others } = row;
    const nominal = { ...others, nominalBytes: row.bytes };
    if (found === undefined) return { ...nominal, isWritten: false } as StoredRow<Row>;
    const { bytesAfter: bytes } = found;
    const headerBytes = (fieldOf(found, "headerBytes") ?? 0) + own(row.scheme);
    return { ...nominal, bytes, headerBytes } as StoredRow<Row>;
  });
  return { rows: sized, target, overhead };
}
