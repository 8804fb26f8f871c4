// The rows of an analysis as the page holds them: estimates first, which exact rows replace.

import type { AnalysisRow } from "zeropoint/models";

/** A tensor that is analyzed. */
export interface Layer {
  name: string;
  shape: readonly number[];
  byteLength: number;
  /** Rows of the analysis by scheme. */
  rows: Map<string, AnalysisRow>;
  /** Scheme of the plan. */
  planned?: string | undefined;
  isPinned?: boolean;
}

export class Layers {
  /** How often a row has come or changed. */
  changes = 0;
  #layers = new Map<string, Layer>();
  #rows = new Map<string, AnalysisRow>();
  #schemes = new Set<string>();
  #sizes: Map<string, number>;

  /** @param tensors  of the header */
  constructor(tensors: readonly { name: string; byteLength: number }[]) {
    this.#sizes = new Map(tensors.map(({ name, byteLength }) => [name, byteLength]));
  }

  /** Takes a row; one of the same tensor and scheme is replaced. */
  take(row: AnalysisRow) {
    this.changes++;
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

  /** Takes the bytes of rows as the target stores them, and whether it does. */
  store(sizes: readonly { name: string; scheme: string; bytes: number; isWritten: boolean }[]) {
    this.changes++;
    for (const { name, scheme, bytes, isWritten } of sizes) {
      const row = this.#rows.get(JSON.stringify([name, scheme]));
      if (row) Object.assign(row, { bytes, isWritten });
    }
  }

  get all(): Layer[] {
    return [...this.#layers.values()];
  }

  /** All rows, of weights that are kept as well. */
  get rows(): AnalysisRow[] {
    return [...this.#rows.values()];
  }

  /** Those that the output stores first. */
  get schemes(): string[] {
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

  has(name: string) {
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
