// zeropoint inspect: format, metadata, tensors and quantization of a file. Reads headers only.

import { isBlockType } from "../../formats/dtypes.js";
import { documentOf, type Model, type ModelTensor } from "../../models/open/model.js";
import { BESIDE_UNKNOWN, UNKNOWN } from "../../models/stored/weight.js";
import { sizeOf } from "../../tensor/shape.js";
import { readArguments } from "../arguments.js";
import { EXIT } from "../failures.js";
import { checkSelection, nameFilter, openInput } from "../input.js";
import { checkOutput, type Fact, jsonText, section, writeReport } from "../output/report.js";
import type { Column } from "../output/table.js";
import { showBytes, showCount, showPercent } from "../units.js";

/** Runs the command. @returns the exit code */
export async function run(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const args = readArguments("inspect", argv);
  await checkOutput(args);
  const isWanted = nameFilter(args);
  const [file] = args.operands;
  const model = await openInput(file, signal, args);
  try {
    checkSelection(args, model);
    const tensors = [...model.tensors.values()].filter(({ name }) => isWanted(name));
    const quantization = quantizationIn(model);
    const data = {
      file,
      format: model.format,
      metadata: model.metadata,
      unreadable: model.unreadable,
      quantization,
      parameters: parametersOf(tensors),
      bytes: bytesOf(tensors),
      tensors: tensors.map((tensor) => ({ ...tensor, quantization: quantization[tensor.name] })),
    };
    const title = `${file}: ${model.format}`;
    const facts = factsOf(file, model, tensors, quantization);
    const sections = [section(columnsFor(quantization), tensors)];
    await writeReport(args, { title, facts, sections, data }, signal);
    return EXIT.ok;
  } finally {
    await model.close();
  }
}

/** How tensors are quantized, by name. */
function quantizationIn(model: Model): Record<string, string> {
  const found: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const { name, dtype, isQuantized, layout } of model.tensors.values()) {
    if (isBlockType(dtype)) found[name] = `ggml ${dtype}`;
    else if (layout === UNKNOWN || layout === BESIDE_UNKNOWN) found[name] = `${layout}`;
    else if (isQuantized) found[name] = `${dtype} with scales`;
  }
  return found;
}

const parametersOf = (tensors: readonly ModelTensor[]): number =>
  tensors.reduce((sum, { shape }) => sum + sizeOf(shape), 0);

const bytesOf = (tensors: readonly ModelTensor[]): number =>
  tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);

const MAX_METADATA = 24;

function factsOf(
  file: string,
  model: Model,
  tensors: readonly ModelTensor[],
  quantization: Readonly<Record<string, string>>,
): Fact[] {
  const bytes = bytesOf(tensors);
  const all = model.tensors.size;
  const count = tensors.length === all ? `${all}` : `${tensors.length} of ${all}`;
  const size = `${count} tensors, ${showCount(parametersOf(tensors))} values, ${showBytes(bytes)}`;
  const facts: Fact[] = [
    ["file", file === "-" ? "standard input" : file],
    ...partOf(file, documentOf("inspect", "model", model).fileName),
    ["format", model.format],
    ["size", size],
    ["dtypes", sharesOf(tensors, ({ dtype }) => dtype, bytes)],
    [
      "quantization",
      Object.keys(quantization).length === 0
        ? "none"
        : sharesOf(tensors, ({ name }) => quantization[name] ?? "not quantized", bytes),
    ],
  ];
  for (const [name, kind] of model.unreadable) facts.push(["unreadable", `${name} (${kind})`]);
  const entries = [...model.metadata].slice(0, MAX_METADATA);
  for (const [key, value] of entries) facts.push([`  ${key}`, showValue(value)]);
  const more = model.metadata.size - entries.length;
  if (more > 0) facts.push(["  …", `${more} more entries; --json prints all`]);
  return facts;
}

/** The file of a folder that was opened, and whether it is one of several of a model. */
function partOf(file: string, opened: string | undefined): Fact[] {
  if (opened === undefined) return [];
  const facts: Fact[] = file.endsWith(opened) ? [] : [["opened", opened]];
  const [, model, number, count] = /^(.*)-(\d+)-of-(\d+)\.safetensors$/.exec(opened) ?? [];
  if (Number(count) > 1) {
    const part = `file ${Number(number)} of ${Number(count)} alone; ${model}.safetensors.index.json opens all`;
    facts.push(["part", part]);
  }
  return facts;
}

/** Shares of bytes by a property, the largest first. */
function sharesOf(
  tensors: readonly ModelTensor[],
  property: (tensor: ModelTensor) => string,
  bytes: number,
): string {
  const shares = new Map<string, number>();
  for (const tensor of tensors) {
    const key = property(tensor);
    shares.set(key, (shares.get(key) ?? 0) + tensor.byteLength);
  }
  return [...shares]
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .map(([key, part]) => `${key} ${showPercent(bytes === 0 ? 0 : part / bytes)}`)
    .join(", ");
}

const LONGEST = 100;

/** A value of the metadata in one line. */
function showValue(value: unknown): string {
  const isList = Array.isArray(value) || ArrayBuffer.isView(value);
  const list = isList ? (value as ArrayLike<unknown>) : undefined;
  if (list !== undefined && list.length > 8) return `${list.length} values`;
  const text = typeof value === "object" ? jsonText(value, 0) : String(value);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… (${text.length} characters)`;
}

function columnsFor(quantization: Readonly<Record<string, string>>): Column<ModelTensor>[] {
  const columns: Column<ModelTensor>[] = [
    { title: "name", isText: true, value: ({ name }) => name },
    { title: "dtype", isText: true, value: ({ dtype }) => dtype },
    { title: "shape", isText: true, value: ({ shape }) => shape.join(" × ") || "(a number)" },
    {
      title: "bytes",
      value: ({ byteLength }) => byteLength,
      show: ({ byteLength }) => showBytes(byteLength),
    },
  ];
  if (Object.keys(quantization).length > 0) {
    columns.push({
      title: "quantization",
      isText: true,
      value: ({ name }) => quantization[name] ?? "",
    });
  }
  return columns;
}
