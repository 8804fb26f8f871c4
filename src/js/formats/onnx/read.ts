// Reads the structure of ONNX models.
// Source: onnx 1.20, onnx.proto. Fields that are not named here are passed over, and kept by every edit.

import { fieldOf } from "../../base/fields.js";
import { Budget } from "../budget.js";
import { checkSource, type FileTensor, fileError, renamedTensor, type Source } from "../source.js";
import {
  OnnxAttribute,
  OnnxFunction,
  OnnxGraph,
  type OnnxModel,
  OnnxNode,
  OnnxValue,
} from "./graph.js";
import { OnnxTensor, type OpenExternal, STRING_TYPE, TensorParts, wrongWire } from "./tensor.js";
import { BYTES, FIXED32, type Field, VARINT, WireReader } from "./wire.js";

/** Deepest nesting of messages, as in protobuf's own readers. */
const MAX_DEPTH = 100;

class ModelParts {
  irVersion: number | undefined;
  readonly opsets = new Map<string, number>();
  readonly metadata = new Map<string, string>();
  readonly metadataFields = new Map<string, Field>();
  graph: OnnxGraph | undefined;
  readonly functions: OnnxFunction[] = [];
}

/** A message that is being read. */
interface Frame {
  readonly field: Field | undefined;
  readonly end: number;
  /** Reads a field from `reader.at`. @returns the message in it, if that is to be read, too */
  take(field: Field): Frame | undefined;
  /** Called behind the last field. */
  done?(): void;
}

/**
 * Reads the structure of an ONNX model; values of tensors stay in the file.
 * @param options.externalData  opens files of external data, when values in them are asked for
 * @param where  the called function, for messages
 * @param budget  bounds the memory of the structure
 * @throws {RangeError} `ZP_INVALID_FILE` for files that are no protocol buffer, models without graph, IR version or
 * opset, tensors whose values do not fit their shape, and paths that leave the model's folder
 * For example `(await readOnnx(source)).graph.nodes.map((node) => node.opType)`.
 */
export async function readOnnx(
  given: Source,
  options: { readonly externalData?: OpenExternal } = {},
  where = "readOnnx",
  budget = new Budget(),
): Promise<OnnxModel> {
  const source = checkSource(where, given);
  const parser = new Parser(new WireReader(where, source, budget), options.externalData);
  const parts = new ModelParts();
  await parser.run(parser.model(parts));
  const { irVersion, opsets, metadata, metadataFields, graph, functions } = parts;
  const none = `none in the file, which has ${source.size} bytes and may be cut off`;
  if (graph === undefined) {
    const found = `${none}, or be of Core ML or TensorFlow, whose files begin alike`;
    throw fileError(where, 0, "a model with a graph", found);
  }
  if (irVersion === undefined) throw fileError(where, 0, "a model with ir_version", none);
  if (opsets.size === 0) throw fileError(where, 0, "a model with opset_import", none);
  const tensors = new Map<string, FileTensor>();
  for (const { graph: owner, tensor, name } of parser.found) {
    let key = owner === graph ? name : `${owner.path}/${name}`;
    while (tensors.has(key)) key += "'";
    tensors.set(key, tensor);
  }
  const found = { metadata, metadataFields, graph, functions, tensors };
  return { format: "onnx", source, irVersion, opsets, ...found };
}

/** A file of one TensorProto, as ONNX's test data are. */
export interface OnnxTensorFile {
  readonly metadata: ReadonlyMap<string, string>;
  readonly tensors: ReadonlyMap<string, FileTensor>;
  /** What it holds instead of numbers. */
  readonly unreadable: ReadonlyMap<string, string>;
}

/**
 * Reads a file of one TensorProto. A tensor without a name is called "tensor".
 * @throws {RangeError} `ZP_INVALID_FILE`, also for sequences of tensors, whose files begin alike
 */
export async function readTensorFile(
  given: Source,
  options: { readonly externalData?: OpenExternal } = {},
  where = "readTensorFile",
  budget = new Budget(),
): Promise<OnnxTensorFile> {
  const source = checkSource(where, given);
  const parser = new Parser(new WireReader(where, source, budget), options.externalData);
  const tensors = new Map<string, FileTensor>();
  const unreadable = new Map<string, string>();
  const done = (parts: TensorParts, tensor: OnnxTensor | undefined): void => {
    const name = parts.name === "" ? "tensor" : parts.name;
    if (tensor === undefined) unreadable.set(name, "of text");
    else tensors.set(name, tensor.name === name ? tensor : renamedTensor(tensor, name));
  };
  await parser.run(parser.tensorFile(done));
  return { metadata: new Map(), tensors, unreadable };
}

