// The types of connections and handles, made from the library's own.

import type { PlatformByteStream } from "../base/platform.js";
import type * as library from "../library.js";
import type * as models from "../models/index.js";
import type { FileSource } from "../models/open/sources.js";
import type { Loaded, Saveable } from "../models/save/saveable.js";
import type { NeedsDType, NeedsScheme, OneOfBoth } from "../quantize/options.js";
import type * as search from "../search.js";
import type * as torch from "../torch.js";
import type { CallOptions } from "./settings.js";

/** Parameters followed by call options, which take the place of optional parameters that are left out. */
export type WithCallOptions<A extends readonly unknown[]> = number extends A["length"]
  ? A
  : A extends readonly []
    ? [call?: CallOptions]
    : A extends readonly [infer First, ...infer Rest]
      ? [First, ...WithCallOptions<Rest>]
      : A extends readonly [(infer First)?, ...infer Rest]
        ? [call?: CallOptions] | [First | undefined, ...WithCallOptions<Rest>]
        : [...A, call?: CallOptions];

/** The objects of the library that stay with it. */
type Stationary =
  | library.QuantizedLinear
  | torch.Observer
  | library.Layer
  | torch.PreparedModel
  | torch.QuantizedModel
  | models.Model
  | models.InputMoments
  | AnyIndex;

/** An index with any ids and any metric. */
type AnyIndex = search.VectorIndex<search.VectorId, search.VectorMetric>;

/** A result as the calling thread gets it: objects that stay with the library are handles. */
export type Received<T> = T extends Stationary
  ? Handle<T>
  : T extends ArrayBufferView | string | number | boolean | undefined | null
    ? T
    : {
          [K in keyof T]: T[K] extends Stationary | undefined ? Received<T[K]> : T[K];
        } extends infer R
      ? keyof T extends never
        ? T
        : T extends { readonly [K in keyof T]: Exclude<T[K], Stationary> }
          ? T
          : R
      : never;

/** An argument as the calling thread gives it: an object of the library or its handle. */
export type Given<T> = T extends Stationary ? T | Handle<T> : T;

/** A thing that `save` of a connection takes. */
export type GivenToSave =
  | Saveable
  | Given<Exclude<Stationary, models.Model | models.InputMoments>>
  | { readonly [name: string]: GivenToSave }
  | readonly GivenToSave[];

/** Arguments as the calling thread gives them. */
type GivenAll<A extends readonly unknown[]> = { [I in keyof A]: Given<A[I]> };

/** A function of the library that returns a promise and takes call options last. */
export type Remote<F> = F extends (...args: infer A) => infer R
  ? (...args: WithCallOptions<GivenAll<A>>) => Promise<Received<Awaited<R>>>
  : never;

/**
 * An object that stays with the library. It has the object's methods and fields; methods return promises
 * and take call options last, fields are promises. Calls on one handle run in the order in which they
 * are made. The object goes when its handle is disposed of, or collected as garbage.
 */
export type Handle<T> =
  T extends search.VectorIndex<infer Id, infer Metric> ? IndexHandle<Id, Metric> : ObjectHandle<T>;

/** The handle of an index. Filters and `read` run on the calling thread. */
export type IndexHandle<Id extends search.VectorId, Metric extends search.VectorMetric> = Omit<
  ObjectHandle<search.VectorIndex<Id, Metric>>,
  "search" | "rescore" | "toJSON" | "typeName"
> & {
  /** `search` of `VectorIndex`. A function as `filter` is called here, with all ids. */
  search(
    query: search.QueryVector,
    options?: Last<search.SearchOptions<Id>>,
    call?: CallOptions,
  ): Promise<search.SearchResult<Id, Metric>>;
  search(
    query: readonly search.QueryVector[],
    options?: Last<search.SearchOptions<Id>>,
    call?: CallOptions,
  ): Promise<search.SearchResult<Id, Metric>[]>;
  search<
    Result extends
      | search.SearchResult<Id, Metric>
      | search.SearchResult<Id, Metric>[] = search.SearchResult<Id, Metric>,
  >(
    query: search.QueryTensor,
    options?: Last<search.SearchOptions<Id>>,
    call?: CallOptions,
  ): Promise<Result>;
  /** `rescore` of `VectorIndex`. */
  rescore(
    result: search.SearchResult<Id, Metric>,
    read: search.ReadVectors<Id>,
    call?: CallOptions,
  ): Promise<search.SearchResult<Id, Metric>>;
};

