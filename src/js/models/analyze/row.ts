// Rows of an analysis: plain data.

import type { FileDType } from "../../formats/dtypes.js";
import type { ModelFormat } from "../open/model.js";

/** The error of one row of a weight, which belongs to one output. */
export interface WorstRow {
  /** Index of the output. */
  readonly row: number;
  /** Squared error by squared signal; of the outputs where the analysis has activations. */
  readonly relative: number;
  /** ‖Δw‖₁ of the row. */
  readonly norm1: number;
  /** ‖Δw‖₂ of the row. */
  readonly norm2: number;
}

/** Numbers of values in bins of equal width. */
export interface ValueHistogram {
  /** The left end of the first bin. */
  readonly min: number;
  /** The right end of the last bin. */
  readonly max: number;
  /** Values in each bin. */
  readonly counts: readonly number[];
}

/**
 * One tensor with one scheme. Columns without "output" measure the error of the weights, w − v with v quantized and
 * dequantized; weight error is not accuracy.
 */
export interface AnalysisRow {
  /** The tensor's name in the model. */
  readonly name: string;
  /** The length of each axis, outermost first. */
  readonly shape: readonly number[];
  /** The format of the model. */
  readonly format: ModelFormat;
  /** The dtype in the file. */
  readonly dtype: FileDType;
  /** Number of values. */
  readonly parameters: number;
  /** The axis of the outputs, along which a `-channel` scheme has its scales; absent for the first one, and for several. */
  readonly outputAxis?: number;
  /** The name of the scheme; "keep" for a tensor that is not quantized. */
  readonly scheme: string;
  /** Bytes with this scheme in the file, scales and zero points included. */
  readonly bytes: number;
  /**
   * false if the file does not store this weight by this scheme: bytes and errors are then those of `quantize`, and no plan
   * contains it.
   */
  readonly isWritten?: boolean;
  /** Bytes of the tensor in the file. */
  readonly bytesBefore: number;
  /** The tensor's share of the values of all rows. */
  readonly share: number;
  /** Mean of (w − v)². */
  readonly mse: number;
  /** The largest |w − v|. */
  readonly max: number;
  /** 10 · log10(Σw² / Σ(w − v)²) in dB; Infinity without error. */
  readonly sqnr: number;
  /** Σwv / √(Σw² · Σv²); NaN if either is all 0. */
  readonly cosine: number;
  /** Σ(w − v)² / Σw²: the SQNR as a ratio. */
  readonly relative: number;
  /** The largest ‖Δw‖₁ of all rows: no output is off by more than this times the largest input. Rounded up. */
  readonly norm1: number;
  /** The largest ‖Δw‖₂ of all rows: no output is off by more than this times ‖x‖₂. Rounded up. */
  readonly norm2: number;
  /** SHA-256 of the tensor's bytes in the file, if all of them were read. */
  readonly sha256?: string;
  /** Whether a sample of rows represents the weight: errors are estimates, and the largest errors are too small. */
  readonly isEstimate?: true;
  /** The error that the row reports: of the outputs if the analysis has inputs of this weight, else of the weight. */
  readonly shows: "weights" | "outputs";
  /** Mean of (Δw · x)² over outputs and inputs. */
  readonly outputMse?: number;
  /** Σ(Δw · x)² / Σ(w · x)². */
  readonly outputRelative?: number;
  /** The same in dB. */
  readonly outputSqnr?: number;
  /** The known moments of the inputs: all second moments, or only the mean squares of the inputs. */
  readonly moments?: "full" | "diagonal";
  /** The reason why a tensor is kept. */
  readonly reason?: string;
  /** The ten rows of largest relative error, if asked for. */
  readonly worstRows?: readonly WorstRow[];
  /** Of the tensor's values, if asked for. */
  readonly histogram?: ValueHistogram;
}
