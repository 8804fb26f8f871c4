// Engines that run models: what quantizeModel needs of ONNX Runtime's interface.

/** A tensor as ONNX Runtime takes and gives it. */
export interface RuntimeTensor {
  /** ONNX Runtime's name of the dtype, such as `float32`. */
  readonly type: string;
  /** The length of each axis. */
  readonly dims: readonly number[];
  /** The values in row-major order. */
  readonly data: ArrayLike<unknown>;
}

/** A session of ONNX Runtime, or of another engine with these methods. */
export interface RuntimeSession {
  /** Runs the model on inputs by name. */
  run(feeds: Readonly<Record<string, never>>): Promise<Readonly<Record<string, RuntimeTensor>>>;
  /** Frees what the session holds. */
  release?(): Promise<void> | void;
}

/** A file of external data, as ONNX Runtime's session option `externalData` takes it. */
export interface ExternalData {
  /** As the model names the file. */
  readonly path: string;
  /** All bytes of the file. */
  readonly data: Uint8Array;
}

/**
 * Makes a session of a model's bytes.
 * For example `(bytes, options) => InferenceSession.create(bytes, options)`.
 */
export type SessionFactory = (
  bytes: Uint8Array,
  options: { readonly externalData?: readonly ExternalData[] },
) => RuntimeSession | PromiseLike<RuntimeSession>;
