// The rows of an analysis as the page holds them: estimates first, which exact rows replace.

/**
 * @typedef {object} Layer  a tensor that is analyzed
 * @property {string} name
 * @property {readonly number[]} shape
 * @property {number} byteLength
 * @property {Map<string, any>} rows  rows of the analysis by scheme
 * @property {string} [planned]  scheme of the plan
 * @property {boolean} [isPinned]
 */

export class Layers {
  /** @type {Map<string, Layer>} */
  #layers = new Map();
  /** @type {Map<string, any>} */
  #rows = new Map();
  /** @type {Set<string>} */
  #schemes = new Set();
  /** @type {Map<string, number>} */
  #sizes;

  /** @param {readonly any[]} tensors  of the header */
  constructor(tensors) {
    this.#sizes = new Map(tensors.map(({ name, byteLength }) => [name, byteLength]));
  }

  /** Takes a row; one of the same tensor and scheme is replaced. @param {any} row */
  take(row) {
    const { name, scheme, shape } = row;
    this.#rows.set(JSON.stringify([name, scheme]), row);
    if (scheme === "keep") {
      this.#layers.delete(name);
      return;
    }
    this.#schemes.add(scheme);
    let layer = this.#layers.get(name);
    if (!layer) {
      layer = {
        name,
        shape,
        byteLength: this.#sizes.get(name) ?? row.bytesBefore,
        rows: new Map(),
      };
      this.#layers.set(name, layer);
    }
    layer.rows.set(scheme, row);
  }

  /**
   * Takes the bytes of rows as the target stores them, and whether it does.
   * @param {readonly { name: string, scheme: string, bytes: number, isWritten: boolean }[]} sizes
   */
  store(sizes) {
    for (const { name, scheme, bytes, isWritten } of sizes) {
      const row = this.#rows.get(JSON.stringify([name, scheme]));
      if (row) Object.assign(row, { bytes, isWritten });
    }
  }

  /** @returns {Layer[]} */
  get all() {
    return [...this.#layers.values()];
  }

  /** All rows, of weights that are kept as well. @returns {any[]} */
  get rows() {
    return [...this.#rows.values()];
  }

  /** Those that the output stores first. @returns {string[]} */
  get schemes() {
    const all = this.rows.filter(({ isWritten = true }) => isWritten);
    const written = new Set(all.map(({ scheme }) => scheme));
    const [stored, others] = [true, false].map((isStored) =>
      [...this.#schemes].filter((scheme) => written.has(scheme) === isStored),
    );
    return [...stored, ...others];
  }

  get size() {
    return this.#layers.size;
  }

  /** @param {string} name */
  has(name) {
    return this.#layers.has(name);
  }

  /** How many layers show estimates, how many the errors of outputs, and how many these from mean squares of inputs. */
  get counts() {
    const first = this.all.map(({ rows }) => [...rows.values()]);
    return {
      layers: first.length,
      estimates: first.filter((rows) => rows.some(({ isEstimate }) => isEstimate)).length,
      diagonal: first.filter((rows) => rows.some(({ moments }) => moments === "diagonal")).length,
      outputs: first.filter((rows) => rows.some(({ shows }) => shows === "outputs")).length,
    };
  }
}
