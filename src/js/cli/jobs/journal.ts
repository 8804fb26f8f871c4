// The rows of a running analysis, in a .partial file beside the result: a run after an interruption begins with them.

import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { AnalysisRow } from "../../models/analyze/row.js";
import { EXIT, Failure } from "../failures.js";
import {
  leftBytes,
  openPartial,
  type Partial,
  partialPath,
  removePartial,
  writeError,
} from "../output/partial.js";
import { jsonText } from "../output/report.js";
import { beginUnfinished, endUnfinished } from "../signals.js";
import { hasFields } from "./json.js";
import { withNumbers } from "./rows.js";

/**
 * One line for each tensor: a list of its rows. Signals have a handler from the first new row on. Before that row there is
 * nothing to record, and the layout of a model of many tensors is long synchronous work, which no handler interrupts.
 */
export class Journal {
  readonly #path: string;
  #partial: Partial | undefined;
  /** Whether signals have a handler. */
  #isHandled = false;
  /** Bytes of whole lines. */
  #size = 0;
  /** Names of tensors whose lines are there. */
  readonly #written = new Set<string>();
  /** Rows of the current tensor. */
  #rows: AnalysisRow[] = [];
  #signal!: AbortSignal;

  /**
   * @param output  the result's path
   * @param key  of everything that the rows depend on
   */
  constructor(
    readonly output: string,
    readonly key: string,
  ) {
    this.#path = partialPath(output, key);
  }

  readonly #fail = (error: unknown): never => {
    throw writeError(this.output, this.#path, error);
  };

  /** The rows of an interrupted run; those of a journal whose bytes are not those that were recorded are measured anew. */
  async open(signal: AbortSignal): Promise<AnalysisRow[]> {
    await mkdir(dirname(this.output), { recursive: true });
    this.#signal = signal;
    if (leftBytes(this.output, this.key) === 0) return [];
    const { size } = await this.#openFile();
    const bytes = size === 0 ? new Uint8Array() : await readFile(this.#path);
    const { rows, end } = wholeLines(bytes);
    await this.#shorten(bytes.subarray(0, end));
    for (const { name } of rows) this.#written.add(name);
    return rows;
  }

  /** Opens the file of an interrupted run, or a new one. */
  async #openFile(): Promise<Partial> {
    const partial = await openPartial(this.output, this.key, this.#signal).catch(this.#fail);
    this.#partial = partial;
    return partial;
  }

  /** Leaves the first bytes of the file alone. */
  async #shorten(bytes: Uint8Array): Promise<void> {
    const partial = this.#partial as Partial;
    this.#size = bytes.length;
    if (this.#size === partial.size) return;
    await partial.file.truncate(this.#size);
    this.#partial = { ...partial, hash: createHash("sha256").update(bytes) };
  }

  /** Adds a row. The line of a tensor is written when the next tensor's first row comes. */
  async add(row: AnalysisRow): Promise<void> {
    if (this.#written.has(row.name)) return;
    if (!this.#isHandled) beginUnfinished();
    this.#isHandled = true;
    const [last] = this.#rows;
    if (last !== undefined && last.name !== row.name) await this.#flush();
    this.#rows.push(row);
  }

  async #flush(): Promise<void> {
    if (this.#rows.length === 0) return;
    if (this.#partial === undefined) {
      await this.#openFile();
      // Rows that another process has left since.
      await this.#shorten(new Uint8Array());
    }
    const { file, hash, records } = this.#partial as unknown as Partial;
    const [{ name }] = this.#rows;
    const line = Buffer.from(`${jsonText(this.#rows, 0)}\n`);
    await file.write(line, 0, line.length, this.#size).catch(this.#fail);
    this.#size += line.length;
    hash.update(line);
    await records.write({ size: this.#size, sha256: hash.copy().digest("hex") });
    this.#written.add(name);
    this.#rows = [];
  }

  /** Keeps the file. @returns the message after an interruption */
  async keep(): Promise<Failure> {
    // analyze gives all rows of a tensor at once.
    await this.#flush();
    const count = this.#written.size;
    if (count === 0) await this.remove();
    const kept =
      count === 0 ? "" : `; rows of ${count} tensors are kept, and the same command goes on there`;
    return new Failure(EXIT.output, `interrupted${kept}`);
  }

  /** Removes the file: the rows are complete. */
  async remove(): Promise<void> {
    await this.close();
    await removePartial(this.#path);
  }

  async close(): Promise<void> {
    const partial = this.#partial;
    this.#partial = undefined;
    await partial?.records.close();
    await partial?.file.close();
    if (this.#isHandled) endUnfinished();
    this.#isHandled = false;
  }
}

/** The rows of the first lines that are whole, and the place where these lines end. */
function wholeLines(bytes: Uint8Array): { readonly rows: AnalysisRow[]; readonly end: number } {
  const rows: AnalysisRow[] = [];
  let end = 0;
  // A line without its end was being written when the run was interrupted.
  for (let next = bytes.indexOf(LF); next >= 0; next = bytes.indexOf(LF, end)) {
    const own = rowsOfLine(bytes.subarray(end, next));
    if (own === undefined) break;
    rows.push(...own);
    end = next + 1;
  }
  return { rows, end };
}

const LF = 10;

/** The rows of a line, which are those of one tensor. @returns undefined for a damaged line */
function rowsOfLine(bytes: Uint8Array): AnalysisRow[] | undefined {
  try {
    const rows: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (!Array.isArray(rows) || rows.length === 0) return undefined;
    const isWhole = rows.every(
      (row) => hasFields(row, ROW) && row.name === (rows[0] as AnalysisRow).name,
    );
    return isWhole ? (rows.map(withNumbers) as AnalysisRow[]) : undefined;
  } catch {
    return undefined;
  }
}

/** Fields of a row that later lines and commands rely on. */
const ROW = { name: "string", scheme: "string", bytes: "number", parameters: "number" } as const;
