// What a quantized file records of how it was made: format, target, and the scheme of each weight.

import { fieldOf, NO_OPTIONS, ownFields } from "../../base/fields.js";
import type { FileDType } from "../../formats/dtypes.js";
import { readJson } from "../../formats/json.js";
import { packingOf } from "../../formats/layouts/checkpoints/compressed.js";
import {
  describeQuantization,
  type QuantizationConfig,
} from "../../formats/layouts/checkpoints/config.js";
import { readNotes } from "../../formats/layouts/onnx-described.js";
import type { FileTensor } from "../../formats/source.js";
import { sameShape, sizeOf } from "../../tensor/shape.js";
import type { ModelDocument } from "../open/document.js";
import { documentOf, type Model, type ModelTensor, weightsOf } from "../open/model.js";
import { storedType } from "../quantize/gguf/convert.js";
import { isReadableQuantized } from "../quantize/requantize.js";
import { parseForTarget } from "../quantize/safetensors/schemes.js";
import type { OutputFormat } from "../quantize/types.js";
import { type StoredWeight, UNKNOWN } from "../stored/weight.js";
import { STRUCTURE_KEY } from "../structure/structure.js";
import { viewsOf } from "../weights/view.js";

/** How a file is derived, as far as it says. */
export interface Recorded {
  readonly format: OutputFormat;
  /** The layout of safetensors; undefined for other formats. */
  readonly target: string | undefined;
  readonly activations: "float32" | "dynamic";
  /** Whether weights were quantized that are quantized in the source. */
  readonly requantize: boolean;
  /** Names of schemes by the names of tensors. All others are kept. */
  readonly schemes: ReadonlyMap<string, string>;
  /** Tensors that no writer of this library makes, and why. */
  readonly underivable: ReadonlyMap<string, string>;
  /** Stacks of experts of the source, and the names of the tensors that the file has in their place. */
  readonly stacks: ReadonlyMap<string, readonly string[]>;
}

const HALVES: readonly FileDType[] = ["float16", "bfloat16"];

/** Reads what a file records. @param model  the quantized file */
export async function recordedIn(model: Model, source: Model): Promise<Recorded> {
  const document = documentOf("verify", "quantized", model);
  const { format } = document;
  const schemes = new Map<string, string>();
  const underivable = new Map<string, string>();
  const reader = readerOf(document, await configOf(document));
  const own = weightsOf(model);
  const originals = weightsOf(source);
  const origin = documentOf("verify", "source", source);
  const { files } = origin;
  for (const [name, weight] of own) {
    if (isKept(weight, document.files, originals.get(name), files)) continue;
    const found = reader.schemeOf(weight);
    if (typeof found === "string") schemes.set(name, found);
    else underivable.set(name, found.refused);
  }
  for (const { name, dtype } of model.tensors.values()) {
    const origin = source.tensors.get(name);
    if (own.has(name) || origin === undefined || origin.dtype === dtype) continue;
    if (isStored(origin, dtype, format)) continue;
    schemes.set(name, dtype);
  }
  const stacks = new Map<string, readonly string[]>();
  const { target } = reader;
  const views = await viewsOf("verify", origin);
  for (const name of source.tensors.keys()) {
    const stack = views.stackOf(name);
    const cut = (target === "mlx" ? stack?.stacks : stack?.matrices) ?? [];
    const names = cut.map((each) => each.name);
    const scheme = names.map((each) => schemes.get(each)).find((each) => each !== undefined);
    if (scheme === undefined || model.tensors.has(name)) continue;
    stacks.set(name, names);
    schemes.set(name, scheme);
  }
  const isQuantizedBefore = (name: string): boolean => {
    const origin = source.tensors.get(name);
    return origin !== undefined && isReadableQuantized(origin);
  };
  const isContainer = format === "gguf" && source.format !== "gguf";
  const requantize =
    [...schemes.keys()].some(isQuantizedBefore) ||
    (isContainer && [...source.tensors.keys()].some(isQuantizedBefore));
  const { activations } = reader;
  const made = { format: format as OutputFormat, target, activations, requantize };
  return { ...made, schemes, underivable, stacks };
}

