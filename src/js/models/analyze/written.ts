// The files of an analysis, one for each scheme: what quantizeModel would write, by its reports.

import type { PlatformAbortSignal } from "../../base/platform.js";
import type { Core } from "../../core/core.js";
import { runOn } from "../../core/init.js";
import type { Model } from "../open/model.js";
import { encoderOf, quantizeModel } from "../quantize/quantize-model.js";
import type { OutputFormat, QuantizeReport } from "../quantize/types.js";
import type { Scheme } from "../scheme.js";
import { keptReason } from "../selection.js";
import type { FileEncoder } from "../weights/slices.js";

/** How a file has a weight. */
export interface WrittenWeight {
  /** Bytes of the weight with its scales; undefined if the file has it as it was. */
  readonly bytes: number | undefined;
  /** Its arithmetic; undefined if by `quantize` and `dequantize`. */
  readonly encoder: FileEncoder | undefined;
}

/** Codes of errors of models and schemes that are not written. */
const NOT_WRITTEN = [
  ...["ZP_INVALID_SCHEME", "ZP_UNSUPPORTED_FILE", "ZP_UNSUPPORTED_DTYPE"],
  ...["ZP_INVALID_MODEL", "ZP_INVALID_SHAPE"],
];

/** A report, and its rows by the names of tensors. */
interface WrittenFile {
  readonly report: QuantizeReport;
  readonly rows: ReadonlyMap<string, QuantizeReport["rows"][number]>;
}

/** The files that an analysis is of. */
export class WrittenFiles {
  readonly #reports: ReadonlyMap<string, WrittenFile | undefined>;

  private constructor(reports: ReadonlyMap<string, WrittenFile | undefined>) {
    this.#reports = reports;
  }

  /**
   * Lays out the files of all schemes. Reads headers only.
   * @param isIncluded  whether a weight of a name is written by a scheme
   * @throws {RangeError} as quantizeModel, for a target that the format does not have
   */
  static async of(
    core: Core,
    model: Model,
    schemes: readonly Scheme[],
    isIncluded: (name: string) => boolean,
    options: {
      readonly format: OutputFormat;
      readonly target: string | undefined;
      readonly signal: PlatformAbortSignal | undefined;
    },
  ): Promise<WrittenFiles> {
    const reports = new Map<string, WrittenFile | undefined>();
    const names = new Set<string>();
    for (const tensor of model.tensors.values()) {
      if (isIncluded(tensor.name) && keptReason(tensor) === undefined) names.add(tensor.name);
    }
    for (const { name: scheme } of names.size > 0 ? schemes : []) {
      if (scheme === "keep") continue;
      // Signals of the process need a turn of the event loop, which files of many tensors else get too late.
      await new Promise((resolve) => setTimeout(resolve));
      options.signal?.throwIfAborted();
      const choose = ({ name }: { readonly name: string }) => (names.has(name) ? scheme : "keep");
      try {
        const { report } = await runOn(core, () => quantizeModel(model, choose, options));
        reports.set(scheme, { report, rows: new Map(report.rows.map((row) => [row.name, row])) });
      } catch (error) {
        const { code } = error as { readonly code?: string };
        if (!NOT_WRITTEN.includes(code ?? "")) throw error;
        // Schemes of other formats have rows for plans of these.
        if (code !== "ZP_INVALID_SCHEME" || options.target !== undefined) {
          reports.set(scheme, undefined);
        }
      }
    }
    return new WrittenFiles(reports);
  }

  /** How the file of a scheme has a weight; undefined if the format has no such scheme. */
  of(scheme: string, weight: string): WrittenWeight | undefined {
    if (!this.#reports.has(scheme)) return undefined;
    const file = this.#reports.get(scheme);
    const row = file?.rows.get(weight);
    if (file === undefined || row?.scheme !== scheme) {
      return { bytes: undefined, encoder: undefined };
    }
    return { bytes: row.bytesAfter, encoder: encoderOf(file.report, weight) };
  }
}
