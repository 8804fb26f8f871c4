// One cell on the page: its code, its controls, what it printed, and how that compares.

import { diffLines, matches } from "./compare.js";
import { keepSource, keptSource } from "./edits.js";
import { hint } from "./hints.js";
import { icon } from "./icons.js";
import { KernelGone } from "./kernel.js";
import { quantizationErrorPlot } from "./plot.js";
import { linesFigure } from "./plots/lines.js";
import { makeScrollable } from "./scrollable.js";
import { h, toDom } from "./tree.js";

/**
 * @typedef {import("./kernel.js").Outcome} Outcome
 * @typedef {import("./kernel.js").Output} Output
 * @typedef {import("./notebook.js").Notebook} Notebook
 * @typedef {"idle" | "waiting" | "running" | "done" | "failed" | "stopped"} State
 * @typedef {"matches" | "differs" | "holds" | "violated" | "none"} Verdict
 */

/** What expected output is and how it is called. */
export const EXPECTATIONS = {
  stored: { label: "Stored in the original", noun: "the stored output" },
  torch: { label: "PyTorch 2.6 prints", noun: "PyTorch 2.6" },
  measured: { label: "Recorded from zeropoint", noun: "the recorded output" },
  rounded: { label: "Stored in the original", noun: "the stored output" },
  replaced: { label: "Stored in the original", noun: "the stored output" },
};

const DIFFERENCE_LIMIT = 500; // lines, each of which takes three elements

export class Cell {
  /** @type {State} */
  state = "idle";
  /** @type {Verdict} */
  verdict = "none";
  #output = "";
  /** What the output came from. @type {string | undefined} */
  #ranSource;
  /** Whether the variables behind the output are gone. */
  #isForgotten = false;
  /** What was shown before the cell waited for its turn. @type {[State, string]} */
  #beforeWait = ["idle", "In [ ]"];
  /** @type {import("@codemirror/view").EditorView | undefined} */
  #editor;
  /** @type {(source: string) => void} */
  #setEditorSource = () => {};
  /** @type {(line: number | undefined) => void} */
  #markInEditor = () => {};
  /** The line of this cell that the error is about. @type {number | undefined} */
  #failedLine;
  /** @type {Promise<void> | undefined} */
  #editorLoading;

  /**
   * @param {HTMLElement} element
   * @param {Notebook} notebook
   */
  constructor(element, notebook) {
    this.element = element;
    this.notebook = notebook;
    this.label = element.dataset.label ?? "";
    this.code = /** @type {HTMLElement} */ (element.querySelector(".cell-code"));
    this.counter = /** @type {HTMLElement} */ (element.querySelector(".cell-counter"));
    this.output = /** @type {HTMLElement} */ (element.querySelector(".cell-output"));
    this.expected = /** @type {HTMLElement | null} */ (element.querySelector(".cell-expected"));
    this.checkList = /** @type {HTMLElement | null} */ (element.querySelector(".cell-checks"));
    const staticCode = this.code.querySelector("code");
    this.originalSource = staticCode?.textContent ?? "";
    this.source = keptSource(element.id, this.originalSource);
    if (staticCode && this.isEdited) staticCode.textContent = this.source;
    this.expectedText = this.expected?.querySelector("pre")?.textContent ?? "";
    this.expectation = /** @type {keyof typeof EXPECTATIONS | undefined} */ (
      this.expected?.dataset.kind
    );
    /** @type {string[]} */
    this.checks = JSON.parse(this.checkList?.dataset.sources ?? "[]");
    this.#addControls();
    this.#showEdited();
  }

  get isEdited() {
    return this.source !== this.originalSource;
  }

