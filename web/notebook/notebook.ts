// One notebook on the page: its cells, the order in which they run, and the worker they run in.

import { find } from "../shell/dom.js";
import { h, toDom } from "../shell/drawing/tree.js";
import { inSlices } from "../shell/slices.js";
import { Cell } from "./cell/cell.js";
import { codeIn } from "./cell/cell-link.js";
import { Dependencies } from "./dependencies.js";
import { download } from "./download.js";
import { watchOtherTabs } from "./edits.js";
import { connectExercises } from "./exercises/exercises.js";
import { keptResults } from "./kept-results.js";
import { Kernel } from "./kernel.js";
import { connectKeys } from "./keys.js";
import { connectNotation } from "./notation.js";

export class Notebook {
  element: HTMLElement;
  announce: (message: string) => void;
  cells: Cell[];
  runAllButton!: HTMLButtonElement;
  stopButton!: HTMLButtonElement;
  staleButton!: HTMLButtonElement;
  status!: HTMLElement;
  statusText!: HTMLElement;
  undoButton!: HTMLButtonElement;
  #kernel = new Kernel();
  #queue: Cell[] = [];
  #running: Cell | undefined;
  #count = 0;
  /** Many cells are announced once, at the end. */
  #isMany = false;
  /** The cell that Shift+Enter went on to. */
  #advancedTo: Cell | undefined;
  #dependencies = new Dependencies();
  /** Code that the last reset replaced, until another change. */
  #beforeReset = new Map<Cell, string>();

  constructor(element: HTMLElement, announce: (message: string) => void) {
    this.element = element;
    this.announce = announce;
    this.cells = [];
  }

  /** Connects the cells, then the keys and the toolbar, which need all of them. */
  async start() {
    connectNotation(this.element);
    const found = this.element.querySelectorAll<HTMLElement>(".cell");
    await inSlices(found, (each) => {
      const cell = new Cell(each, this);
      this.cells.push(cell);
      // Lays its parts out now, so that their time counts in this slice.
      each.getBoundingClientRect();
    });
    this.#connectToolbar();
    connectKeys(this);
    connectExercises(this.element, this.announce);
    watchOtherTabs((id, sourceFor) => {
      const cell = this.cells.find((each) => each.element.id === id);
      cell?.changeElsewhere(sourceFor(cell.originalSource));
    });
    this.#restoreResults();
    addEventListener("hashchange", () => this.#offerLinked());
    await this.#offerLinked();
  }

  /** Shows the code that the address has for a cell of this notebook. */
  async #offerLinked() {
    const linked = await codeIn(location.hash);
    const cell = this.cells.find(({ element }) => element.id === linked?.id);
    if (linked && cell) cell.offerFromLink(linked.source);
  }