/** Whether a tensor has the dtype that the format has for the values of another one. */
const isStored = (origin: ModelTensor, dtype: FileDType, format: string): boolean =>
  !HALVES.includes(dtype) && !(format === "gguf" && storedType(origin.dtype) !== dtype);

/** Whether a quantized weight has the parts of the same one in the source. */
function isKept(
  weight: StoredWeight,
  files: ReadonlyMap<string, FileTensor>,
  origin: StoredWeight | undefined,
  originals: ReadonlyMap<string, FileTensor>,
): boolean {
  const names = Object.values(weight.parts);
  if (origin === undefined || layoutOf(origin) !== layoutOf(weight)) return false;
  const isSame = (name: string): boolean => {
    const [a, b] = [files.get(name), originals.get(name)];
    return a !== undefined && b !== undefined && a.dtype === b.dtype && sameShape(a.shape, b.shape);
  };
  return Object.values(origin.parts).join("\n") === names.join("\n") && names.every(isSame);
}

const layoutOf = (weight: StoredWeight): string | undefined => fieldOf(weight, "layout");

/** The scheme of a weight, or why there is none. */
type Found = string | { readonly refused: string };

/** Reads the schemes of a file's weights. */
interface SchemeReader {
  readonly target: string | undefined;
  readonly activations: "float32" | "dynamic";
  schemeOf(weight: StoredWeight): Found;
}

function readerOf(document: ModelDocument, config: Configuration): SchemeReader {
  if (document.format === "onnx") {
    const notes = readNotes(document.onnx);
    const byName = new Map(Array.from(notes.values(), (note) => [note.name, note.schemeName]));
    return {
      ...{ target: undefined, activations: "float32" },
      schemeOf: ({ name }) => named(byName.get(name), undefined, "no note names its scheme"),
    };
  }
  if (document.format !== "safetensors") {
    return { target: undefined, activations: "float32", schemeOf: refusedLayout };
  }
  const metadata = document.shards.map((shard) => shard.metadata);
  const saved = new Map(metadata.flatMap((each) => [...nodesIn(each.get(STRUCTURE_KEY))]));
  const reader: { -readonly [K in keyof SchemeReader]: SchemeReader[K] } = {
    target:
      saved.size > 0 || metadata.some((each) => each.has(STRUCTURE_KEY))
        ? "zeropoint"
        : metadata.some((each) => each.get("format") === "mlx")
          ? "mlx"
          : "compressed-tensors",
    activations: "float32",
    schemeOf(weight) {
      const { parts } = weight;
      const layout = layoutOf(weight);
      const partOf = (role: string): FileTensor | undefined => document.files.get(parts[role]);
      const targets: { readonly [layout: string]: string } = {
        "compressed-tensors": "compressed-tensors",
        int8: "compressed-tensors",
        mlx: "mlx",
      };
      const target = layout === undefined ? "zeropoint" : targets[layout];
      if (target === undefined) return refusedLayout(weight);
      if (target !== reader.target) {
        return { refused: `its layout is of target ${target}, the file of ${reader.target}` };
      }
      if (layout === undefined) return savedScheme(saved.get(parts.codes));
      const scale = partOf("scale") as FileTensor;
      if (layout === "mlx") return mlxScheme(weight, partOf("packed") as FileTensor, scale);
      const packed = partOf("packed");
      if (packed === undefined) reader.activations = "dynamic";
      const hasZero = parts.zeroPoint !== undefined;
      return compressedScheme(weight, packed, scale, hasZero, config);
    },
  };
  return reader;
}

function refusedLayout(weight: StoredWeight): Found {
  const layout = layoutOf(weight);
  const isKnown = layout !== UNKNOWN && layout !== undefined;
  return {
    refused: isKnown ? `no writer makes the layout ${layout}` : "its quantization is not known",
  };
}