  #addControls() {
    const tools = /** @type {HTMLElement} */ (this.element.querySelector(".cell-tools"));
    const [run, runTo, reset] = [
      this.#button("run", "Run", "play", `Run ${this.label}`),
      this.#button("run-to-here", "Run to here", "play-to", `Run to here: ${this.label}`),
      this.#button("reset-cell", "Reset cell", "reset", `Reset cell: ${this.label}`),
    ];
    this.resetButton = reset;
    reset.hidden = true;
    run.addEventListener("click", () => this.notebook.run([this]));
    runTo.addEventListener("click", () => this.notebook.runTo(this));
    reset.addEventListener("click", () => {
      this.restoreSource();
      this.clear();
      run.focus();
      this.notebook.announce(`${this.label} is as it was.`);
    });
    tools.append(reset, runTo, run);
    tools.hidden = false;
  }

  /**
   * @param {string} name
   * @param {string} text
   * @param {string} iconName
   * @param {string} label
   */
  #button(name, text, iconName, label) {
    return /** @type {HTMLButtonElement} */ (
      toDom(
        h(
          "button",
          { type: "button", class: `button ${name}`, "aria-label": label },
          icon(iconName),
          h("span", {}, text),
        ),
      )
    );
  }

  /** Puts the editor in the place of the static code, once. */
  edit() {
    this.#editorLoading ??= this.#createEditor().catch(() => {
      // Without the editor the code still runs; the next attempt may succeed.
      this.#editorLoading = undefined;
    });
    return this.#editorLoading;
  }

  async #createEditor() {
    const { createEditor, markFailedLine, setSource } = await import("./editor.js");
    const hadFocus = this.code.contains(document.activeElement);
    const host = document.createElement("div");
    host.className = "editor";
    const view = createEditor({
      parent: host,
      source: this.source,
      label: `Code of ${this.label}`,
      onChange: (source) => this.#changeSource(source),
      onRun: () => this.notebook.run([this]),
      onRunAndAdvance: () => this.notebook.runAndAdvance(this),
    });
    this.code.replaceChildren(host);
    this.#editor = view;
    this.#setEditorSource = (source) => setSource(view, source);
    this.#markInEditor = (line) => markFailedLine(view, line);
    if (!this.hasChangedSinceRun) this.#markInEditor(this.#failedLine);
    if (hadFocus) view.focus();
  }

  get hasFocus() {
    return this.element.contains(document.activeElement);
  }

  async focus() {
    await this.edit();
    const code = /** @type {HTMLElement | null} */ (this.code.querySelector("pre"));
    (this.#editor ?? code)?.focus();
    this.bringIntoView();
  }

  bringIntoView() {
    this.element.scrollIntoView({ block: "nearest" });
  }

  bringErrorIntoView() {
    this.output.querySelector(".cell-error")?.scrollIntoView({ block: "nearest" });
  }

  restoreSource() {
    this.replaceSource(this.originalSource);
  }

  /** @param {string} source */
  replaceSource(source) {
    this.#changeSource(source);
    this.#setEditorSource(source);
    const staticCode = this.code.querySelector("code");
    if (staticCode) staticCode.textContent = source;
  }

  /** @param {string} source */
  #changeSource(source) {
    this.source = source;
    keepSource(this.element.id, this.originalSource, source);
    this.#showEdited();
    this.#showStale();
    this.notebook.noteChange();
  }

  #showEdited() {
    this.element.toggleAttribute("data-edited", this.isEdited);
    if (this.resetButton) this.resetButton.hidden = !this.isEdited;
  }

  /** Back to how the page showed the cell at first, but for its code. */
  clear() {
    this.#setState("idle", "In [ ]");
    this.#clearOutput();
    this.#ranSource = undefined;
    this.#showStale();
  }

  #clearOutput() {
    this.#output = "";
    this.#markLine(undefined);
    this.verdict = "none";
    this.output.replaceChildren();
    this.output.hidden = true;
    delete this.element.dataset.verdict;
    delete this.element.dataset.comparedWith;
    this.element.querySelector(".verdict")?.remove();
    this.#showExpected(true);
    for (const item of this.checkList?.children ?? []) {
      item.removeAttribute("data-result");
      item.querySelector(".check-result")?.remove();
    }
  }

  /** The variables behind the output are gone. */
  markStale() {
    this.#isForgotten = true;
    this.#showStale();
  }

  /** Whether the code is another than what was run. */
  get hasChangedSinceRun() {
    return this.#ranSource !== undefined && this.source !== this.#ranSource;
  }

  /** An output is old without its variables, and beside code that it did not come from. */
  #showStale() {
    const hasRun = this.#ranSource !== undefined && this.state !== "running";
    const isStale = hasRun && (this.#isForgotten || this.hasChangedSinceRun);
    this.element.toggleAttribute("data-stale", isStale);
  }

  wait() {
    this.#beforeWait = [this.state, this.counter.textContent ?? ""];
    this.#setState("waiting", "In [*]");
  }

  /** Taken out of the queue before its turn. */
  unwait() {
    if (this.state === "waiting") this.#setState(...this.#beforeWait);
  }

  /**
   * @param {import("./kernel.js").Kernel} kernel
   * @param {number} count
   */
  async run(kernel, count) {
    this.#clearOutput();
    this.#setState("running", "In [*]");
    this.#ranSource = this.source;
    this.#isForgotten = false;
    this.#showStale();
    try {
      const outcome = await kernel.run({
        label: this.label,
        source: this.source,
        checks: this.checks,
        onOutput: (output) => this.#addOutput(output),
      });
      this.#finish(outcome, count);
    } catch (error) {
      if (!(error instanceof KernelGone)) throw error;
      this.#ranSource = undefined;
      this.#setState(error.wasStopped ? "stopped" : "failed", "In [ ]");
      this.#appendMessage(
        error.wasStopped ? "Stopped" : "Cannot run",
        error.wasStopped
          ? "This cell was stopped. The notebook's variables are gone: run it again from the top."
          : error.message,
      );
    }
  }

  /**
   * @param {Outcome} outcome
   * @param {number} count
   */
  #finish({ result, error, checks }, count) {
    if (result !== undefined) {
      // What was printed need not end its line.
      const isInLine =
        this.output.lastElementChild?.matches("pre.text") && !this.#output.endsWith("\n");
      this.#addOutput({ kind: "text", text: `${isInLine ? "\n" : ""}${result}\n` });
    }
    if (error) this.#appendError(error);
    if (error && !this.hasChangedSinceRun) this.#markLine(error.line);
    this.#setState(error ? "failed" : "done", `In [${count}]`);
    if (error) this.#judgeFailed();
    else this.#judge(checks);
    this.#showStale();
    makeScrollable(this.element);
  }

  /** @param {number | undefined} line */
  #markLine(line) {
    this.#failedLine = line;
    this.#markInEditor(line);
  }

  /** Whether the expected output is what must come out, character by character. */
  get #isExact() {
    return ["stored", "torch", "measured"].includes(this.expectation ?? "");
  }

  #judgeFailed() {
    if (this.#isExact) this.#setVerdict("differs", "differs: the cell failed");
    else if (this.checks.length > 0) this.#setVerdict("violated", "not checked: the cell failed");
  }

  /** @param {Outcome["checks"]} results */
  #judge(results) {
    if (this.expectation && this.#isExact) {
      const { noun } = EXPECTATIONS[this.expectation];
      if (matches(this.#output, this.expectedText)) {
        this.#setVerdict("matches", `matches ${noun}`);
        this.#showExpected(false);
      } else {
        // What other code prints says nothing against this page.
        const isOther = this.notebook.isEdited;
        if (isOther) this.element.dataset.comparedWith = "unedited";
        this.#setVerdict("differs", `differs from ${isOther ? "the unedited notebook" : noun}`);
        this.#showDifference();
      }
    }
    if (results.length === 0) return;
    for (const [i, { passed, message }] of results.entries()) {
      const item = this.checkList?.children[i];
      if (!item) continue;
      item.setAttribute("data-result", passed ? "holds" : "violated");
      const text = passed ? " (holds)" : ` (does not hold${message ? `: ${message}` : ""})`;
      item.append(toDom(h("span", { class: "check-result" }, text)));
    }
    if (this.verdict === "differs") return;
    const holds = results.every(({ passed }) => passed);
    const agrees = this.expectation === "rounded" ? "agrees as far as 4 decimals allow" : undefined;
    if (holds) this.#setVerdict("holds", agrees ?? "has the properties it must have");
    else this.#setVerdict("violated", "does not have a property it must have");
  }

  /**
   * @param {Verdict} verdict
   * @param {string} text
   */
  #setVerdict(verdict, text) {
    this.verdict = verdict;
    this.verdictText = text;
    this.element.dataset.verdict = verdict;
    this.element.querySelector(".verdict")?.remove();
    const isGood = verdict === "matches" || verdict === "holds";
    const mark = h(
      "p",
      { class: "verdict" },
      icon(isGood ? "check" : this.element.dataset.comparedWith ? "pencil" : "cross"),
      h("span", {}, text),
    );
    this.element.querySelector(".cell-result")?.append(toDom(mark));
  }

  /** @param {boolean} isOpen  expected output that was met is folded away */
  #showExpected(isOpen) {
    const details = this.expected?.querySelector("details");
    if (!details || !this.expected) return;
    details.open = isOpen;
    this.expected.querySelector(".difference")?.remove();
    const pre = this.expected.querySelector("pre");
    if (pre) pre.hidden = false;
  }

  #showDifference() {
    const details = this.expected?.querySelector("details");
    if (!details) return;
    // The difference holds the expected lines too.
    const pre = this.expected?.querySelector("pre");
    if (pre) pre.hidden = true;
    const signs = { same: "  ", expected: "− ", actual: "+ " };
    const names = { same: "", expected: "expected: ", actual: "here: " };
    const lines = diffLines(this.#output, this.expectedText);
    const difference = h(
      "pre",
      { class: "difference" },
      lines
        .slice(0, DIFFERENCE_LIMIT)
        .map(({ kind, text }) =>
          h(
            "span",
            { class: `line-${kind}` },
            h("span", { class: "visually-hidden" }, names[kind]),
            h("span", { "aria-hidden": "true" }, signs[kind]),
            `${text}\n`,
          ),
        ),
      lines.length > DIFFERENCE_LIMIT && "… the rest of the difference is left out\n",
    );
    details.append(
      toDom(
        h(
          "div",
          { class: "difference" },
          h("p", {}, "Line by line: − expected, + here"),
          difference,
        ),
      ),
    );
    details.open = true;
  }

  /** @param {Output} output */
  #addOutput(output) {
    this.output.hidden = false;
    if (output.kind === "plot") {
      const { plot } = output;
      if (plot.kind === "lines") this.#addLines(plot);
      else this.output.append(toDom(quantizationErrorPlot(plot)));
      makeScrollable(this.output);
      return;
    }
    if (output.kind === "error") {
      this.#appendError(output.error, "It came after the cell had ended: is an await missing?");
      this.notebook.announce(`${this.label}: ${this.errorText}.`);
      return;
    }
    this.#output += output.text;
    const last = this.output.lastElementChild;
    if (last?.matches("pre.text")) last.append(output.text);
    else this.output.append(toDom(h("pre", { class: "text" }, output.text)));
  }

  /**
   * A plot that is drawn again when there is more or less room: on a telephone that is turned, or when a
   * notebook that ran out of sight is shown.
   * @param {import("./plots/lines.js").LinesPlot} plot
   */
  #addLines(plot) {
    const draw = () => toDom(linesFigure(plot, room));
    let room = innerWidth(this.output);
    const figure = draw();
    this.output.append(figure);
    const observer = new ResizeObserver(() => {
      if (!figure.isConnected) return observer.disconnect();
      const width = innerWidth(this.output);
      if (width <= 0 || width === room) return;
      room = width;
      // The table stays as it is, open or not.
      const [box, fresh] = [figure, draw()].map((each) => each.querySelector(".drawing-box"));
      box?.replaceChildren(...(fresh?.childNodes ?? []));
    });
    observer.observe(this.output);
  }

  /**
   * @param {import("./kernel.js").CellError} error
   * @param {string} [note]  what else there is to say
   */
  #appendError(error, note = "") {
    const { name, message, pythonType, line, inside } = error;
    const where = inside
      ? `line ${inside.line} of ${inside.cell}${line ? `, called from line ${line} here` : ""}`
      : line
        ? `line ${line}`
        : "";
    const notes = [
      pythonType && pythonType !== name ? `Python raises ${pythonType} here.` : "",
      inside ? "" : hint(error, this, this.notebook.cells),
      note,
    ];
    this.#appendMessage(name, message, where, notes.filter(Boolean).join(" "));
  }

  /**
   * @param {string} name
   * @param {string} message
   */
  #appendMessage(name, message, where = "", note = "") {
    this.output.hidden = false;
    this.errorText = `${name}: ${message}`;
    this.output.append(
      toDom(
        h(
          "div",
          { class: "cell-error" },
          h(
            "p",
            {},
            icon("cross"),
            h("strong", { class: "error-name" }, name),
            h("span", { class: "error-message" }, ` ${message}`),
          ),
          where && h("p", { class: "error-where" }, where),
          note && h("p", { class: "error-note" }, note),
        ),
      ),
    );
  }

  /**
   * @param {State} state
   * @param {string} counter
   */
  #setState(state, counter) {
    this.state = state;
    this.element.dataset.state = state;
    this.counter.textContent = counter;
  }

  /** What happened, in a sentence. */
  get summary() {
    const result =
      this.state === "failed"
        ? `failed with ${this.errorText ?? "an error"}`
        : this.state === "stopped"
          ? "was stopped"
          : "ran";
    const verdict = this.verdict === "none" ? "" : `; output ${this.verdictText}`;
    return `${this.label} ${result}${verdict}.`;
  }
}

/** @param {HTMLElement} element */
function innerWidth(element) {
  const { paddingLeft, paddingRight } = getComputedStyle(element);
  return element.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
}
