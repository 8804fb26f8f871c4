// The files of a model that are open, and the versions of their bytes.

import type { Source } from "../../formats/source.js";
import type { FileVersion, GuardedSource } from "./sources.js";

/** A file of a model, and the version of its bytes when it was opened. */
export interface ModelFile {
  /** Its path relative to the main file; undefined for the main file itself. */
  readonly path: string | undefined;
  /** undefined if it has none: bytes, blobs, streams, and addresses of servers that name none. */
  readonly version: FileVersion | undefined;
  /** Its bytes. */
  readonly source: Source;
}

/** The files of a model that are open. */
export class ModelFiles {
  readonly #opened: { readonly source: GuardedSource; readonly path: string | undefined }[] = [];

  /** @param path  relative to the main file; undefined for the main file itself */
  add(source: GuardedSource, path: string | undefined): GuardedSource {
    this.#opened.push({ source, path });
    return source;
  }

  /** Each file once, in the order in which they were opened. */
  list(): ModelFile[] {
    const files = new Map<string | undefined, ModelFile>();
    for (const { source, path } of this.#opened) {
      if (!files.has(path)) files.set(path, { path, version: source.version, source });
    }
    return [...files.values()];
  }

  /**
   * Checks the files that were read since the last check.
   * @throws {Error} `ZP_LOAD_FAILED` if one has changed since it was opened
   */
  async checkUnchanged(where: string): Promise<void> {
    for (const { source } of this.#opened) await source.checkUnchanged(where);
  }

  async close(): Promise<void> {
    for (const { source } of this.#opened) await source.close();
  }
}
