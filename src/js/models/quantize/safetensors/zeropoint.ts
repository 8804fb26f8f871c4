// zeropoint's own layout: a named collection, as `save` writes it, so that `load` and README's lines of Python read it.

import { DTYPES } from "../../../base/dtype.js";
import { fieldOf } from "../../../base/fields.js";
import type { Core } from "../../../core/core.js";
import { bytesOf } from "../../../formats/dtypes.js";
import { writeJson } from "../../../formats/json.js";
import { bytesOfText } from "../../../formats/safetensors.js";
import { sizeOf } from "../../../tensor/shape.js";
import type { ModelTensor } from "../../open/model.js";
import type { LinearScheme } from "../../scheme.js";
import { ARRAY_DTYPES, zeroPointsDType } from "../../structure/arrays.js";
import { BitPacker } from "../../structure/bits.js";
import { type JSONNode, STRUCTURE_KEY, STRUCTURE_VERSION } from "../../structure/structure.js";
import { encodeCodes, encodeParams } from "../../weights/slabs.js";
import { type Groups, groupCount, groupsPerRow, ownEncoder } from "../../weights/slices.js";
import { encodeFloats } from "../halves.js";
import type { OutputTensor } from "../output-tensor.js";
import type { Entry, Layout, Weight } from "./weight-layout.js";

/** The node of a quantized tensor, as `save` writes it. */
function nodeOf(weight: Weight, names: Record<string, string>): JSONNode {
  const { tensor, scheme, source } = weight;
  const { shape } = tensor;
  const node = {
    kind: "quantized",
    dtype: scheme.dtype,
    scheme: scheme.isAffine ? "affine" : "symmetric",
    codes: names.codes,
    shape: [...shape],
  } as const;
  const zeroPoint = scheme.isAffine ? { zeroPoint: names.zero } : {};
  if (scheme.granularity === "tensor") return { ...node, scale: names.scale, ...zeroPoint };
  if (scheme.granularity === "channel") {
    const scaleShape = weight.view.scaleShape;
    const long = scaleShape.flatMap((length, axis) => (length > 1 ? [axis] : []));
    const [first, last] = weight.view.inputAxes;
    const axis = long[0] ?? (first > 0 ? 0 : last + 1);
    // Scales along several axes: without an axis, they are repeated along the others.
    const own = long.length > 1 ? {} : { axis };
    return { ...node, ...own, scale: names.scale, scaleShape, ...zeroPoint };
  }
  const scaleShape = [groupCount(source.groups), 1];
  const groupSize = scheme.groupSize as number;
  return { ...node, groupSize, scale: names.scale, scaleShape, ...zeroPoint };
}

/** The shape of scales and zero points in the file. */
function paramsShape(weight: Weight): number[] {
  const { tensor, scheme, source } = weight;
  const { shape } = tensor;
  if (scheme.granularity === "tensor") return [1];
  if (scheme.granularity === "channel") return weight.view.scaleShape;
  return [...shape.slice(0, -1), groupsPerRow(source.groups)];
}

/** Why a weight is kept whose scales would take up what its codes save, as those of groups along a short axis do. */
function refuseLarger(
  { shape, dtype }: ModelTensor,
  scheme: LinearScheme,
  groups: Groups,
): string | undefined {
  const size = sizeOf(shape);
  const slices = groupCount(groups);
  const zeroBytes = scheme.isAffine ? (bytesOf(zeroPointsDType(scheme.dtype), slices) ?? 0) : 0;
  const bytes = Math.ceil((size * DTYPES[scheme.dtype].bits) / 8) + 4 * slices + zeroBytes;
  if (bytes < (bytesOf(dtype, size) ?? 0)) return undefined;
  const groupSize = fieldOf(groups, "height") ?? groups.groupSize;
  const values = groupSize === 1 ? "value" : `${groupSize} values`;
  return `not smaller as ${scheme.name}, with a scale for each ${values}`;
}

/** Codes of 8 bits as they are stored. */
const bytesOfCodes = ({ buffer, byteOffset, length }: Uint8Array | Int8Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, length);

