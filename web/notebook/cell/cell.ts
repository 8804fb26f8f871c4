// One cell on the page: its code, its controls, and how it runs.

import { find } from "../../shell/dom.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { makeScrollable } from "../../shell/scrollable.js";
import { iconButton } from "../button.js";
import { acknowledge, keepSource, keptSource } from "../edits.js";
import { dropResult, type KeptResult, keepResult } from "../kept-results.js";
import { type Kernel, KernelGone, type Outcome, type Output } from "../kernel.js";
import type { Notebook } from "../notebook.js";
import { leaveOutCode, linkTo } from "./cell-link.js";
import { Code } from "./code.js";
import { hint } from "./hints.js";
import { Result } from "./result.js";

type State = "idle" | "waiting" | "running" | "done" | "failed" | "stopped";

const KEPT_SIZE = 1_000_000; // characters or numbers of a result that is kept for a reload

export class Cell {
  element: HTMLElement;
  notebook: Notebook;
  label;
  code;
  counter;
  result;
  originalSource;
  checks: string[];
  ownCodeButtons: HTMLButtonElement[] = [];
  state: State = "idle";
  /** The code that the output came from. */
  #ranSource: string | undefined;
  /** Whether the variables behind the output are gone. */
  #isForgotten = false;
  /** Whether another cell that this one reads from has changed. */
  #isOutdated = false;
  /** State and counter before the cell waited for its turn. */
  #beforeWait: [State, string] = ["idle", "In [ ]"];
  /** The outputs of the run, which are kept for a reload. */
  #outputs: Output[] = [];
  /** Settles when all outputs are shown. */
  #shown: Promise<unknown> = Promise.resolve();

  constructor(element: HTMLElement, notebook: Notebook) {
    this.element = element;
    this.notebook = notebook;
    this.label = element.dataset.label ?? "";
    this.code = new Code(find(element, ".cell-code"), {
      label: `Code of ${this.label}`,
      onChange: () => this.#keepSource(),
      onRun: () => notebook.run([this]),
      onRunAndAdvance: () => notebook.runAndAdvance(this),
    });
    this.counter = find(element, ".cell-counter");
    this.result = new Result(element, (error) => hint(error, this, this.notebook.cells));
    this.originalSource = this.source;
    const kept = keptSource(element.id, this.originalSource);
    if (kept !== this.source) this.code.source = kept;
    this.checks = JSON.parse(this.result.checkList?.dataset.sources ?? "[]");
    this.#addControls();
    this.#showEdited();
  }

  get source() {
    return this.code.source;
  }

  get isEdited() {
    return this.source !== this.originalSource;
  }

  get verdict() {
    return this.result.verdict;
  }

  #addControls() {
    const tools = find(this.element, ".cell-tools");
    const [run, runTo, runFrom, copy, link, reset] = [
      this.#button("run", "Run", "play", `Run ${this.label}`),
      this.#button("run-to-here", "Run to here", "play-to", `Run to here: ${this.label}`),
      this.#button("run-from-here", "Run from here", "play-from", `Run from here: ${this.label}`),
      this.#button("copy-cell", "Copy", "copy", `Copy the code of ${this.label}`),
      this.#button("copy-link", "Copy link", "link", `Copy a link to the code of ${this.label}`),
      this.#button("reset-cell", "Reset cell", "reset", `Reset cell: ${this.label}`),
    ];
    this.ownCodeButtons = [link, reset];
    run.addEventListener("click", () => this.notebook.run([this]));
    runTo.addEventListener("click", () => this.notebook.runTo(this));
    runFrom.addEventListener("click", () => this.notebook.runFrom(this));
    copy.addEventListener("click", () => this.#copy(this.source));
    link.addEventListener("click", async () =>
      this.#copy(await linkTo(this.element.id, this.source), "a link to the code"),
    );
    reset.addEventListener("click", () => {
      this.restoreSource();
      this.clear();
      run.focus();
      this.notebook.announce(`${this.label} is as it was.`);
    });
    tools.append(reset, link, copy, runFrom, runTo, run);
    tools.hidden = false;
    const torch = this.element.querySelector(".cell-torch");
    const copyTorch = this.#button("copy-torch", "Copy", "copy", `Copy PyTorch of ${this.label}`);
    copyTorch.addEventListener("click", () =>
      this.#copy(torch?.querySelector("code")?.textContent ?? ""),
    );
    torch?.append(copyTorch);
  }