/** A scheme by its name, if there is one of this name. */
function named(scheme: string | undefined, target: string | undefined, refused: string): Found {
  try {
    return parseForTarget("verify", "scheme", scheme, target).name;
  } catch {
    return { refused };
  }
}

/** A quantized tensor in the structure that `save` writes. */
type Node = Readonly<Record<string, unknown>>;

/** The quantized tensors of the structure by the names of their codes. */
function nodesIn(text: string | undefined): Map<string, Node> {
  const nodes = new Map<string, Node>();
  try {
    JSON.parse(text ?? "null", (_, value: unknown) => {
      const node = Object(value) as Node;
      const [kind, codes] = [fieldOf(node, "kind"), fieldOf(node, "codes")];
      if (kind === "quantized" && typeof codes === "string") nodes.set(codes, ownFields(node));
      return value;
    });
  } catch {
    // Not of save.
  }
  return nodes;
}

function savedScheme(node: Node | undefined): Found {
  const { dtype, scheme, groupSize, scaleShape, offset } = node ?? NO_OPTIONS;
  const refused = "no scheme has its parameters";
  if (offset !== undefined) return { refused };
  const slices =
    groupSize !== undefined ? `g${groupSize}` : scaleShape === undefined ? "tensor" : "channel";
  return named(`${dtype}-${slices}${scheme === "affine" ? "-affine" : ""}`, "zeropoint", refused);
}

function mlxScheme({ shape }: StoredWeight, packed: FileTensor, scale: FileTensor): Found {
  const columns = shape.at(-1) as number;
  const bits = (32 * (packed.shape.at(-1) as number)) / columns;
  const groupSize = columns / (scale.shape.at(-1) as number);
  return named(`int${bits}-g${groupSize}`, "mlx", "no scheme has its bits and groups");
}

function compressedScheme(
  { name, shape }: StoredWeight,
  packed: FileTensor | undefined,
  scale: FileTensor,
  hasZero: boolean,
  { description, groupSizesOf }: Configuration,
): Found {
  const columns = shape[1];
  const packing = packed && packingOf(packed.shape[1], columns, description);
  if (packing?.isOld) return { refused: "its codes are packed as before compressed-tensors 0.17" };
  const bits = packing?.bits ?? (description?.bits.length === 1 ? description.bits[0] : 8);
  const groups = scale.shape[1] ?? 1;
  const isTensor = sizeOf(scale.shape) === 1 && scale.shape.length === 1;
  const isChannel = groups === 1 && !groupSizesOf(name).includes(columns);
  const slices = isTensor ? "tensor" : isChannel ? "channel" : `g${columns / groups}`;
  return named(
    `int${bits}-${slices}${hasZero ? "-affine" : ""}`,
    "compressed-tensors",
    "no scheme has its bits and groups",
  );
}

/** config.json, as far as schemes need it. */
interface Configuration {
  readonly description: QuantizationConfig | undefined;
  /** The group sizes that a weight may have: of the groups of modules that name it, else of all. */
  groupSizesOf(name: string): readonly unknown[];
}

async function configOf({ format, readBeside }: ModelDocument): Promise<Configuration> {
  const bytes = format === "safetensors" ? await readBeside("config.json") : undefined;
  const config = bytes && readJson("verify: config.json", bytes);
  const { quantization_config: own } = Object(config) as Record<string, unknown>;
  const { config_groups: groups } = Object(own) as Record<string, unknown>;
  const forms = Object.values(Object(groups) as object).map((group: unknown) => {
    const { weights, targets } = Object(group) as Record<string, unknown>;
    const { group_size: groupSize } = Object(weights) as Record<string, unknown>;
    return { groupSize, targets: Array.isArray(targets) ? (targets as unknown[]) : [] };
  });
  const groupSizesOf = (name: string): readonly unknown[] => {
    const module = name.replace(/\.weight$/, "");
    const named = forms.filter(({ targets }) => targets.includes(module));
    return (named.length > 0 ? named : forms).map(({ groupSize }) => groupSize);
  };
  return { description: describeQuantization(config), groupSizesOf };
}