  async #restoreResults() {
    const results = await keptResults(this.element.id);
    for (const cell of this.cells) {
      const kept = results.get(cell.element.id);
      if (kept) await cell.restore(kept);
    }
    this.#showStatus();
  }

  #connectToolbar() {
    const toolbar = find(this.element, ".toolbar");
    const button = (name: string) => find(toolbar, `[data-action="${name}"]`, HTMLButtonElement);
    this.runAllButton = button("run-all");
    this.runAllButton.addEventListener("click", () => this.runAll());
    this.stopButton = button("stop");
    this.stopButton.addEventListener("click", () => this.stop());
    this.staleButton = button("run-stale");
    this.staleButton.addEventListener("click", () => this.runStale());
    button("restart").addEventListener("click", () => this.restart());
    for (const format of ["mjs", "ipynb"] as const) {
      button(`download-${format}`).addEventListener("click", () => download(this, format));
    }
    const resetButton = button("reset");
    resetButton.addEventListener("click", () => this.reset());
    this.status = find(toolbar, ".toolbar-status");
    this.statusText = document.createElement("span");
    this.status.replaceChildren(this.statusText);
    this.undoButton = toDom(
      h("button", { type: "button", class: "button", "data-action": "undo-reset" }),
    );
    this.undoButton.addEventListener("click", () => {
      this.#undoReset();
      resetButton.focus();
    });
    toolbar.hidden = false;
    this.#showStatus();
    // The target of a jump must not be hidden by the toolbar, which may have several lines.
    const measure = () => {
      const height = toolbar.offsetHeight;
      if (height === 0) return;
      document.documentElement.style.setProperty("--toolbar-height", `${height}px`);
    };
    new ResizeObserver(measure).observe(toolbar);
    measure();
  }

  async run(cells: Cell[]) {
    const idle = cells.filter((cell) => !this.#isUnderWay(cell));
    if (idle.length === 0) return;
    for (const cell of idle) cell.wait();
    this.#queue.push(...idle);
    this.#isMany ||= cells.length > 1;
    if (!this.#running) await this.#work();
  }

  runAll() {
    return this.run(this.cells);
  }

  runTo(cell: Cell) {
    return this.run(this.cells.slice(0, this.cells.indexOf(cell) + 1));
  }

  runFrom(cell: Cell) {
    return this.run(this.cells.slice(this.cells.indexOf(cell)));
  }

  /** Runs the cells whose results are stale, and those whose values they need. */
  runStale() {
    const stale = this.cells.flatMap(({ isStale }, i) => (isStale ? [i] : []));
    return this.run(this.#dependencies.toRun(stale).map((i) => this.cells[i]));
  }

  /** A fresh worker; code and outputs stay. */
  async restart() {
    this.stop();
    await this.#idle;
    this.announce("Restarted. Your changes are kept; the variables of this notebook are gone.");
  }

  toModule(title: string) {
    return this.#kernel.toModule(title, this.cells);
  }

  /** @param part  of the next cell, which gets the focus */
  runAndAdvance(cell: Cell, part: "code" | "cell" = "code") {
    const next = this.cells[this.cells.indexOf(cell) + 1];
    const run = this.run([cell]);
    this.#advancedTo = next;
    if (part === "code") next?.focus();
    else next?.element.focus();
    return run;
  }

  /** Ends the worker at once, in the middle of a cell as well. */
  stop() {
    const waiting = this.#queue.splice(0);
    for (const cell of waiting) cell.unwait();
    const wasAlive = this.#kernel.isAlive;
    this.#kernel.stop();
    this.#forgetVariables();
    if (wasAlive) this.announce("Stopped. The variables of this notebook are gone.");
    this.#showStatus();
  }

  /** A fresh worker, the original code, no output. */
  async reset() {
    this.stop();
    await this.#idle;
    const edited = this.cells.filter(({ isEdited }) => isEdited);
    const sources = new Map(edited.map((cell) => [cell, cell.source]));
    for (const cell of this.cells) {
      cell.restoreSource();
      cell.clear();
    }
    this.#beforeReset = sources;
    this.#showStatus();
    const undo = sources.size > 0 ? " Undo brings your changes back." : "";
    this.announce(`The notebook is as it was at first.${undo}`);
  }

  #undoReset() {
    const sources = this.#beforeReset;
    for (const [cell, source] of sources) cell.replaceSource(source);
    this.announce("Your changes are back.");
  }

  /** A cell's code is another now. */
  noteChange() {
    this.#beforeReset = new Map();
    this.#markOutdated();
    this.#showStatus();
  }

  /** Marks the results that depend on a changed cell, in turn. */
  #markOutdated() {
    const stale = this.#dependencies.stale((i) => this.cells[i].hasChangedSinceRun);
    for (const [i, cell] of this.cells.entries()) cell.setOutdated(stale.has(i));
  }

  get isEdited() {
    return this.cells.some(({ isEdited }) => isEdited);
  }

  #forgetVariables() {
    this.#count = 0;
    this.#dependencies.clear();
    for (const cell of this.cells) cell.forget();
  }

  #isUnderWay(cell: Cell) {
    return cell === this.#running || this.#queue.includes(cell);
  }

  #idle: Promise<void> = Promise.resolve();

  async #work() {
    let done: () => void = () => {};
    this.#idle = new Promise((resolve) => {
      done = resolve;
    });
    let ran = 0;
    let wasStopped = false;
    for (let cell = this.#queue.shift(); cell; cell = this.#queue.shift()) {
      this.#running = cell;
      this.#showStatus();
      const outcome = await cell.run(this.#kernel, ++this.#count);
      if (outcome?.names) this.#dependencies.record(this.cells.indexOf(cell), outcome.names);
      this.#markOutdated();
      ran++;
      if (cell.state === "failed" && !this.#kernel.isAlive) {
        // The worker has ended; the variables that the waiting cells need are lost.
        for (const waiting of this.#queue.splice(0)) waiting.unwait();
        this.#forgetVariables();
      }
      // Its output has moved the next cell down.
      const next = this.cells[this.cells.indexOf(cell) + 1];
      if (next && next === this.#advancedTo && next.hasFocus) next.bringIntoView();
      // An error below the end of the screen would go unnoticed.
      if (cell.state === "failed" && cell.hasFocus && !this.#isMany) cell.bringErrorIntoView();
      // Stop has said so itself.
      wasStopped = cell.state === "stopped";
      if (!this.#isMany && !wasStopped) this.announce(cell.summary);
    }
    this.#running = undefined;
    this.#showStatus();
    if (this.#isMany && !wasStopped) this.announce(`${cellCount(ran)} ran. ${this.#tally()}`);
    this.#isMany = false;
    done();
  }

  #tally() {
    const count = (test: (cell: Cell) => boolean) =>
      this.cells.filter((cell) => !cell.hasChangedSinceRun).filter(test).length;
    const matching = count(({ verdict }) => verdict === "matches");
    const compared = matching + count(({ verdict }) => verdict === "differs");
    const holding = count(({ verdict }) => verdict === "holds");
    const checked = holding + count(({ verdict }) => verdict === "violated");
    const failed = count(({ state }) => state === "failed");
    const of: (good: number, all: number, one: string, many: string) => string = (
      good,
      all,
      one,
      many,
    ) => (all === 1 && good === 1 ? `1 ${one}` : `${good} of ${all} ${many}`);
    return [
      compared > 0 && of(matching, compared, "output matches", "outputs match"),
      checked > 0 && of(holding, checked, "check holds", "checks hold"),
      failed > 0 && `${failed} failed`,
    ]
      .filter(Boolean)
      .join(", ");
  }

  #showStatus() {
    const ran = this.cells.filter(({ state }) => state === "done" || state === "failed").length;
    this.element.toggleAttribute("data-running", this.#running !== undefined);
    if (this.stopButton) {
      // A button that is disabled loses the focus.
      const hadFocus = document.activeElement === this.stopButton;
      if (hadFocus && !this.#running) this.runAllButton?.focus();
      this.stopButton.disabled = !this.#running;
    }
    const stale = this.cells.filter(({ isStale }) => isStale).length;
    if (this.staleButton) {
      const text = find(this.staleButton, "span");
      text.textContent = `Run stale (${stale})`;
      if (document.activeElement === this.staleButton && stale === 0) this.runAllButton?.focus();
      this.staleButton.hidden = stale === 0 || this.#running !== undefined;
    }
    if (!this.statusText) return;
    const canUndo = this.#beforeReset.size > 0;
    if (this.#running) {
      this.statusText.textContent = `Running ${this.#running.label} …`;
    } else if (ran === 0) {
      this.statusText.textContent = canUndo ? "Reset. " : cellCount(this.cells.length);
    } else {
      const tally = this.#tally();
      this.statusText.textContent = `${cellCount(ran)} ran${tally ? `; ${tally}` : ""} `;
    }
    this.#showUndo(canUndo, ran === 0 && !this.#running ? "Undo" : "Undo reset");
  }

  #showUndo(canUndo: boolean, text: string) {
    const button = this.undoButton;
    if (!button) return;
    if (button.textContent !== text) button.textContent = text;
    if (!canUndo) button.remove();
    else if (!button.isConnected) this.status?.append(button);
  }
}

const cellCount = (count: number) => (count === 1 ? "1 cell" : `${count} cells`);
