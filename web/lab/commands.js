// The lab's commands, run in its worker. They hold the opened model and the rows of its analysis.

import { dequantizeBlocks, fakeQuantize, HistogramObserver, init, quantizeBlocks } from "zeropoint";
import {
  analyze,
  compare,
  frontier,
  openModel,
  plan,
  quantizeModel,
  schemeOptions,
} from "zeropoint/models";

/**
 * @typedef {object} Context
 * @property {AbortSignal} signal
 * @property {(event: any) => void} emit
 */

/** @type {import("zeropoint/models").Model | undefined} */
let model;
/** @type {any[]} */
let rows = [];

/** @returns {import("zeropoint/models").Model} */
function opened() {
  if (!model) throw new Error("no model is open");
  return model;
}

/** Text of a value of the metadata, cut where it is long. @param {unknown} value */
function metadataText(value) {
  const text = Array.isArray(value) || ArrayBuffer.isView(value) ? listText(value) : String(value);
  return text.length > 200 ? `${text.slice(0, 200)} … (${text.length} characters)` : text;
}

/** @param {any} list */
const listText = (list) =>
  `[${Array.from(list.slice(0, 8), String).join(", ")}${list.length > 8 ? `, … ${list.length} values` : ""}]`;

/**
 * Opens a file, or the first of several that others belong to, and gives its header.
 * @param {{ files: File[] }} argument
 * @param {Context} context
 */
export async function open({ files: given }, { signal }) {
  await init();
  await model?.close();
  model = undefined;
  rows = [];
  const main = mainOf(given);
  model = await openModel(main, {
    externalData: (path) => {
      const name = path.split("/").at(-1);
      const found = given.find((file) => file.name === name);
      if (!found) throw new Error(`this file needs ${path} beside it: drop both`);
      return found;
    },
  });
  signal.throwIfAborted();
  return {
    name: main.name,
    size: given.reduce((sum, { size }) => sum + size, 0),
    format: model.format,
    metadata: Array.from(model.metadata, ([key, value]) => [key, metadataText(value)]),
    tensors: Array.from(model.tensors.values(), (tensor) => ({ ...tensor })),
  };
}

/** The file that names the others. @param {File[]} given */
function mainOf(given) {
  const order = [/\.index\.json$/, /^model\.json$/, /\.onnx$/, /\.(safetensors|gguf|npz|npy)$/];
  for (const pattern of order) {
    const found = given.find(({ name }) => pattern.test(name));
    if (found) return found;
  }
  return given[0];
}

/**
 * Analyzes all weights: emits rows as they come, and the progress.
 * @param {{ schemes?: string[] }} argument
 * @param {Context} context
 */
export async function analyzeAll({ schemes }, { signal, emit }) {
  rows = [];
  const options = {
    signal,
    ...(schemes && { schemes }),
    onProgress: (/** @type {any} */ progress) => emit({ progress }),
  };
  for await (const row of analyze(opened(), options)) {
    rows.push(row);
    emit({ row });
  }
  return rows.length;
}

/** Larger tensors, in bytes, are not read as a whole, which histograms and maps of errors need. */
const LARGEST_READ = 64 * 2 ** 20;
const BINS = 120;
/** The corner of a weight that maps and links show: rows and columns. */
const CORNER = [64, 160];

/**
 * One cell in detail: the row of the analysis with the worst rows and, unless the tensor is large, histograms of the
 * values before and after, and the errors in the first rows and columns.
 * @param {{ name: string, scheme: string }} argument
 * @param {Context} context
 */
export async function detail({ name, scheme }, { signal }) {
  const options = { schemes: [scheme], include: [escapeGlob(name)], worstRows: true, signal };
  let row;
  for await (const each of analyze(opened(), options)) if (each.scheme === scheme) row = each;
  if (!row) throw new Error(`${name} has no row for ${scheme}`);
  const { byteLength, shape } = /** @type {any} */ (opened().tensors.get(name));
  if (byteLength > LARGEST_READ || shape.length !== 2) return row;
  const before = await opened().read(name);
  const after = restored(before, scheme);
  return {
    ...row,
    histograms: after && { before: histogramOf(before), after: histogramOf(after) },
    map: after && { before: corner(before, CORNER), after: corner(after, CORNER) },
  };
}

/** A pattern that matches one name. @param {string} name */
const escapeGlob = (name) => name.replace(/[*?{}\\]/g, "?");

/**
 * A weight, quantized and dequantized; undefined for schemes of other kinds.
 * @param {import("zeropoint").Tensor} x
 * @param {string} scheme
 */
function restored(x, scheme) {
  if (/^u?int/.test(scheme)) return fakeQuantize(x, schemeOptions(scheme));
  if (/^(float16|bfloat16)$/.test(scheme)) return undefined;
  const type = /** @type {import("zeropoint").BlockType} */ (scheme);
  return dequantizeBlocks(quantizeBlocks(x, type), type, x.shape);
}

