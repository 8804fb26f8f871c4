// The methods of an index that take functions: they run on the calling thread.

import { isPlainObject } from "../../base/options.js";
import { checkPending } from "../../search/result.js";
import { answer } from "./encode.js";

/** Calls a method of the index. */
type Call = (name: string, args: readonly unknown[], isField: boolean) => Promise<unknown>;

/** The methods of a handle that replace those of the index. */
export function indexMethods(call: Call): Record<string, (...args: unknown[]) => unknown> {
  return {
    search: async (query, options, ...rest) =>
      await call("search", [query, await withIds(call, options), ...rest], false),
    rescore: async (result, read, ...rest) => {
      const pending = checkPending("VectorIndex.rescore", result, read);
      if (pending === "decided") return result;
      const vectors = await (read as (ids: unknown[]) => unknown)([...pending.ids]);
      return await call("rescore", [result, answer(vectors), ...rest], false);
    },
  };
}

/** Options with a list of ids in the place of a filter that cannot be sent. */
async function withIds(call: Call, options: unknown): Promise<unknown> {
  if (!isPlainObject(options)) return options;
  const { filter } = options;
  if (typeof filter === "function") {
    const ids = (await call("ids", [], false)) as unknown[];
    return { ...options, filter: ids.filter((id) => (filter as (id: unknown) => unknown)(id)) };
  }
  const isList = typeof (Object(filter) as Iterable<unknown>)[Symbol.iterator] === "function";
  if (typeof filter === "string" || !isList) return options;
  return { ...options, filter: [...(filter as Iterable<unknown>)] };
}
