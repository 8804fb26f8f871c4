// Bytes of schemes as the writer of a target stores them: padding, dtypes of scales and headers differ between targets.

import type { AnalysisRow } from "../../models/analyze/row.js";
import type { Model } from "../../models/open/model.js";
import { quantizeModel } from "../../models/quantize/quantize-model.js";
import type { QuantizedRow, QuantizeReport } from "../../models/quantize/types.js";
import type { JobOptions } from "../jobs/done.js";
import { modelOptions } from "../jobs/wish.js";

/** A row with the bytes of a target. */
export interface SizedRow extends AnalysisRow {
  /** Bytes of packed codes, scales and zero points, independent of targets. */
  readonly nominalBytes?: number;
  /** Bytes that the tensor adds to the header or graph: names, shapes, metadata, nodes. */
  readonly headerBytes?: number;
  /** false if the target does not store this tensor by this scheme; its bytes are then an estimate. */
  readonly isWritten?: false;
}

/** Rows with the bytes of a target. */
export interface SizedRows {
  readonly rows: readonly SizedRow[];
  /** The target's name in the writer. */
  readonly target: string | undefined;
  /** Upper limit of the bytes of a file in addition to those of its rows: the rest of header, index, graph. */
  readonly overhead: number;
}

/** Codes of errors for schemes that a target does not have, and for formats without a writer. */
const NOT_WRITTEN = ["ZP_INVALID_SCHEME", "ZP_UNSUPPORTED_FILE", "ZP_UNSUPPORTED_DTYPE"];

/** Gets the bytes of each row from the writer. Reads headers only. */
export async function sizedRows(
  model: Model,
  rows: readonly AnalysisRow[],
  options: JobOptions,
): Promise<SizedRows> {
  /** What is written of each tensor by scheme; schemes that the target does not store are left out. */
  const written = new Map<string, Map<string, QuantizedRow>>();
  let target: string | undefined;
  let overhead = 0;
  const write = async (choose: (name: string) => string | undefined): Promise<QuantizeReport> => {
    const given = modelOptions(options);
    const { report } = await quantizeModel(model, ({ name }) => choose(name) ?? "keep", given);
    return report;
  };
  const measure = (report: QuantizeReport): void => {
    let bytes = 0;
    for (const { bytesAfter, headerBytes = 0 } of report.rows) bytes += bytesAfter + headerBytes;
    overhead = Math.max(overhead, report.bytesAfter - bytes);
  };
  const schemes = new Set(rows.map(({ scheme }) => scheme).filter((scheme) => scheme !== "keep"));
  for (const scheme of schemes) {
    const names = new Set(rows.filter((row) => row.scheme === scheme).map(({ name }) => name));
    try {
      const report = await write((name) => (names.has(name) ? scheme : undefined));
      const stored = report.rows.filter((row) => row.scheme === scheme);
      if (stored.length === 0) continue;
      for (const row of stored) {
        const own = written.get(row.name) ?? new Map<string, QuantizedRow>();
        written.set(row.name, own.set(scheme, row));
      }
      target = report.target;
      measure(report);
    } catch (error) {
      if (!NOT_WRITTEN.includes((error as { readonly code?: string }).code ?? "")) throw error;
    }
  }
  // A mixture may need more than each scheme alone: config.json then names the modules of each.
  let turn = 0;
  const mixed = new Map(
    Array.from(written, ([name, own]) => [name, [...own.keys()][turn++ % own.size]] as const),
  );
  if (mixed.size > 1) measure(await write((name) => mixed.get(name)));
  const sized = rows.map((row): SizedRow => {
    if (row.scheme === "keep") return row;
    const found = written.get(row.name)?.get(row.scheme);
    const own = { ...row, nominalBytes: row.bytes };
    if (found === undefined) return { ...own, isWritten: false };
    const { bytesAfter: bytes, headerBytes = 0 } = found;
    return { ...own, bytes, headerBytes };
  });
  return { rows: sized, target, overhead };
}
