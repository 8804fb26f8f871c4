// Observers, QConfigs and mappings in files.

import { define } from "../../base/fields.js";
import { show } from "../../base/format-value.js";
import { HistogramObserver } from "../../observers/histogram.js";
import {
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  MovingAveragePerChannelMinMaxObserver,
  PerChannelMinMaxObserver,
} from "../../observers/min-max.js";
import type { Observer, ObserverClass, ObserverJSON } from "../../observers/observer.js";
import {
  FixedQParamsObserver,
  NoopObserver,
  PlaceholderObserver,
  RecordingObserver,
  ReuseInputObserver,
} from "../../observers/placeholders.js";
import { type ObserverSource, QConfig } from "../../observers/qconfig.js";
import {
  type LayerQConfig,
  QConfigMapping,
  WeightOnlyQConfig,
} from "../../observers/qconfig-mapping.js";
import {
  FakeQuantize,
  FusedMovingAvgObsFakeQuantize,
  Identity,
} from "../../observers/training-only.js";
import {
  isFactory,
  type ObserverFactory,
  partial,
  shortName,
  stepsOf,
} from "../../observers/with-args.js";
import {
  type FileWriter,
  fromJSONNumber,
  type JSONNode,
  type JSONValue,
  type StructureReader,
  toJSONNumber,
} from "./structure.js";

/** Classes that QConfigs name: observers, and entries for training. */
type SourceClass = { readonly pythonName?: string; readonly prototype: object };

const OBSERVERS: readonly ObserverClass[] = [
  FixedQParamsObserver,
  HistogramObserver,
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  MovingAveragePerChannelMinMaxObserver,
  NoopObserver,
  PerChannelMinMaxObserver,
  PlaceholderObserver,
  RecordingObserver,
  ReuseInputObserver,
];

const CLASSES: readonly SourceClass[] = [
  ...OBSERVERS,
  FakeQuantize,
  FusedMovingAvgObsFakeQuantize,
  Identity,
];

/** Finds a class by the name in PyTorch. */
const classNamed = <C extends SourceClass>(classes: readonly C[], name: unknown): C | undefined =>
  classes.find((each) => shortName(each) === name);

/** Writes an observer with its state. */
export function writeObserver(writer: FileWriter, path: string, observer: Observer): JSONNode {
  const isOwn = OBSERVERS.some((each) => each.prototype === Object.getPrototypeOf(observer));
  if (!isOwn) throw writer.refuse(path, `${show(observer)} is of a class of its own`);
  const { observer: name, options, state } = observer.toJSON();
  const given = writeOptions(writer, path, options);
  return { kind: "observer", class: name, options: given, state: state as JSONValue as JSONNode };
}

/** Reads an observer. */
export function readObserver(reader: StructureReader, path: string, value: unknown): Observer {
  const node = reader.fields(path, value, ["kind", "class", "options", "state"]);
  const type = classNamed(OBSERVERS, node.class);
  if (type === undefined) throw reader.fail(`${path}.class`, "a class of observers", node.class);
  const options = readOptions(reader, `${path}.options`, node.options);
  const bins = options.bins ?? 2048;
  if (type === HistogramObserver) reader.spend(8 * (typeof bins === "number" ? bins : 0));
  const json = { observer: node.class, options, state: node.state } as ObserverJSON;
  return (type as unknown as typeof MinMaxObserver).fromJSON(json);
}

/** Writes options: numbers, texts, flags, null, and classes and factories of observers. */
function writeOptions(writer: FileWriter, path: string, options: object): JSONNode {
  const entries = Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, writeOption(writer, path, name, value)]);
  return Object.fromEntries(entries) as JSONNode;
}

function writeOption(writer: FileWriter, path: string, name: string, value: unknown): JSONValue {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") {
    const number = toJSONNumber(value);
    return typeof number === "number" ? number : { number };
  }
  if (typeof value === "string") return value;
  if (typeof value === "function") return { source: writeSource(writer, path, value as never) };
  const isRecord = typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;
  if (isRecord) return { record: writeOptions(writer, path, value) };
  throw writer.refuse(path, `its option ${name} is ${show(value)}`);
}

function readOptions(
  reader: StructureReader,
  path: string,
  value: unknown,
): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw reader.fail(path, "an object of options", value);
  }
  return reader.inside(path, () => {
    const options = Object.create(Object.prototype) as Record<string, unknown>;
    for (const [name, option] of Object.entries(value)) {
      const own = readOption(reader, `${path}.${name}`, option);
      define(options, name, { value: own, enumerable: true });
    }
    return options;
  });
}

function readOption(reader: StructureReader, path: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { number, source, record } = reader.fields(path, value, ["number", "source", "record"]);
  if (number !== undefined) return fromJSONNumber(reader, path, number);
  if (record !== undefined) return readOptions(reader, path, record);
  return readSource(reader, path, source);
}

