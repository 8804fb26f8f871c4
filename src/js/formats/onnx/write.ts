// Edits of ONNX models, and new messages for them.
// Source: onnx 1.20, onnx.proto.

import { rangeError } from "../../base/errors.js";
import { fieldOf } from "../../base/fields.js";
import { bytesOf } from "../dtypes.js";
import { countElements, exactBytes, type WritableTensor } from "../source.js";
import type { OnnxModel } from "./graph.js";
import { dataTypeOf } from "./tensor.js";
import {
  bytesField,
  type Edit,
  type Field,
  floatField,
  joinParts,
  type Part,
  type Spliced,
  splice,
  varintField,
} from "./wire.js";

/** An attribute of a new node: an integer, a float, text, integers, or a tensor. */
export type NewAttribute =
  | { readonly int: number }
  | { readonly float: number }
  | { readonly string: string }
  | { readonly ints: readonly number[] }
  | { readonly tensor: WritableTensor };

/** A node to be written. */
export interface NewNode {
  readonly name?: string;
  readonly opType: string;
  /** Default: ONNX's own. */
  readonly domain?: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, NewAttribute>>;
}

/** Where the values of a new tensor are, if not in the model. */
export interface ExternalPlace {
  /** Path relative to the model. */
  readonly location: string;
  readonly offset: number;
}

/**
 * The fields of a TensorProto; values in `raw_data`, which is streamed.
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE` for dtypes that ONNX has not
 */
export function tensorMessage(tensor: WritableTensor, external?: ExternalPlace): Part[] {
  const where = "writeOnnx";
  const { name, shape, dtype } = tensor;
  const dataType = dataTypeOf(dtype);
  const byteLength = bytesOf(dtype, countElements(where, 0, shape));
  if (dataType < 0 || byteLength === undefined) {
    const problem = `tensor ${JSON.stringify(name)} has dtype ${dtype}, which ONNX does not have`;
    throw rangeError("ZP_UNSUPPORTED_DTYPE", where, problem);
  }
  const parts = shape.flatMap((length) => varintField(1, length));
  parts.push(...varintField(2, dataType), ...bytesField(8, name));
  if (external === undefined) {
    const data = { byteLength, bytes: () => exactBytes(where, tensor, byteLength) };
    return [...parts, ...bytesField(9, data)];
  }
  const entry = (key: string, value: string): Part[] =>
    bytesField(13, [...bytesField(1, key), ...bytesField(2, value)]);
  parts.push(...entry("location", external.location), ...entry("offset", String(external.offset)));
  return [...parts, ...entry("length", String(byteLength)), ...varintField(14, 1)];
}

/** The fields of a NodeProto. */
export function nodeMessage(node: NewNode): Part[] {
  const name = fieldOf(node, "name");
  const parts = [
    ...node.inputs.flatMap((input) => bytesField(1, input)),
    ...node.outputs.flatMap((output) => bytesField(2, output)),
    ...(name === undefined ? [] : bytesField(3, name)),
    ...bytesField(4, node.opType),
  ];
  for (const [key, value] of Object.entries(fieldOf(node, "attributes") ?? {})) {
    parts.push(...bytesField(5, [...bytesField(1, key), ...attributeFields(value)]));
  }
  const domain = fieldOf(node, "domain");
  return domain === undefined ? parts : [...parts, ...bytesField(7, domain)];
}

/** The value of an AttributeProto, and its type. */
function attributeFields(value: NewAttribute): Part[] {
  const [[kind, content]] = Object.entries(value) as [[string, never]];
  if (kind === "int") return [...varintField(3, content), ...varintField(20, 2)];
  if (kind === "float") return [...floatField(2, content), ...varintField(20, 1)];
  if (kind === "string") return [...bytesField(4, content), ...varintField(20, 3)];
  if (kind === "tensor") return [...bytesField(5, tensorMessage(content)), ...varintField(20, 4)];
  const ints: readonly number[] = content;
  return [...ints.flatMap((int) => varintField(8, int)), ...varintField(20, 7)];
}

/** An entry of `metadata_props`. */
export const metadataField = (key: string, value: string): Part[] =>
  bytesField(14, [...bytesField(1, key), ...bytesField(2, value)]);

/** Edits of a model. What is not edited keeps its bytes, unknown fields and order included. */
export class OnnxEditor {
  readonly #edits: Edit[] = [];

  constructor(readonly model: OnnxModel) {}

  /** Replaces the content of a message: a node, a tensor, an attribute. */
  replace({ number, start, end, parent }: Field, message: readonly Part[]): void {
    this.#edits.push({ parent, start, end, parts: joinParts(bytesField(number, message)) });
  }

  /** Removes a field. */
  remove({ start, end, parent }: Field): void {
    this.#edits.push({ parent, start, end, parts: [] });
  }

  /** Puts a message of the same kind as a field before that field. */
  insertBefore({ number, start, parent }: Field, message: readonly Part[]): void {
    const parts = joinParts(bytesField(number, message));
    this.#edits.push({ parent, start, end: start, parts });
  }

  /** Puts fields at the end of a message: undefined is the model. */
  append(parent: Field | undefined, fields: readonly Part[]): void {
    const end = parent?.end ?? this.model.source.size;
    this.#edits.push({ parent, start: end, end, parts: joinParts(fields) });
  }

  /** Adds an initializer to a graph. */
  addInitializer(graph: Field, tensor: WritableTensor, external?: ExternalPlace): void {
    this.append(graph, bytesField(5, tensorMessage(tensor, external)));
  }

  /** Adds a node at the end of a graph. */
  addNode(graph: Field, node: NewNode): void {
    this.append(graph, bytesField(1, nodeMessage(node)));
  }

  /** Imports the operators of a domain. */
  addOpset(domain: string, version: number): void {
    this.append(undefined, bytesField(8, [...bytesField(1, domain), ...varintField(2, version)]));
  }

  /** Adds an entry of `metadata_props`. */
  addMetadata(key: string, value: string): void {
    this.append(undefined, metadataField(key, value));
  }

  /**
   * The edited model.
   * @throws {RangeError} `ZP_CONFLICTING_OPTIONS` if edits overlap; `ZP_SIZE_OVERFLOW` from 2 GiB on
   */
  finish(): Spliced {
    return splice("writeOnnx", this.model.source, this.#edits);
  }
}
