// One cell in detail, and the corner of a weight that the playground takes.

import type { BlockType, Tensor } from "zeropoint";
import type { AnalysisRow } from "zeropoint/models";
import { library } from "../../shell/library.js";
import { escapeGlob } from "../names.js";
import { activations, opened, partOf, rows, withMoments } from "./opened.js";
import { histogramOf } from "./values.js";

/**
 * Weights of more values are not read as a whole, which restored values and maps of errors need: the values, the
 * restored ones and their copies in the library's memory are four bytes each.
 */
const LARGEST_READ = 2 ** 21;
const BINS = 120;
/** The corner of a weight that maps and links show: rows and columns. */
const CORNER = [64, 160];

/** Equal bins from min to max. */
export type Histogram = { counts: ArrayLike<number>; min: number; max: number };

export type Detail = AnalysisRow & {
  histograms: { before: Histogram | undefined; after?: Histogram };
  /** Whether the weight is too large to be restored. */
  isLarge?: boolean;
  /** The first rows and columns of the values and of the restored ones. */
  map?: { before: Corner; after: Corner };
};

type Corner = { shape: number[]; values: Float32Array[] };

/**
 * One cell in detail: the row of the analysis with the worst rows and a histogram of the values and, unless the weight
 * is large, a histogram of the restored values and the errors in the first rows and columns.
 * @param argument  format and target: of the file to write
 */
export async function detail({
  name,
  scheme,
  format,
  target,
}: {
  name: string;
  scheme: string;
  format: any;
  target: string;
}): Promise<Detail> {
  const { zp, model } = await partOf(name);
  const inputs = activations.has(name) ? { activations: { [name]: activations.get(name) } } : {};
  const include = [escapeGlob(name)];
  const options = {
    schemes: [scheme],
    include,
    ...inputs,
    format,
    ...(target && { target }),
    worstRows: true,
    histogram: BINS,
  };
  let row: AnalysisRow | undefined;
  for await (const each of zp.analyze(model, options)) {
    if (each.name === name && each.scheme === scheme) row = withMoments(each);
  }
  if (!row) throw new Error(`${name} has no row for ${scheme}`);
  const histograms = { before: row.histogram };
  const isLarge = row.parameters > LARGEST_READ;
  if (isLarge || row.shape.length !== 2) return { ...row, histograms, isLarge };
  const before = await opened().read(name);
  const after = await restored(before, scheme, { ...row, format });
  if (!after) return { ...row, histograms };
  return {
    ...row,
    histograms: { ...histograms, after: await histogramOf(after) },
    map: { before: corner(before, CORNER), after: corner(after, CORNER) },
  };
}

/**
 * A weight, quantized and dequantized; undefined for schemes of other kinds, and for groups that run along the first
 * axis, as in an ONNX file those of matrices [inputs, outputs].
 * @param row  format: of the file to write
 */
async function restored(
  x: Tensor,
  scheme: string,
  { format, outputAxis }: { format: string; outputAxis?: number },
) {
  const zp = await library();
  const options = /^u?int/.test(scheme) ? await optionsOf(scheme, outputAxis) : undefined;
  const areInGroups = options === undefined || "groupSize" in options;
  if (format === "onnx" && outputAxis !== undefined && areInGroups) return undefined;
  if (options) return await zp.fakeQuantize(x, options);
  if (/^(float16|bfloat16)$/.test(scheme)) return undefined;
  const type = scheme as BlockType;
  return await zp.dequantizeBlocks(await zp.quantizeBlocks(x, type), type, x.shape);
}

/** The options of a scheme for one weight. */
async function optionsOf(scheme: string, outputAxis?: number) {
  const zp = await library();
  const options = await zp.schemeOptions(scheme);
  return outputAxis !== undefined && "axis" in options ? { ...options, axis: outputAxis } : options;
}

/** The first rows and columns of a matrix. */
function corner(
  { data, shape: [rows, columns] }: Tensor,
  [mostRows, mostColumns]: number[],
): Corner {
  const shape = [Math.min(rows, mostRows), Math.min(columns, mostColumns)];
  const values = Array.from({ length: shape[0] }, (_, i) =>
    data.subarray(i * columns, i * columns + shape[1]),
  );
  return { shape, values: values.map((row) => Float32Array.from(row)) };
}

/** The first rows and columns of a weight, small enough for a link of the playground. */
export async function cornerOf({ name, scheme }: { name: string; scheme: string }) {
  const { shape } = (await opened().tensors).get(name) as any;
  if (shape.length !== 2 || shape[0] * shape[1] > LARGEST_READ) {
    throw new Error("the playground takes matrices of up to 2 million values");
  }
  const outputAxis = rows.get(name)?.[0]?.outputAxis;
  const options = /^u?int/.test(scheme) ? await optionsOf(scheme, outputAxis) : undefined;
  return { ...corner(await opened().read(name), [24, 48]), options };
}
