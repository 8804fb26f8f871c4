// One notebook on the page: its cells, the order in which they run, and the worker they run in.

import { Cell } from "./cell.js";
import { Kernel } from "./kernel.js";

export class Notebook {
  #kernel = new Kernel();
  /** @type {Cell[]} */
  #queue = [];
  /** @type {Cell | undefined} */
  #running;
  #count = 0;
  /** Many cells are announced once, at the end. */
  #isMany = false;

  /**
   * @param {HTMLElement} element
   * @param {(message: string) => void} announce
   */
  constructor(element, announce) {
    this.element = element;
    this.announce = announce;
    const cells = /** @type {NodeListOf<HTMLElement>} */ (element.querySelectorAll(".cell"));
    this.cells = Array.from(cells, (cell) => new Cell(cell, this));
    this.#connectToolbar();
    this.#loadEditorsInView();
  }

  #connectToolbar() {
    const toolbar = /** @type {HTMLElement} */ (this.element.querySelector(".toolbar"));
    /** @param {string} name */
    const button = (name) =>
      /** @type {HTMLButtonElement} */ (toolbar.querySelector(`[data-action="${name}"]`));
    button("run-all").addEventListener("click", () => this.runAll());
    this.stopButton = button("stop");
    this.stopButton.addEventListener("click", () => this.stop());
    button("reset").addEventListener("click", () => this.reset());
    this.status = /** @type {HTMLElement} */ (toolbar.querySelector(".toolbar-status"));
    toolbar.hidden = false;
    this.#showStatus();
    // What is scrolled to must not end up behind the toolbar, however many lines it has.
    const measure = () => {
      const height = toolbar.offsetHeight;
      if (height === 0) return;
      document.documentElement.style.setProperty("--toolbar-height", `${height}px`);
    };
    new ResizeObserver(measure).observe(toolbar);
    measure();
  }

  /** The editor is made when its cell comes near the screen, or is entered. */
  #loadEditorsInView() {
    const cellOf = new Map(this.cells.map((cell) => [/** @type {Element} */ (cell.element), cell]));
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting) continue;
          observer.unobserve(target);
          cellOf.get(target)?.edit();
        }
      },
      { rootMargin: "200px" },
    );
    for (const cell of this.cells) {
      observer.observe(cell.element);
      cell.code.addEventListener("focusin", () => cell.edit());
    }
  }

  /** @param {Cell[]} cells */
  async run(cells) {
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

  /** @param {Cell} cell */
  runTo(cell) {
    return this.run(this.cells.slice(0, this.cells.indexOf(cell) + 1));
  }

  /** @param {Cell} cell */
  runAndAdvance(cell) {
    const next = this.cells[this.cells.indexOf(cell) + 1];
    const run = this.run([cell]);
    next?.focus();
    return run;
  }

  /** Ends the worker, whatever it is doing. */
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
    for (const cell of this.cells) {
      cell.restoreSource();
      cell.clear();
    }
    this.#showStatus();
    this.announce("The notebook is as it was at first.");
  }

  #forgetVariables() {
    this.#count = 0;
    for (const cell of this.cells) cell.markStale();
  }

  /** @param {Cell} cell */
  #isUnderWay(cell) {
    return cell === this.#running || this.#queue.includes(cell);
  }

  /** @type {Promise<void>} */
  #idle = Promise.resolve();

  async #work() {
    /** @type {() => void} */
    let done = () => {};
    this.#idle = new Promise((resolve) => {
      done = resolve;
    });
    let ran = 0;
    for (let cell = this.#queue.shift(); cell; cell = this.#queue.shift()) {
      this.#running = cell;
      this.#showStatus();
      await cell.run(this.#kernel, ++this.#count);
      ran++;
      if (cell.state === "failed" && !this.#kernel.isAlive) {
        // The worker is gone, and with it what the waiting cells would build on.
        for (const waiting of this.#queue.splice(0)) waiting.unwait();
        this.#forgetVariables();
      }
      if (!this.#isMany) this.announce(cell.summary);
    }
    this.#running = undefined;
    this.#showStatus();
    if (this.#isMany) this.announce(`${ran} cells ran. ${this.#tally()}`);
    this.#isMany = false;
    done();
  }

  #tally() {
    /** @param {(cell: Cell) => boolean} test */
    const count = (test) => this.cells.filter(test).length;
    const parts = [
      [count(({ verdict }) => verdict === "matches"), "match"],
      [count(({ verdict }) => verdict === "holds"), "hold"],
      [count(({ verdict }) => verdict === "differs" || verdict === "violated"), "differ"],
      [count(({ state, verdict }) => state === "failed" && verdict === "none"), "failed"],
    ];
    return parts
      .filter(([number]) => /** @type {number} */ (number) > 0)
      .map(([number, text]) => `${number} ${text}`)
      .join(", ");
  }

  #showStatus() {
    const ran = this.cells.filter(({ state }) => state === "done" || state === "failed").length;
    this.element.toggleAttribute("data-running", this.#running !== undefined);
    if (this.stopButton) this.stopButton.disabled = !this.#running;
    if (!this.status) return;
    if (this.#running) {
      this.status.textContent = `Running ${this.#running.label} …`;
    } else if (ran === 0) {
      this.status.textContent = `${this.cells.length} cells`;
    } else {
      const tally = this.#tally();
      this.status.textContent = `${ran} of ${this.cells.length} cells ran${tally ? `: ${tally}` : ""}`;
    }
  }
}
