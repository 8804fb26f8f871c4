// Dependencies of a notebook's results on cells, and stale results.

import type { CellNames } from "./worker/names.js";

/** A run of a cell, by the cell's place in the notebook. */
type Source = { cell: number; run: number };

type Ran = { run: number; names: CellNames; inputs: Map<string, Source[]> };

export class Dependencies {
  /** The last run of each cell. */
  #ran = new Map<number, Ran>();
  /** The runs that made the current value of a name, the assignment first. */
  #makers = new Map<string, Source[]>();
  #runs = 0;

  /** Forgets all runs: the variables are gone. */
  clear() {
    this.#ran.clear();
    this.#makers.clear();
  }

  /** Records that a cell has run. */
  record(cell: number, names: CellNames) {
    const run = ++this.#runs;
    const all = this.#withCalled(names);
    const inputs = new Map<string, Source[]>();
    for (const name of all.reads) {
      const makers = this.#makers.get(name)?.filter((maker) => maker.cell !== cell) ?? [];
      if (makers.length > 0) inputs.set(name, makers);
    }
    for (const name of all.writes) this.#makers.set(name, [{ cell, run }]);
    for (const name of all.changes) {
      if (all.writes.has(name)) continue;
      const others = this.#makers.get(name)?.filter((maker) => maker.cell !== cell) ?? [];
      this.#makers.set(name, [...others, { cell, run }]);
    }
    this.#ran.set(cell, { run, names, inputs });
  }

  /** The names that a cell uses, including the names used by functions that it may call. */
  #withCalled({ reads, writes, changes, later }: CellNames) {
    const all = { reads: new Set(reads), writes: new Set(writes), changes: new Set(changes) };
    const called = [...reads].filter((name) => !all.writes.has(name));
    // A cell that declares a function and calls it uses what the function uses.
    const uses = [reads.some((name) => all.writes.has(name)) ? later : undefined];
    const seen = new Set();
    for (let name = called.pop(); name !== undefined; name = called.pop()) {
      for (const { cell } of this.#makers.get(name) ?? []) {
        if (seen.has(cell)) continue;
        seen.add(cell);
        const use = this.#ran.get(cell)?.names.later;
        uses.push(use);
        called.push(...(use?.reads ?? []));
      }
    }
    for (const use of uses) {
      for (const name of use?.reads ?? []) all.reads.add(name);
      for (const name of use?.writes ?? []) all.writes.add(name);
      for (const name of use?.changes ?? []) all.changes.add(name);
    }
    return all;
  }

  /**
   * The cells whose results are stale: their code was changed since it ran, or a value they read was made by
   * a cell that is stale or has run again.
   * @param hasChanged  whether a cell's code is another than what ran
   */
  stale(hasChanged: (cell: number) => boolean): Set<number> {
    const known = new Map<number, boolean>();
    const isStale = (cell: number): boolean => {
      const found = known.get(cell);
      if (found !== undefined) return found;
      known.set(cell, false); // cells that depend on each other
      const ran = this.#ran.get(cell);
      const result =
        ran !== undefined &&
        (hasChanged(cell) ||
          [...ran.inputs.values()]
            .flat()
            .some((input) => this.#ran.get(input.cell)?.run !== input.run || isStale(input.cell)));
      known.set(cell, result);
      return result;
    };
    return new Set([...this.#ran.keys()].filter(isStale));
  }

  /**
   * The cells to run, in the order of the notebook, so that none of the given ones is stale: they themselves,
   * and those whose values they read where another cell has replaced them.
   */
  toRun(cells: Iterable<number>): number[] {
    const wanted = new Set(cells);
    for (let isComplete = false; !isComplete; ) {
      isComplete = true;
      const current = new Map(
        [...this.#makers].map(([name, makers]) => [name, makers.map(({ cell }) => cell)]),
      );
      for (const cell of [...wanted].sort((a, b) => a - b)) {
        const ran = this.#ran.get(cell);
        if (!ran) continue;
        for (const [name, inputs] of ran.inputs) {
          const makers = inputs.map((input) => input.cell);
          const isCurrent = String(current.get(name)) === String(makers);
          const missing = makers.filter((maker) => maker < cell && !wanted.has(maker));
          if (isCurrent || missing.length === 0) continue;
          for (const maker of missing) wanted.add(maker);
          isComplete = false;
        }
        const { writes, changes } = this.#withCalled(ran.names);
        for (const name of writes) current.set(name, [cell]);
        for (const name of changes) {
          if (writes.has(name)) continue;
          const others = (current.get(name) ?? []).filter((maker) => maker !== cell);
          current.set(name, [...others, cell]);
        }
      }
    }
    return [...wanted].sort((a, b) => a - b);
  }
}
