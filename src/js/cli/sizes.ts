// Bytes of schemes as the writer of a target stores them: padding, dtypes of scales and headers differ between targets.

import type { AnalysisRow } from "../models/analyze/row.js";
import type { Model } from "../models/open/model.js";
import { quantizeModel } from "../models/quantize/quantize-model.js";
import type { JobOptions } from "./jobs/done.js";
import { modelOptions } from "./jobs/wish.js";

/** A row with the bytes of a target. */
export interface SizedRow extends AnalysisRow {
  /** Bytes of packed codes, scales and zero points, independent of targets. */
  readonly nominalBytes?: number;
  /** false if the target does not store this tensor by this scheme; its bytes are then an estimate. */
  readonly isWritten?: false;
}

/** Rows with the bytes of a target. */
export interface SizedRows {
  readonly rows: readonly SizedRow[];
  /** The target's name in the writer. */
  readonly target: string | undefined;
  /** Upper limit of the bytes of a file in addition to its tensors: header, index, graph. */
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
  const schemes = new Set(rows.map(({ scheme }) => scheme).filter((scheme) => scheme !== "keep"));
  const sizes = new Map<string, number>();
  let target: string | undefined;
  let overhead = 0;
  for (const scheme of schemes) {
    const names = new Set(rows.filter((row) => row.scheme === scheme).map(({ name }) => name));
    try {
      const choose = ({ name }: { readonly name: string }) => (names.has(name) ? scheme : "keep");
      const { report } = await quantizeModel(model, choose, modelOptions(options));
      let tensors = 0;
      for (const row of report.rows) {
        tensors += row.bytesAfter;
        if (row.scheme === scheme) sizes.set(`${scheme} ${row.name}`, row.bytesAfter);
      }
      target = report.target;
      overhead = Math.max(overhead, report.bytesAfter - tensors);
    } catch (error) {
      if (!NOT_WRITTEN.includes((error as { readonly code?: string }).code ?? "")) throw error;
    }
  }
  const sized = rows.map((row): SizedRow => {
    if (row.scheme === "keep") return row;
    const bytes = sizes.get(`${row.scheme} ${row.name}`);
    const own = { ...row, nominalBytes: row.bytes };
    return bytes === undefined ? { ...own, isWritten: false } : { ...own, bytes };
  });
  return { rows: sized, target, overhead };
}
