// Keeps the results of a notebook's cells in this browser, so that they are shown after a reload.

/**
 * @typedef {object} KeptResult
 * @property {string} cell     its id
 * @property {string} source   the code that ran
 * @property {number} count    as in In [3]
 * @property {import("./kernel.js").Output[]} outputs
 * @property {import("./kernel.js").Outcome} outcome
 */

const STORE = "results";
const NAME = `zeropoint-results ${new URL(".", document.baseURI).pathname}`;

/** @type {Promise<IDBDatabase> | undefined} */
let opening;

/** @returns {Promise<IDBDatabase>} */
function open() {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "cell" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opening;
}

/**
 * Storage may be forbidden or full: then results last until the page is closed.
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} ask
 * @returns {Promise<T | undefined>}
 */
async function withStore(mode, ask) {
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

/** @param {KeptResult} result */
export const keepResult = (result) => withStore("readwrite", (store) => store.put(result));

/** @param {string} cell */
export const dropResult = (cell) => withStore("readwrite", (store) => store.delete(cell));

/**
 * The results of a notebook's cells, by the cell's id.
 * @param {string} notebook
 * @returns {Promise<Map<string, KeptResult>>}
 */
export async function keptResults(notebook) {
  const range = IDBKeyRange.bound(`${notebook}-`, `${notebook}-\uffff`);
  const found = await withStore("readonly", (store) => store.getAll(range));
  return new Map((found ?? []).map((result) => [result.cell, result]));
}