/** The handle of any other object. */
export type ObjectHandle<T> = {
  readonly [K in Exclude<keyof T, "dispose" | "toString" | symbol>]: T[K] extends (
    ...args: never
  ) => unknown
    ? Remote<T[K]>
    : Promise<Received<T[K]>>;
} & {
  /** Releases the object, once the calls that use it are over. Later calls throw `ZP_DISPOSED`. */
  dispose(): void;
  /** `dispose()`, for `using`. There where the engine has `Symbol.dispose`. */
  [Symbol.dispose]: () => void;
};

/** The names of a module's functions. */
type FunctionName<Module> = {
  [K in keyof Module]: Module[K] extends abstract new (
    ...args: never
  ) => unknown
    ? never
    : Module[K] extends (...args: never) => unknown
      ? K
      : never;
}[keyof Module];

/** The names of functions that need no worker. */
type LocalName = "tensor" | `getDefault${string}`;

/** The names of the classes of a module whose objects stay with the library. */
type ClassName<Module> = {
  [K in keyof Module]: Module[K] extends new (...args: never) => Stationary ? K : never;
}[keyof Module];

/** The factory's name: that of the class with a small first letter, `linearLayer` for `Linear`. */
type FactoryName<K extends string> =
  Uncapitalize<K> extends FunctionName<typeof library>
    ? `${Uncapitalize<K>}Layer`
    : Uncapitalize<K>;

/** Makes an object of a class, and returns its handle. */
export type Factory<C> = C extends new (
  ...args: infer A
) => infer T
  ? ((...args: WithCallOptions<GivenAll<A>>) => Promise<Handle<T>>) &
      (C extends { fromJSON(json: infer J): unknown }
        ? { fromJSON(json: J, call?: CallOptions): Promise<Handle<T>> }
        : unknown)
  : never;

/** Options of a function, together with the options of the call. */
type Last<A> = A & CallOptions;

/** Generic signatures, which mapped types would lose. */
export interface GenericFunctions {
  /** `chooseQParams` of the library. */
  chooseQParams<
    D extends library.DType = "int8",
    Axis extends number | undefined = undefined,
    Size extends number | undefined = undefined,
    Zero extends "float" | undefined = undefined,
  >(
    x: library.TensorInput,
    options?: Last<library.ChooseQParamsOptions<D | library.DType, Axis, Size, Zero>> &
      NeedsDType<D> &
      NeedsScheme<D, undefined, Zero> &
      OneOfBoth<Axis, Size>,
    call?: CallOptions,
  ): Promise<library.QParamsOf<D, library.GranularityOf<Axis, Size>, Zero>>;
  /** `quantize` of the library. */
  quantize<
    D extends library.DType = "int8",
    Axis extends number | undefined = undefined,
    Size extends number | undefined = undefined,
    Scale extends library.QParamInput | undefined = undefined,
    Zero extends library.QParamInput | "float" | undefined = undefined,
  >(
    x: library.TensorInput,
    options?: Last<library.QuantizeOptions<D | library.DType, Axis, Size, Scale, Zero>> &
      NeedsDType<D> &
      NeedsScheme<D, Scale, Zero> &
      OneOfBoth<Axis, Size> & { out?: library.Codes<D> | undefined },
    call?: CallOptions,
  ): Promise<library.QuantizedTensorOf<D, library.GranularityOf<Axis, Size, Scale, Zero>, Zero>>;
  /** `fakeQuantize` of the library. */
  fakeQuantize<
    D extends library.DType = "int8",
    Axis extends number | undefined = undefined,
    Size extends number | undefined = undefined,
    Scale extends library.QParamInput | undefined = undefined,
    Zero extends library.QParamInput | "float" | undefined = undefined,
  >(
    x: library.TensorInput,
    options?: Last<library.QuantizeOptions<D | library.DType, Axis, Size, Scale, Zero>> &
      NeedsScheme<D, Scale, Zero> &
      OneOfBoth<Axis, Size> &
      library.OutOption,
    call?: CallOptions,
  ): Promise<library.Tensor>;
  /**
   * `load` of `zeropoint/models`. The file is read on this thread and restored by the library; layers, models and
   * observers come back as handles. Functions that are layers cannot be given.
   */
  load<T extends Loaded = Loaded>(
    source: FileSource | Promise<FileSource>,
    call?: CallOptions,
  ): Promise<Received<T>>;
  /**
   * `save` of `zeropoint/models`, which takes handles, too, and lists and objects of them. The whole file is made before
   * the promise settles.
   */
  save(thing: GivenToSave, call?: CallOptions): Promise<PlatformByteStream>;
  /** `quantizationError` of the library. */
  quantizationError(
    a: library.TensorInput,
    b: library.TensorInput,
    metric?: library.Metric,
    call?: CallOptions,
  ): Promise<number>;
  quantizationError(
    a: library.TensorInput,
    b: library.TensorInput,
    metric: library.Metric | undefined,
    options: Last<library.ErrorOptions>,
    call?: CallOptions,
  ): Promise<library.Tensor>;
}

