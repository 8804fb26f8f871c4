// The structure of a saved file: JSON in __metadata__ beside the tensors, written and read node by node.

import { rangeError, typeError, type ZeropointError } from "../../base/errors.js";
import { show, showShape } from "../../base/format-value.js";
import type { Bind } from "../../core/create.js";
import { Budget } from "../../formats/budget.js";
import type { FileDType } from "../../formats/dtypes.js";
import {
  type ByteStream,
  type FileError,
  fileError,
  type Span,
  type WritableTensor,
} from "../../formats/source.js";
import { sizeOf } from "../../tensor/shape.js";

/** The key of `__metadata__` that holds the structure. */
export const STRUCTURE_KEY = "zeropoint";

/** The version of the structure. */
export const STRUCTURE_VERSION = 1;

/** The deepest nesting of nodes. */
const DEEPEST = 64;

/** A value of JSON. */
export type JSONValue =
  | null
  | boolean
  | number
  | string
  | readonly JSONValue[]
  | { readonly [name: string]: JSONValue };

/** A node: its kind, and its fields. */
export type JSONNode = { readonly kind: string; readonly [name: string]: JSONValue };

/** A function from tensor to tensor that is a layer. */
export type LayerFunction = (...args: never) => unknown;

/** Collects the tensors of a file that is saved, and gives them names. */
export class FileWriter {
  readonly tensors: WritableTensor[] = [];
  /** User functions by name. */
  readonly functions = new Map<string, LayerFunction>();
  readonly #names = new Set<string>(["__metadata__"]);
  #depth = 0;

  constructor(readonly where: string) {}

  /**
   * Adds a tensor.
   * @param path  its name, unless another tensor has it; then with a number behind it
   * @param bytes  called when the file is written
   * @returns its name
   */
  add(path: string, dtype: FileDType, shape: readonly number[], bytes: () => ByteStream): string {
    let name = path;
    for (let i = 2; this.#names.has(name); i++) name = `${path}_${i}`;
    this.#names.add(name);
    this.tensors.push({ name, dtype, shape: [...shape], bytes });
    return name;
  }

  /** Writes a part of a thing. @throws {RangeError} `ZP_INVALID_MODEL` if it is nested too deep */
  inside<T>(write: () => T): T {
    if (++this.#depth > DEEPEST) {
      const problem = `thing must be nested at most ${DEEPEST} deep`;
      throw rangeError("ZP_INVALID_MODEL", this.where, problem);
    }
    const node = write();
    this.#depth--;
    return node;
  }

  /** The error for a value that cannot be saved. */
  refuse(path: string, problem: string): ZeropointError {
    const whereabouts = path === "" ? "thing" : `"${path}"`;
    return typeError("ZP_INVALID_MODEL", this.where, `${whereabouts} cannot be saved: ${problem}`);
  }
}

/** The name of a part of a thing. */
export const joined = (path: string, name: string): string =>
  path === "" ? name : `${path}.${name}`;

/** A tensor of a file, with all its bytes. */
export interface LoadedTensor {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  /** In a buffer of their own. */
  readonly bytes: Uint8Array;
}

/** A tensor of a file, and where its bytes are. */
export interface PlacedTensor {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  readonly span: Span;
}

/** Reads a saved file's structure, and hands out its tensors. */
export class StructureReader {
  readonly #tensors: Map<string, LoadedTensor>;
  readonly #placed: Map<string, PlacedTensor>;
  readonly #later: (() => Promise<void>)[] = [];
  readonly #budget: Budget;
  #depth = 0;

  /**
   * @param functions  user functions by name; without a prototype
   * @param bind  binds classes of observers to the instance that reads
   * @param placed  tensors that are read later, see `placedNames`
   */
  constructor(
    readonly where: string,
    tensors: ReadonlyMap<string, LoadedTensor>,
    size: number,
    readonly functions: Readonly<Record<string, unknown>>,
    readonly bind: Bind = (value) => value,
    placed: ReadonlyMap<string, PlacedTensor> = new Map(),
  ) {
    this.#tensors = new Map(tensors);
    this.#placed = new Map(placed);
    this.#budget = new Budget(size + 48 * 2 ** 20);
  }

  /** Enters a nested node. */
  inside<T>(path: string, read: () => T): T {
    if (++this.#depth > DEEPEST) throw this.fail(path, `at most ${DEEPEST} levels`, "more");
    const result = read();
    this.#depth--;
    return result;
  }

  /** Limits the memory of objects that are made from small parts of the file. */
  spend(bytes: number): void {
    this.#budget.spend(this.where, 8, bytes);
  }

  /** The error for a structure that is not as `save` writes it. */
  fail(path: string, expected: string, found: unknown): FileError {
    const place = `${STRUCTURE_KEY}${path} in __metadata__`;
    return fileError(this.where, 8, `${expected} for ${place}`, show(found));
  }

  /** The fields of a node. @throws {RangeError} `ZP_INVALID_FILE` for any others */
  fields<Name extends string>(
    path: string,
    value: unknown,
    names: readonly Name[],
  ): Readonly<Partial<Record<Name, unknown>>> {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw this.fail(path, "an object", value);
    }
    this.spend(500);
    const unknown = Object.keys(value).find((name) => !names.includes(name as Name));
    if (unknown !== undefined) throw this.fail(path, `one of ${names.join(", ")}`, unknown);
    return Object.assign(Object.create(null), value) as Partial<Record<Name, unknown>>;
  }