/** zeropoint's own layout. */
export function zeropointLayout(core: Core): Layout {
  const nodes = new Map<string, JSONNode>();
  return {
    target: "zeropoint",
    isAlwaysIndexed: false,
    hasScalesFirst: true,
    style: { indent: 2, sorted: "all" },
    refuse: (tensor, scheme, isExplicit, groups) =>
      isExplicit ? undefined : refuseLarger(tensor, scheme, groups),
    encoderOf: (_, scheme) => ownEncoder(core, scheme),
    parts(weight, claim) {
      const { tensor, scheme, source } = weight;
      const { bits } = DTYPES[scheme.dtype];
      const { size } = source.values;
      const shape = paramsShape(weight);
      const names: Record<string, string> = {
        codes: tensor.name,
        scale: claim(`${tensor.name}_scale`),
      };
      const inputBytes = tensor.byteLength;
      const codes: OutputTensor = {
        name: tensor.name,
        dtype: bits === 8 && scheme.dtype.startsWith("i") ? "int8" : "uint8",
        shape: bits < 8 ? [Math.ceil((size * bits) / 8)] : tensor.shape,
        inputBytes,
        async *stream(advance) {
          if (bits === 8) {
            yield* encodeCodes(source, advance, bytesOfCodes);
            return;
          }
          const packer = new BitPacker(bits);
          yield* encodeCodes(source, advance, (each) => {
            packer.put(each, 0, each.length);
            return packer.take();
          });
          yield packer.take(true);
        },
      };
      const scales: OutputTensor = {
        ...{ name: names.scale, dtype: "float32", shape, inputBytes },
        stream: (advance) =>
          encodeParams(source, advance, ({ scale }) => encodeFloats(scale.slice(), "float32")),
      };
      const parts = [codes, scales];
      if (scheme.isAffine) {
        names.zero = claim(`${tensor.name}_zero_point`);
        parts.push({
          ...{ name: names.zero, dtype: zeroPointsDType(scheme.dtype), shape, inputBytes },
          stream: (advance) => encodeParams(source, advance, ({ zero }) => Uint8Array.from(zero)),
        });
      }
      nodes.set(tensor.name, nodeOf(weight, names));
      return parts;
    },
    noteBytes: (name) =>
      bytesInMetadata(nodes.get(name)) - bytesInMetadata({ kind: "tensor", tensor: name }),
    metadata(given, entries) {
      const thing = structureOf(given.get(STRUCTURE_KEY), entries, nodes);
      const structure = { version: STRUCTURE_VERSION, thing };
      const kept = [...given].filter(([key]) => key !== STRUCTURE_KEY);
      return [...kept, [STRUCTURE_KEY, writeJson(structure)]];
    },
  };
}

/**
 * The structure of the file: that of the source, if `save` wrote it, with quantized tensors in the places of float ones;
 * otherwise a collection.
 */
function structureOf(
  text: string | undefined,
  entries: readonly Entry[],
  nodes: ReadonlyMap<string, JSONNode>,
): unknown {
  const saved = new Map<string, unknown>();
  const parts = new Set<string>();
  const left = new Set(entries.flatMap(({ scheme, tensor }) => (scheme ? [tensor.name] : [])));
  /** Puts a node where the structure has the name of a tensor that is quantized now. */
  const replaced = (name: unknown): unknown => {
    const node = typeof name === "string" && left.has(name) ? nodes.get(name) : undefined;
    if (node !== undefined) left.delete(name as string);
    return node;
  };
  let thing: unknown;
  try {
    const given = JSON.parse(String(text), (_, value: unknown) => {
      const { kind, tensor, weight, codes } = Object(value) as Record<string, unknown>;
      if (kind === "tensor") return replaced(tensor) ?? value;
      if (kind === "quantized" || kind === "torch") {
        saved.set(String(codes), value);
        const { scale, zeroPoint, offset } = value as Record<string, unknown>;
        for (const part of [scale, zeroPoint, offset]) parts.add(String(part));
      }
      const isLayer = kind === "Linear" || kind === "Embedding";
      const node = isLayer ? replaced(weight) : undefined;
      return node === undefined ? value : { ...(value as object), weight: node };
    }) as { readonly version?: unknown; readonly thing?: unknown } | null;
    if (given?.version === STRUCTURE_VERSION) thing = given.thing;
  } catch {
    // Not of save.
  }
  const isRewritten = ({ tensor, parts: [{ name, dtype }] }: Entry): boolean =>
    saved.has(name) &&
    (nodes.has(name) || dtype === "float16" || dtype === "bfloat16") &&
    !tensor.isQuantized;
  if (thing !== undefined && left.size === 0 && !entries.some(isRewritten)) return thing;
  const items = entries
    .filter(({ parts: [{ name }] }) => !parts.has(name))
    .map((entry) => {
      const { tensor, parts } = entry;
      const [first] = parts;
      const old = isRewritten(entry) ? undefined : saved.get(first.name);
      return [tensor.name, nodes.get(tensor.name) ?? old ?? plainNode(first)];
    });
  return { kind: "collection", items };
}

/** Bytes of a node in `__metadata__`, which is a text in JSON. */
const bytesInMetadata = (node: JSONNode | undefined): number =>
  bytesOfText(JSON.stringify(writeJson(node)));

/** The node of a tensor that is not quantized. */
const plainNode = ({ name, dtype }: OutputTensor): JSONNode => {
  const isArray = [...ARRAY_DTYPES, "float16", "bfloat16"].includes(dtype);
  return { kind: isArray ? "tensor" : "bytes", tensor: name };
};