/** Generic signatures of `zeropoint/torch`. */
export interface TorchFunctions {
  /** `quantizePerTensor` of `zeropoint/torch`. */
  quantizePerTensor<D extends library.QDType>(
    x: library.TensorInput,
    scale: torch.TorchScale,
    zeroPoint: torch.TorchZeroPoint,
    dtype: D,
    options?: Last<torch.TorchQuantizeOptions<D>>,
    call?: CallOptions,
  ): Promise<torch.TorchQuantizedTensor<D, "perTensor">>;
  /** `quantizePerChannel` of `zeropoint/torch`. */
  quantizePerChannel<D extends library.QDType>(
    x: library.TensorInput,
    scales: torch.TorchScales,
    zeroPoints: torch.TorchZeroPoints,
    axis: number,
    dtype: D,
    options?: Last<torch.TorchQuantizeOptions<D>>,
    call?: CallOptions,
  ): Promise<torch.TorchQuantizedTensor<D, "perChannel">>;
}

/** The factory of `zeropoint/search`, whose result depends on its options. */
export interface SearchFactories {
  /** Makes a `VectorIndex`, and returns its handle. */
  readonly vectorIndex: <
    Id extends search.VectorId = search.VectorId,
    Metric extends search.VectorMetric = "cosine",
  >(
    options: Last<search.VectorIndexOptions<Metric>>,
    call?: CallOptions,
  ) => Promise<IndexHandle<Id, Metric>>;
}

/** A model that the connection has opened: its handle. */
export type ModelHandle = Handle<models.Model>;

/**
 * The functions of `zeropoint/models` whose results stay with the library or come bit by bit. Functions and sources
 * among their arguments are called and read on the calling thread.
 */
