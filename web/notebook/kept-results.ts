// Keeps the results of a notebook's cells in this browser, so that they are shown after a reload.

import type { Outcome, Output } from "./kernel.js";

export interface KeptResult {
  /** Its id. */
  cell: string;
  /** The code that ran. */
  source: string;
  /** As in In [3]. */
  count: number;
  outputs: Output[];
  outcome: Outcome;
}

const STORE = "results";
const NAME = `zeropoint-results ${new URL(".", document.baseURI).pathname}`;

let opening: Promise<IDBDatabase> | undefined;

function open(): Promise<IDBDatabase> {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "cell" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opening;
}

/** Storage may be forbidden or full: then results last until the page is closed. */
async function withStore<T>(
  mode: IDBTransactionMode,
  ask: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T | undefined> {
  try {
    const database = await open();
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const request = ask(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
    });
  } catch {
    return undefined;
  }
}

export const keepResult = (result: KeptResult) =>
  withStore("readwrite", (store) => store.put(result));

export const dropResult = (cell: string) => withStore("readwrite", (store) => store.delete(cell));

/** The results of a notebook's cells, by the cell's id. */
export async function keptResults(notebook: string): Promise<Map<string, KeptResult>> {
  const range = IDBKeyRange.bound(`${notebook}-`, `${notebook}-\uffff`);
  const found = await withStore("readonly", (store) => store.getAll(range));
  return new Map((found ?? []).map((result) => [result.cell, result]));
}
