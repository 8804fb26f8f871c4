// The public exports of zeropoint/worker, nothing else.

export { type ConnectOptions, connect } from "./connect.js";
export type { CallOptions, Progress, WorkerLike, WorkerOption } from "./settings.js";
export type { AbortSignalLike } from "./signals.js";
export type {
  Connection,
  ConnectionEntries,
  EntryName,
  Factory,
  GenericFunctions,
  GivenToSave,
  Handle,
  IndexHandle,
  ModelHandle,
  ModelsFunctions,
  ObjectHandle,
  Remote,
  Remotes,
  SearchFactories,
  TorchFunctions,
} from "./types.js";