/** What to do with the fields of a message, by number. */
type Handlers = { readonly [number: number]: (field: Field) => Frame | undefined };

class Parser {
  /** Tensors in the order of the file. */
  readonly found: {
    readonly graph: OnnxGraph;
    readonly tensor: FileTensor;
    readonly name: string;
  }[] = [];

  constructor(
    readonly reader: WireReader,
    readonly external: OpenExternal | undefined,
  ) {}

  /** Reads messages within messages, without recursion. */
  async run(top: Frame): Promise<void> {
    const { reader } = this;
    const stack = [top];
    await reader.run(() => {
      for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
        if (reader.at === frame.end) {
          fieldOf(frame, "done")?.call(frame);
          stack.pop();
          continue;
        }
        const field = reader.field(frame.field, frame.end);
        const inner = frame.take(field);
        if (inner === undefined) reader.at = field.end;
        else {
          if (stack.length >= MAX_DEPTH) {
            throw fileError(
              reader.where,
              field.start,
              `at most ${MAX_DEPTH} nested messages`,
              "more",
            );
          }
          stack.push(inner);
        }
        reader.complete();
      }
    });
  }

  /** A frame of the fields of a message by number; others are passed over. */
  #frame(field: Field | undefined, fields: Handlers, done?: () => void): Frame {
    const end = field === undefined ? this.reader.source.size : field.end;
    const take = (inner: Field): Frame | undefined => fields[inner.number]?.(inner) ?? undefined;
    return done === undefined ? { field, end, take } : { field, end, take, done };
  }

  #wire(field: Field, wire: number): void {
    if (field.wire !== wire) throw wrongWire(this.reader, field);
  }

  /** A handler of text. */
  #text(what: string, set: (text: string) => void) {
    return (field: Field): undefined => {
      this.#wire(field, BYTES);
      set(this.reader.text(field, what));
    };
  }

  /** A handler of an integer from 0 to 2^53 - 1. */
  #count(what: string, set: (value: number) => void) {
    return (field: Field): undefined => {
      this.#wire(field, VARINT);
      this.reader.at = field.content;
      set(this.reader.count(field.end, what));
    };
  }

  /** A handler of a message. */
  #message(open: (field: Field) => Frame, bytes = 300) {
    return (field: Field): Frame => {
      this.#wire(field, BYTES);
      this.reader.spend(field.start, bytes);
      return open(field);
    };
  }

  model(model: ModelParts): Frame {
    return this.#frame(undefined, {
      1: this.#count("ir_version", (value) => {
        model.irVersion = value;
      }),
      7: this.#message((field) => {
        if (model.graph !== undefined) {
          throw fileError(this.reader.where, field.start, "one graph", "a second one");
        }
        model.graph = new OnnxGraph(field);
        return this.#graph(model.graph);
      }),
      8: this.#message((field) => {
        let domain = "";
        let version: number | undefined;
        const fields = {
          1: this.#text("a domain", (text) => {
            domain = text;
          }),
          2: this.#count("a version", (value) => {
            version = value;
          }),
        };
        return this.#frame(field, fields, () => {
          model.opsets.set(domain === "ai.onnx" ? "" : domain, version ?? 1);
        });
      }),
      14: this.#message((field) => this.#pair(field, model.metadata, model.metadataFields)),
      25: this.#message((field) => {
        const body = new OnnxFunction(field);
        model.functions.push(body);
        return this.#function(body);
      }, 900),
    });
  }

  /** The fields of one tensor are the whole file. */
  tensorFile(done: (parts: TensorParts, tensor: OnnxTensor | undefined) => void): Frame {
    const { where, source } = this.reader;
    const own = { number: 0, wire: BYTES, start: 0, tagEnd: 0, content: 0, end: source.size };
    const { end, take, done: finish } = this.#tensor({ ...own, parent: undefined }, done);
    const takeField = (inner: Field): Frame | undefined => {
      if (inner.number === 3) {
        throw fileError(where, inner.start, "one tensor", "a sequence, or a segment of a tensor");
      }
      return take(inner);
    };
    return { field: undefined, end, take: takeField, ...(finish && { done: finish }) };
  }

  /** A message of a key and a value. */
  #pair(field: Field, map: Map<string, string>, places?: Map<string, Field>): Frame {
    let key = "";
    let value = "";
    const fields = {
      1: this.#text("a key", (text) => {
        key = text;
      }),
      2: this.#text("a value", (text) => {
        value = text;
      }),
    };
    return this.#frame(field, fields, () => {
      map.set(key, value);
      places?.set(key, field);
    });
  }

  #graph(graph: OnnxGraph): Frame {
    const { field } = graph;
    const names = new Set<string>();
    const addName = (at: Field, name: string): void => {
      if (name === "" || names.has(name)) {
        const found = name === "" ? "none" : `${JSON.stringify(name)} again`;
        throw fileError(
          this.reader.where,
          at.start,
          "an initializer with a name of its own",
          found,
        );
      }
      names.add(name);
    };
    const values = (list: OnnxValue[]) =>
      this.#message((inner) => {
        const value = new OnnxValue(inner);
        list.push(value);
        return this.#value(value);
      });
    return this.#frame(field, {
      1: this.#message((inner) => this.#node(inner, graph), 700),
      2: this.#text("a graph's name", (text) => {
        graph.name = text;
      }),
      5: this.#message(
        (inner) =>
          this.#tensor(inner, (parts, tensor) => {
            addName(inner, parts.name);
            if (tensor === undefined) graph.otherInitializers.push(parts.name);
            else {
              graph.initializers.push(tensor);
              this.found.push({ graph, tensor, name: parts.name });
            }
          }),
        1200,
      ),
      11: values(graph.inputs),
      12: values(graph.outputs),
      13: values(graph.valueInfo),
      15: this.#message((inner) =>
        this.#frame(inner, {
          1: this.#message(
            (values) =>
              this.#tensor(values, (parts) => {
                addName(inner, parts.name);
                graph.otherInitializers.push(parts.name);
              }),
            1200,
          ),
        }),
      ),
    });
  }

  #function(body: OnnxFunction): Frame {
    return this.#frame(body.field, {
      1: this.#text("a function's name", (text) => {
        body.name = text;
        body.body.name = text;
      }),
      4: this.#text("an input", (text) => body.inputs.push(text)),
      5: this.#text("an output", (text) => body.outputs.push(text)),
      7: this.#message((inner) => this.#node(inner, body.body), 700),
      10: this.#text("a domain", (text) => {
        body.domain = text;
      }),
    });
  }

  #node(field: Field, graph: OnnxGraph): Frame {
    const node = new OnnxNode(field, graph);
    const fields = {
      1: this.#text("an input", (text) => node.inputs.push(text)),
      2: this.#text("an output", (text) => node.outputs.push(text)),
      3: this.#text("a node's name", (text) => {
        node.name = text;
      }),
      4: this.#text("op_type", (text) => {
        node.opType = text;
      }),
      5: this.#message((inner) => this.#attribute(inner, node)),
      7: this.#text("a domain", (text) => {
        node.domain = text;
      }),
    };
    return this.#frame(field, fields, () => {
      graph.nodes.push(node);
      this.#findConstant(node);
    });
  }

  /** Lists the value of a `Constant` node among the tensors. */
  #findConstant(node: OnnxNode): void {
    const [name] = node.outputs;
    if (node.opType !== "Constant" || node.domain !== "" || name === undefined) return;
    const tensor = node.attributes.get("value")?.tensor;
    const floats = node.attributes.get("value_floats")?.floats;
    if (tensor !== undefined) this.found.push({ graph: node.graph, tensor, name });
    else if (floats !== undefined) {
      this.found.push({ graph: node.graph, tensor: floatsTensor(name, floats), name });
    }
  }

  #attribute(field: Field, node: OnnxNode): Frame {
    const { reader } = this;
    const attribute = new OnnxAttribute(field);
    const graph = (inner: Field): OnnxGraph => new OnnxGraph(inner, { node, attribute });
    /** A handler of repeated numbers, packed or not. */
    const numbers =
      <T>(wire: number, list: T[], read: (end: number) => T) =>
      (inner: Field): undefined => {
        if (inner.wire !== wire && inner.wire !== BYTES) throw wrongWire(reader, inner);
        const values: T[] = [];
        reader.at = inner.content;
        while (reader.at < inner.end) {
          reader.spend(inner.start, 12);
          values.push(read(inner.end));
        }
        for (const value of values) list.push(value);
      };
    const fields = {
      1: this.#text("an attribute's name", (text) => {
        attribute.name = text;
      }),
      2: (inner: Field): undefined => {
        this.#wire(inner, FIXED32);
        attribute.float = reader.float(inner.end);
      },
      3: (inner: Field): undefined => {
        this.#wire(inner, VARINT);
        reader.at = inner.content;
        attribute.int = reader.integer(inner.end);
      },
      4: (inner: Field): undefined => {
        this.#wire(inner, BYTES);
        if (inner.end - inner.content <= 2 ** 16) attribute.string = reader.bytes(inner, "text");
      },
      5: this.#message(
        (inner) =>
          this.#tensor(inner, (_, tensor) => {
            attribute.tensor = tensor;
          }),
        1200,
      ),
      6: this.#message((inner) => {
        attribute.graph = graph(inner);
        return this.#graph(attribute.graph);
      }, 900),
      7: numbers(FIXED32, attribute.floats, (end) => reader.float(end)),
      8: numbers(VARINT, attribute.ints, (end) => reader.integer(end)),
      11: this.#message((inner) => {
        const added = graph(inner);
        attribute.graphs.push(added);
        return this.#graph(added);
      }, 900),
    };
    return this.#frame(field, fields, () => {
      if (node.attributes.has(attribute.name)) {
        const found = `${JSON.stringify(attribute.name)} again`;
        throw fileError(reader.where, field.start, "every attribute once", found);
      }
      node.attributes.set(attribute.name, attribute);
    });
  }

  /** @param done  gets the tensor, but undefined for one of text */
  #tensor(field: Field, done: (parts: TensorParts, tensor: OnnxTensor | undefined) => void): Frame {
    const { reader } = this;
    const parts = new TensorParts(field);
    const fields: Handlers = {
      2: this.#count("data_type", (value) => {
        parts.dataType = value;
      }),
      8: this.#text("a tensor's name", (text) => {
        parts.name = text;
      }),
      13: this.#message((inner) => this.#pair(inner, parts.external)),
      14: this.#count("data_location", (value) => {
        if (value > 1) throw fileError(reader.where, reader.at, "data_location 0 or 1", value);
        parts.isExternal = value === 1;
      }),
    };
    return {
      field,
      end: field.end,
      take: (inner) =>
        parts.take(reader, inner) ? undefined : (fields[inner.number]?.(inner) ?? undefined),
      done: () => {
        const isText = parts.dataType === STRING_TYPE;
        done(
          parts,
          isText ? undefined : new OnnxTensor(reader.where, reader.source, parts, this.external),
        );
      },
    };
  }

  #value(value: OnnxValue): Frame {
    const shape = (field: Field): Frame => {
      const lengths: (number | string | undefined)[] = [];
      value.shape = lengths;
      return this.#frame(field, {
        1: this.#message((inner) => {
          const axis = lengths.push(undefined) - 1;
          return this.#frame(inner, {
            1: (each): undefined => {
              this.#wire(each, VARINT);
              this.reader.at = each.content;
              const length = this.reader.integer(each.end);
              // Negative lengths, which some exporters write, are unknown ones.
              lengths[axis] = typeof length === "number" && length >= 0 ? length : undefined;
            },
            2: this.#text("dim_param", (text) => {
              lengths[axis] = text;
            }),
          });
        }),
      });
    };
    const tensorType = (field: Field): Frame =>
      this.#frame(field, {
        1: this.#count("elem_type", (type) => {
          value.elementType = type;
        }),
        2: this.#message(shape),
      });
    return this.#frame(value.field, {
      1: this.#text("a value's name", (text) => {
        value.name = text;
      }),
      2: this.#message((field) => this.#frame(field, { 1: this.#message(tensorType) })),
    });
  }
}

/** A tensor of the floats of an attribute. */
function floatsTensor(name: string, floats: readonly number[]): FileTensor {
  const bytes = new Uint8Array(Float32Array.from(floats).buffer);
  async function* part(begin = 0, end = bytes.length) {
    if (end > begin) yield bytes.subarray(begin, end);
  }
  return { name, shape: [floats.length], dtype: "float32", byteLength: bytes.length, bytes: part };
}