/** @param {import("zeropoint").Tensor} x */
function histogramOf(x) {
  const observer = new HistogramObserver({ bins: BINS });
  observer.observe(x);
  const { histogram, minVal, maxVal } = observer;
  return { counts: [...histogram.data], min: minVal.data[0], max: maxVal.data[0] };
}

/**
 * The first rows and columns of a matrix.
 * @param {import("zeropoint").Tensor} x
 * @param {number[]} size
 */
function corner({ data, shape: [rows, columns] }, [mostRows, mostColumns]) {
  const shape = [Math.min(rows, mostRows), Math.min(columns, mostColumns)];
  const values = Array.from({ length: shape[0] }, (_, i) =>
    data.subarray(i * columns, i * columns + shape[1]),
  );
  return { shape, values: values.map((row) => Float32Array.from(row)) };
}

/**
 * The first rows and columns of a weight, small enough for a link of the playground.
 * @param {{ name: string, scheme: string }} argument
 */
export async function cornerOf({ name, scheme }) {
  const { byteLength, shape } = /** @type {any} */ (opened().tensors.get(name));
  if (byteLength > LARGEST_READ || shape.length !== 2) {
    throw new Error("the playground takes matrices of up to 64 MiB");
  }
  const options = /^u?int/.test(scheme) ? schemeOptions(scheme) : undefined;
  return { ...corner(await opened().read(name), [24, 48]), options };
}

/** The frontier of all plans. @param {{ pins: Record<string, string>, format: any }} argument */
export const frontierOf = ({ pins, format }) => frontier(rows, { pin: pins, format });

/** The plan of a budget. @param {{ bytes: number, pins: Record<string, string>, format: any }} argument */
export const planFor = ({ bytes, pins, format }) => plan(rows, { bytes, pin: pins, format });

/**
 * Writes the quantized files, then reads them again and compares them with the model.
 * @param {{ choice: any, format?: string, target?: string, runs?: boolean, handles?: FileSystemFileHandle[] }} argument
 *   choice: a scheme or a plan; runs: whether to run both models in ONNX Runtime Web; handles: where to write, in the
 *   order of the files; default: the private file system
 * @param {Context} context
 */
export async function quantize({ choice, format, target, runs, handles }, { signal, emit }) {
  const source = opened();
  const verifyWith = runs ? (await import("./run-onnx.js")).createSession : undefined;
  const outputs = /** @type {{ format?: any, target?: string }} */ ({ format, target });
  if (!format) delete outputs.format;
  if (!target) delete outputs.target;
  const options = { signal, verifyWith, ...outputs };
  const result = await quantizeModel(source, choice, {
    ...options,
    onProgress: (/** @type {any} */ progress) => emit({ progress }),
  });
  emit({ report: result.report, sizes: result.files.map(({ name, size }) => ({ name, size })) });
  /** @type {File[]} */
  const written = [];
  for (const [i, file] of result.files.entries()) {
    written.push(await write(file, handles?.[i], signal));
  }
  emit({ verifying: true });
  const verified = await verify(source, written, signal, emit);
  return { report: result.report, verified, files: handles ? [] : written };
}

/**
 * Writes a file to the given place, or to the origin's private file system, or to a blob where there is none, as in
 * private windows.
 * @param {{ name: string, size: number, stream(): ReadableStream<Uint8Array> }} file
 * @param {FileSystemFileHandle | undefined} given
 * @param {AbortSignal} signal
 */
async function write(file, given, signal) {
  const handle = given ?? (await privateHandle(file.name).catch(() => undefined));
  const blob = async () => new File([await new Response(file.stream()).blob()], file.name);
  if (!handle) return await blob();
  await file.stream().pipeTo(await handle.createWritable(), { signal });
  return await handle.getFile();
}

/** A file in the origin's private file system. @param {string} name */
async function privateHandle(name) {
  const folder = await navigator.storage.getDirectory();
  const own = await folder.getDirectoryHandle("lab", { create: true });
  return await own.getFileHandle(name.replace(/[^\w.-]/g, "_"), { create: true });
}

/**
 * @param {import("zeropoint/models").Model} source
 * @param {File[]} written
 * @param {AbortSignal} signal
 * @param {(event: any) => void} emit
 */
async function verify(source, written, signal, emit) {
  const again = await openModel(mainOf(written), {
    externalData: (path) => {
      const found = written.find(({ name }) => name === path.split("/").at(-1));
      if (!found) throw new Error(`${path} was not written`);
      return found;
    },
  });
  try {
    let tensors = 0;
    let largest = 0;
    /** @type {string[]} */
    const problems = [];
    for await (const { name, max, reason } of compare(source, again, { signal })) {
      tensors++;
      emit({ compared: tensors, total: source.tensors.size });
      if (reason === undefined) largest = Math.max(largest, max);
      else problems.push(`${name}: ${reason}`);
    }
    return { tensors, problems, largest };
  } finally {
    await again.close();
  }
}