  /** A list. */
  list(path: string, value: unknown): readonly unknown[] {
    if (Array.isArray(value)) return value;
    throw this.fail(path, "a list", value);
  }

  /** A text. */
  text(path: string, value: unknown): string {
    if (typeof value === "string") return value;
    throw this.fail(path, "a text", value);
  }

  /** One of several texts. */
  choice<C extends string>(path: string, value: unknown, choices: readonly C[]): C {
    if (choices.includes(value as C)) return value as C;
    throw this.fail(path, choices.map((each) => `"${each}"`).join(" or "), value);
  }

  /** true or false. */
  flag(path: string, value: unknown): boolean {
    if (typeof value === "boolean") return value;
    throw this.fail(path, "true or false", value);
  }

  /** An integer of a range. */
  integer(path: string, value: unknown, low: number, high: number): number {
    if (Number.isInteger(value) && (value as number) >= low && (value as number) <= high) {
      return value as number;
    }
    throw this.fail(path, `an integer from ${low} to ${high}`, value);
  }

  /** Lengths of axes. */
  shape(path: string, value: unknown): number[] {
    const lengths = this.list(path, value);
    if (lengths.length > DEEPEST) throw this.fail(path, `at most ${DEEPEST} lengths`, lengths);
    return lengths.map((length, i) => this.integer(`${path}[${i}]`, length, 0, 2 ** 32 - 1));
  }

  /** Takes a tensor of one of several dtypes by its name. A tensor can be taken once. */
  take(path: string, value: unknown, dtypes: readonly FileDType[]): LoadedTensor {
    return this.#take(this.#tensors, path, value, dtypes);
  }

  #take<Tensor extends LoadedTensor | PlacedTensor>(
    tensors: Map<string, Tensor>,
    path: string,
    value: unknown,
    dtypes: readonly FileDType[],
  ): Tensor {
    const name = this.text(path, value);
    const tensor = tensors.get(name);
    if (tensor === undefined) throw this.fail(path, "the name of a tensor not used before", name);
    if (!dtypes.includes(tensor.dtype)) {
      throw this.fail(path, `${show(name)} of ${dtypes.join(" or ")}`, tensor.dtype);
    }
    tensors.delete(name);
    // A shape without values costs nothing in the file, but rows of it cost memory.
    if (sizeOf(tensor.shape) === 0) this.spend(32 * Math.max(...tensor.shape));
    return tensor;
  }

  /** Takes a tensor and checks its shape. */
  takeShaped(
    path: string,
    value: unknown,
    dtypes: readonly FileDType[],
    shape: readonly number[],
  ): LoadedTensor {
    return this.#shaped(path, value, this.take(path, value, dtypes), shape);
  }

  /** Takes a tensor whose bytes are read later, and checks its shape. */
  takePlaced(path: string, value: unknown, dtype: FileDType, shape: readonly number[]): Span {
    const tensor = this.#take(this.#placed, path, value, [dtype]);
    return this.#shaped(path, value, tensor, shape).span;
  }

  #shaped<Tensor extends LoadedTensor | PlacedTensor>(
    path: string,
    value: unknown,
    tensor: Tensor,
    shape: readonly number[],
  ): Tensor {
    if (tensor.shape.length === shape.length && tensor.shape.every((n, i) => n === shape[i])) {
      return tensor;
    }
    throw this.fail(path, `${show(value)} of shape ${showShape(shape)}`, tensor.shape);
  }

  /** Adds work for after all nodes are read: it reads bytes. */
  later(work: () => Promise<void>): void {
    this.#later.push(work);
  }

  /** Does the work that was added. */
  async finish(): Promise<void> {
    for (const work of this.#later) await work();
  }

  /** Checks that all tensors were taken. */
  end(): void {
    const [left] = [...this.#tensors.keys(), ...this.#placed.keys()];
    if (left !== undefined) throw this.fail("", "a use of every tensor", left);
  }
}

/** A number for JSON: infinities, NaN and -0 are texts. */
export const toJSONNumber = (value: number): number | string =>
  Object.is(value, -0) ? "-0" : Number.isFinite(value) ? value : String(value);

/** A number of `toJSONNumber`. */
export function fromJSONNumber(reader: StructureReader, path: string, value: unknown): number {
  if (typeof value === "number") return value;
  return Number(reader.choice(path, value, ["-0", "Infinity", "-Infinity", "NaN"]));
}