  async #copy(text: string, what = "the code") {
    try {
      await navigator.clipboard.writeText(text);
      this.notebook.announce(`Copied ${what} of ${this.label}.`);
    } catch {
      this.notebook.announce("The browser does not allow copying.");
    }
  }

  #button(name: string, text: string, iconName: string, label: string) {
    return iconButton(text, iconName, label, { class: `button ${name}`, title: text });
  }

  get hasFocus() {
    return this.element.contains(document.activeElement);
  }

  async focus() {
    if (this.code.element.offsetParent === null) {
      // Only its PyTorch is shown.
      this.element.focus();
      return;
    }
    await this.code.focus();
    this.bringIntoView();
  }

  bringIntoView() {
    this.element.scrollIntoView({ block: "nearest" });
  }

  bringErrorIntoView() {
    this.result.bringErrorIntoView();
  }

  restoreSource() {
    this.replaceSource(this.originalSource);
  }

  replaceSource(source: string) {
    if (source === this.source) return;
    this.code.source = source;
    this.#keepSource();
  }

  #keepSource() {
    const other = keepSource(this.element.id, this.originalSource, this.source);
    if (other !== undefined) this.#offerFromTab(other);
    this.#noteChange();
  }

  #noteChange() {
    this.#showEdited();
    this.#showStale();
    this.notebook.noteChange();
  }

  /** Another tab has changed this cell. Where both had the same code, this tab follows. */
  changeElsewhere(source: string) {
    if (source === this.source) {
      acknowledge(this.element.id);
      this.element.querySelector(".cell-conflict")?.remove();
    } else if (this.element.querySelector(".cell-conflict") || this.hasFocus) {
      this.#offerFromTab(source);
    } else {
      acknowledge(this.element.id);
      this.code.source = source;
      this.#noteChange();
      this.notebook.announce(`${this.label} was changed in another tab.`);
    }
  }

  /** @param source  the code that another tab has */
  #offerFromTab(source: string) {
    this.#offerOther("This cell has other code in another tab.", source, (isTaken) => {
      if (isTaken) acknowledge(this.element.id);
      else keepSource(this.element.id, this.originalSource, this.source, true);
    });
  }

  /** @param source  the code that a link has; null: it is damaged */
  offerFromLink(source: string | null) {
    if (source === this.source) leaveOutCode();
    else if (source === null) {
      this.#note("The link to this cell has code that cannot be read.");
    } else {
      this.#offerOther("A link has other code for this cell.", source, leaveOutCode);
    }
  }

  #note(text: string) {
    this.element.querySelector(".cell-conflict")?.remove();
    const note = toDom(h("div", { class: "cell-conflict" }, h("p", {}, text)));
    this.code.element.after(note);
    this.notebook.announce(`${this.label}: ${text}`);
    return note;
  }

  /** Shows other code for this cell, and asks which to keep. */
  #offerOther(text: string, source: string, onDecided: (isTaken: boolean) => void) {
    const take = this.#button("take-other", "Take its code", "copy", `Take the other code`);
    const keep = this.#button("keep-own", "Keep this code", "check", `Keep this code`);
    const note = this.#note(text);
    take.addEventListener("click", () => {
      note.remove();
      onDecided(true);
      this.replaceSource(source);
      this.focus();
    });
    keep.addEventListener("click", () => {
      note.remove();
      onDecided(false);
      this.focus();
    });
    const code = h("pre", { tabindex: 0, role: "region", "aria-label": "The other code" }, source);
    note.append(toDom(code), take, keep);
  }

  #showEdited() {
    this.element.toggleAttribute("data-edited", this.isEdited);
    for (const button of this.ownCodeButtons) button.hidden = !this.isEdited;
  }

  /** Back to how the page showed the cell at first, but for its code. */
  clear() {
    this.#setState("idle", "In [ ]");
    this.#clearOutput();
    this.#ranSource = undefined;
    this.#showStale();
    dropResult(this.element.id);
  }

  #clearOutput() {
    this.#outputs = [];
    this.code.mark(undefined);
    this.result.clear();
  }

  /** The variables behind the output are gone. */
  forget() {
    this.#isForgotten = true;
    this.#showStale();
  }

  /** @param isOutdated  whether a value that the cell read has changed since it ran */
  setOutdated(isOutdated: boolean) {
    this.#isOutdated = isOutdated;
    this.#showStale();
  }

  get hasRun() {
    return this.#ranSource !== undefined;
  }

  /** Whether the code differs from the code that ran. */
  get hasChangedSinceRun() {
    return this.#ranSource !== undefined && this.source !== this.#ranSource;
  }

  /** An output is stale if its variables are gone, its code has changed or a value it read has changed. */
  get isStale() {
    const isDone = this.#ranSource !== undefined && this.state !== "running";
    return isDone && (this.#isForgotten || this.#isOutdated || this.hasChangedSinceRun);
  }

  #showStale() {
    this.element.toggleAttribute("data-stale", this.isStale);
  }

  wait() {
    this.#beforeWait = [this.state, this.counter.textContent ?? ""];
    this.#setState("waiting", "In [*]");
  }

  /** Taken out of the queue before its turn. */
  unwait() {
    if (this.state === "waiting") this.#setState(...this.#beforeWait);
  }

  /** @returns none if the run was stopped */
  async run(kernel: Kernel, count: number): Promise<Outcome | undefined> {
    this.#clearOutput();
    this.#setState("running", "In [*]");
    this.#ranSource = this.source;
    this.#isForgotten = false;
    this.#isOutdated = false;
    this.#showStale();
    try {
      const outcome = await kernel.run({
        label: this.label,
        source: this.source,
        checks: this.checks,
        onOutput: (output) => this.#addOutput(output),
      });
      await this.#shown;
      this.#finish(outcome, count);
      this.#keep(outcome, count);
      return outcome;
    } catch (error) {
      if (!(error instanceof KernelGone)) throw error;
      this.#ranSource = undefined;
      this.#setState(error.wasStopped ? "stopped" : "failed", "In [ ]");
      this.result.addMessage(
        error.wasStopped ? "Stopped" : "Cannot run",
        error.wasStopped
          ? "This cell was stopped. The notebook's variables are gone: run it again from the top."
          : error.message,
      );
      return undefined;
    }
  }

  #addOutput(output: Output) {
    this.#outputs.push(output);
    const shown = this.result.add(output).catch((error: Error) => {
      this.result.addMessage("Cannot show", error.message);
    });
    this.#shown = Promise.all([this.#shown, shown]);
    if (output.kind === "error") {
      this.notebook.announce(`${this.label}: ${this.result.errorText}.`);
    }
  }

  #finish({ result, error, checks }: Outcome, count: number) {
    if (result !== undefined) this.result.addValue(result);
    if (error) this.result.addError(error);
    if (error && !this.hasChangedSinceRun) this.code.mark(error.line);
    this.#setState(error ? "failed" : "done", `In [${count}]`);
    if (error) this.result.judgeFailed();
    else this.result.judge(checks, this.notebook.isEdited);
    this.#showStale();
    makeScrollable(this.element);
  }

  #keep(outcome: Outcome, count: number) {
    const size = this.#outputs.reduce((sum, output) => sum + sizeOf(output), 0);
    const cell = this.element.id;
    if (size > KEPT_SIZE) dropResult(cell);
    else
      keepResult({ cell, source: this.#ranSource ?? "", count, outputs: this.#outputs, outcome });
  }

  /** Shows the result of an earlier visit. */
  async restore({ source, count, outputs, outcome }: KeptResult) {
    if (this.hasRun || this.state !== "idle") return;
    this.#ranSource = source;
    this.#isForgotten = true;
    for (const output of outputs) this.#addOutput(output);
    await this.#shown;
    this.#finish(outcome, count);
  }

  #setState(state: State, counter: string) {
    this.state = state;
    this.element.dataset.state = state;
    this.counter.textContent = counter;
  }

  /** The outcome of the last run, in a sentence. */
  get summary() {
    const result =
      this.state === "failed"
        ? `failed with ${this.result.errorText ?? "an error"}`
        : this.state === "stopped"
          ? "was stopped"
          : "ran";
    const verdict = this.verdict === "none" ? "" : `; output ${this.result.verdictText}`;
    return `${this.label} ${result}${verdict}.`;
  }
}

function sizeOf(output: Output) {
  if (output.kind === "text") return output.text.length;
  if (output.kind === "error") return 1000;
  const { plot } = output;
  if (plot.kind === "lines") return plot.series.reduce((sum, { x }) => sum + 2 * x.length, 0);
  return plot.panels.reduce((sum, { data }) => sum + data.length, 0);
}