export interface ModelsFunctions {
  /**
   * `openModel` of `zeropoint/models`. The file is read by the library; bytes, streams and objects with `read` as they
   * are asked for. The file is closed with the handle.
   */
  openModel(
    source: FileSource | Promise<FileSource>,
    options?: Called<models.OpenModelOptions>,
  ): Promise<ModelHandle>;
  /** `analyze` of `zeropoint/models`. Begins with the first row that is asked for, and stops when the loop is left. */
  analyze(
    model: ModelHandle,
    options?: Called<models.AnalyzeOptions, "activations">,
  ): AsyncGenerator<models.AnalysisRow, void, undefined>;
  /** `compare` of `zeropoint/models`. Begins with the first row that is asked for, and stops when the loop is left. */
  compare(
    a: ModelHandle,
    b: ModelHandle,
    options?: Called<models.CompareOptions>,
  ): AsyncGenerator<models.CompareRow, void, undefined>;
  /** `quantizeModel` of `zeropoint/models`. Streams of its files come from the library, a chunk ahead of their reader. */
  quantizeModel(
    model: ModelHandle,
    scheme: string | models.SchemePlan | models.SchemeFunction,
    options?: Called<models.QuantizeModelOptions, "imatrix">,
  ): Promise<models.QuantizeModelResult>;
  /** `storedRows` of `zeropoint/models`. */
  storedRows<Row extends models.PlanRow>(
    model: ModelHandle,
    rows: Iterable<Row>,
    options?: Called<models.StoredRowsOptions>,
  ): Promise<models.StoredRows<Row>>;
  /** `verify` of `zeropoint/models`. */
  verify(
    quantized: ModelHandle,
    source: ModelHandle,
    options?: Called<models.VerifyOptions, "imatrix">,
  ): Promise<models.Verification>;
}

/**
 * Options of a function together with those of the call.
 * @typeParam Name  an option that takes handles, too
 */
type Called<Options, Name extends keyof Options = never> = Omit<Options, "signal" | Name> &
  Pick<CallOptions, "signal" | "transfer"> & {
    [K in Name]?: Options[K] | GivenValue<Options[K]>;
  };

/** Handles in the place of an option's value. */
type GivenValue<T> = T extends Stationary
  ? Handle<T>
  : T extends Readonly<Record<string, models.Activations>>
    ? Readonly<Record<string, models.Activations | Handle<models.InputMoments>>>
    : never;

/** Functions that a connection does not have: they call an engine, or read streams, of the caller's own. */
type OwnName = "recordOnnxInputs" | "verifyOutput" | "save" | "load";

/**
 * The functions of a module by their names, and factories of its classes.
 * @typeParam Generic  those whose result depends on the types of their arguments
 */
export type Remotes<Module, Generic> = Generic & {
  readonly [K in Exclude<FunctionName<Module>, keyof Generic | LocalName | OwnName>]: Remote<
    Module[K]
  >;
} & {
  readonly [K in ClassName<Module> & string as FactoryName<K>]: Factory<Module[K]>;
};

/** The entries of the package that a connection may have in addition to `zeropoint`, by name. */
export interface ConnectionEntries {
  /** `zeropoint/torch`. */
  readonly torch: Remotes<typeof torch, TorchFunctions>;
  /** `zeropoint/search`. */
  readonly search: SearchFactories;
  /** `zeropoint/models`. */
  readonly models: Remotes<typeof models, ModelsFunctions>;
}

/** A name that `connect({ entries })` takes. */
export type EntryName = keyof ConnectionEntries;

/** All of the members of some entries. */
type Members<Entry extends EntryName> = {
  [E in Entry]: (members: ConnectionEntries[E]) => void;
}[Entry] extends (members: infer All) => void
  ? All
  : never;

/**
 * The library in a worker, or on this thread if no worker can be had.
 * @typeParam Entry  the names of entries that it has in addition to `zeropoint`
 */
export type Connection<Entry extends EntryName = never> = Members<Entry> &
  Remotes<typeof library, GenericFunctions> & {
    /** Whether a worker runs the library. */
    readonly offThread: boolean;
    /** Why no worker does; undefined if one does. */
    readonly reason: string | undefined;
    /** The build that runs, and on how many threads. */
    readonly build: library.Build;
    /** The threads that it runs on. */
    readonly threads: number;
    /** The reason for fewer threads than requested; undefined if there are as many. */
    readonly threadsReason: string | undefined;
    /**
     * Ends the connection and its worker. Pending calls are rejected with `ZP_DISPOSED`, and later ones.
     * Harmless when called again.
     */
    dispose(): void;
    /** `dispose()`, for `using`. There where the engine has `Symbol.dispose`. */
    [Symbol.dispose]: () => void;
  };