/** Writes a class or factory: the options of each withArgs, so that it prints as before. */
function writeSource(
  writer: FileWriter,
  path: string,
  source: ObserverSource | null,
): JSONNode | null {
  if (source === null) return null;
  const type = (isFactory(source) ? source.observerClass : source) as unknown as SourceClass;
  const known = classNamed(CLASSES, shortName(type));
  if (known?.prototype !== type.prototype) {
    throw writer.refuse(path, `${show(source)} makes observers of a class of its own`);
  }
  const name = shortName(known);
  if (!isFactory(source)) return { kind: "class", class: name };
  const steps = stepsOf(source);
  if (steps === undefined) {
    throw writer.refuse(path, "functions give options of its observers (withCallableArgs)");
  }
  const args = steps.map((step) => writeOptions(writer, path, step));
  return { kind: "factory", class: name, args };
}

function readSource(reader: StructureReader, path: string, value: unknown): ObserverSource | null {
  if (value === null) return null;
  const node = reader.fields(path, value, ["kind", "class", "args"]);
  const found = classNamed(CLASSES, node.class) as ObserverSource | undefined;
  if (found === undefined) throw reader.fail(`${path}.class`, "a class of observers", node.class);
  const type = reader.bind(found);
  if (node.kind === "class") return type;
  reader.choice(`${path}.kind`, node.kind, ["factory"]);
  const steps = reader
    .list(`${path}.args`, node.args)
    .map((step, i) => readOptions(reader, `${path}.args[${i}]`, step));
  if (steps.length > 64) throw reader.fail(`${path}.args`, "at most 64 steps", steps.length);
  let made = partial(type as never, steps[0] ?? {}) as ObserverFactory;
  for (const step of steps.slice(1)) made = made.withArgs(step);
  return made as unknown as ObserverSource;
}

/** Writes a QConfig or WeightOnlyQConfig. */
export function writeQConfig(
  writer: FileWriter,
  path: string,
  qconfig: QConfig | WeightOnlyQConfig,
): JSONNode {
  if (qconfig instanceof WeightOnlyQConfig) {
    return { kind: "weight-only", options: writeOptions(writer, path, qconfig.options) };
  }
  const { activation, weight } = qconfig;
  return {
    kind: "qconfig",
    activation: writeSource(writer, path, activation),
    weight: writeSource(writer, path, weight),
  };
}

/** Reads a QConfig or WeightOnlyQConfig. */
export function readQConfig(
  reader: StructureReader,
  path: string,
  value: unknown,
): QConfig | WeightOnlyQConfig {
  const node = reader.fields(path, value, ["kind", "activation", "weight", "options"]);
  if (node.kind === "weight-only") {
    return new WeightOnlyQConfig(readOptions(reader, `${path}.options`, node.options));
  }
  reader.choice(`${path}.kind`, node.kind, ["qconfig", "weight-only"]);
  const { activation = null, weight = null } = node;
  return new QConfig({
    activation: readSource(reader, `${path}.activation`, activation),
    weight: readSource(reader, `${path}.weight`, weight),
  });
}

/** Writes the QConfig of a layer; null leaves it float32. */
export const writeLayerQConfig = (
  writer: FileWriter,
  path: string,
  qconfig: LayerQConfig,
): JSONNode | null => qconfig && writeQConfig(writer, path, qconfig);

/** Reads the QConfig of a layer. */
export const readLayerQConfig = (
  reader: StructureReader,
  path: string,
  value: unknown,
): LayerQConfig => (value === null ? null : readQConfig(reader, path, value));

/** Writes a mapping as the calls that build it. */
export function writeMapping(writer: FileWriter, path: string, mapping: QConfigMapping): JSONNode {
  const calls = mapping.calls.map(({ method, args }): JSONNode => {
    const qconfig = writeLayerQConfig(writer, path, args.at(-1) as LayerQConfig);
    if (method === "setGlobal") return { kind: method, qconfig };
    const [key] = args as [string | RegExp];
    return typeof key === "string"
      ? { kind: method, key, qconfig }
      : { kind: method, key: key.source, flags: key.flags, qconfig };
  });
  return { kind: "mapping", calls };
}

/** Reads a mapping. */
export function readMapping(reader: StructureReader, path: string, value: unknown): QConfigMapping {
  const { calls } = reader.fields(path, value, ["kind", "calls"]);
  const mapping = new QConfigMapping();
  for (const [i, call] of reader.list(`${path}.calls`, calls).entries()) {
    const at = `${path}.calls[${i}]`;
    const node = reader.fields(at, call, ["kind", "key", "flags", "qconfig"]);
    const qconfig = readLayerQConfig(reader, `${at}.qconfig`, node.qconfig);
    if (node.kind === "setGlobal") {
      mapping.setGlobal(qconfig);
      continue;
    }
    const key = reader.text(`${at}.key`, node.key);
    if (node.kind === "setModuleName") mapping.setModuleName(key, qconfig);
    else if (node.kind === "setObjectType") mapping.setObjectType(key, qconfig);
    else {
      reader.choice(`${at}.kind`, node.kind, ["setModuleNameRegex"]);
      const flags = reader.text(`${at}.flags`, node.flags);
      mapping.setModuleNameRegex(patternOf(reader, at, key, flags), qconfig);
    }
  }
  return mapping;
}

function patternOf(reader: StructureReader, path: string, source: string, flags: string): RegExp {
  try {
    return new RegExp(source, flags);
  } catch {
    throw reader.fail(`${path}.key`, "a regular expression", source);
  }
}
