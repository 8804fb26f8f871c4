// The part of a cell below its code: outputs, the expected output, the verdict, checks and errors.

import { find } from "../../shell/dom.js";
import { icon } from "../../shell/drawing/icons.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { makeScrollable } from "../../shell/scrollable.js";
import type { Outcome, Output } from "../kernel.js";
import type { CellError } from "../worker/cell-error.js";
import { diffLines, matches } from "./compare.js";

type Verdict = "matches" | "differs" | "holds" | "violated" | "none";

/** The kinds of expected output, by the name each has in a sentence. */
const EXPECTATIONS = {
  stored: "the stored output",
  torch: "PyTorch 2.6",
  measured: "the recorded output",
  rounded: "the stored output",
  replaced: "the stored output",
};

const DIFFERENCE_LIMIT = 500; // lines, each of which takes three elements

export class Result {
  cell: HTMLElement;
  hintFor: (error: CellError) => string;
  output;
  expected;
  checkList;
  expectedText;
  expectation;
  verdict: Verdict = "none";
  verdictText = "";
  errorText: string | undefined;
  #text = "";

  /** @param hintFor  advice on an error, or nothing */
  constructor(cell: HTMLElement, hintFor: (error: CellError) => string) {
    this.cell = cell;
    this.hintFor = hintFor;
    this.output = find(cell, ".cell-output");
    this.expected = cell.querySelector<HTMLElement>(".cell-expected");
    this.checkList = cell.querySelector<HTMLElement>(".cell-checks");
    this.expectedText = this.expected?.querySelector("pre")?.textContent ?? "";
    this.expectation = this.expected?.dataset.kind as keyof typeof EXPECTATIONS | undefined;
  }

  clear() {
    this.#text = "";
    this.verdict = "none";
    this.verdictText = "";
    this.errorText = undefined;
    this.output.replaceChildren();
    this.output.hidden = true;
    delete this.cell.dataset.verdict;
    delete this.cell.dataset.comparedWith;
    this.cell.querySelector(".verdict")?.remove();
    this.#showExpected(true);
    for (const item of this.checkList?.querySelectorAll("li") ?? []) {
      item.removeAttribute("data-result");
      item.querySelector(".check-result")?.remove();
    }
  }

  /** The value of the last expression, on a separate line, because printed text may lack a final newline. */
  addValue(text: string) {
    const isInLine =
      this.output.lastElementChild?.matches("pre.text") && !this.#text.endsWith("\n");
    return this.add({ kind: "text", text: `${isInLine ? "\n" : ""}${text}\n` });
  }

  async add(output: Output) {
    this.output.hidden = false;
    if (output.kind === "plot") {
      // Insert the element at once, so that later prints come below it.
      const place = document.createElement("div");
      this.output.append(place);
      const { showPlot } = await import("../plots/show.js");
      showPlot(place, output.plot, () => innerWidth(this.output));
      makeScrollable(this.output);
    } else if (output.kind === "error") {
      this.addError(output.error, "It came after the cell had ended: is an await missing?");
    } else {
      this.#text += output.text;
      const last = this.output.lastElementChild;
      if (last?.matches("pre.text")) last.append(output.text);
      else this.output.append(toDom(h("pre", { class: "text" }, output.text)));
    }
  }

  /** @param note  a sentence below the error */
  addError(error: CellError, note = "") {
    const { name, message, pythonType, line, inside } = error;
    const where = inside
      ? `line ${inside.line} of ${inside.cell}${line ? `, called from line ${line} here` : ""}`
      : line
        ? `line ${line}`
        : "";
    const notes = [
      pythonType && pythonType !== name ? `Python raises ${pythonType} here.` : "",
      inside ? "" : this.hintFor(error),
      note,
    ];
    this.addMessage(name, message, where, notes.filter(Boolean).join(" "));
  }

  addMessage(name: string, message: string, where = "", note = "") {
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

  bringErrorIntoView() {
    this.output.querySelector(".cell-error")?.scrollIntoView({ block: "nearest" });
  }

  /** Whether the expected output must come out character by character. */
  get #isExact() {
    return ["stored", "torch", "measured"].includes(this.expectation ?? "");
  }

  judgeFailed() {
    if (this.#isExact) this.#setVerdict("differs", "differs: the cell failed");
    else if (this.checkList) this.#setVerdict("violated", "not checked: the cell failed");
  }

  /** @param isEdited  whether any cell of the notebook has other code than the page brought */
  judge(results: Outcome["checks"], isEdited: boolean) {
    if (this.expectation && this.#isExact) {
      const noun = EXPECTATIONS[this.expectation];
      if (matches(this.#text, this.expectedText)) {
        this.#setVerdict("matches", `matches ${noun}`);
        this.#showExpected(false);
      } else {
        // Other code may print another text.
        if (isEdited) this.cell.dataset.comparedWith = "unedited";
        this.#setVerdict("differs", `differs from ${isEdited ? "the unedited notebook" : noun}`);
        this.#showDifference();
      }
    }
    if (results.length === 0) return;
    const items = this.checkList?.querySelectorAll("li") ?? [];
    for (const [i, { passed, message }] of results.entries()) {
      const item = items[i];
      if (!item) continue;
      item.setAttribute("data-result", passed ? "holds" : "violated");
      const text = passed ? " (holds)" : ` (does not hold${message ? `: ${message}` : ""})`;
      item.append(toDom(h("span", { class: "check-result" }, text)));
    }
    if (this.verdict === "differs") return;
    const holds = results.every(({ passed }) => passed);
    const agrees = this.expectation === "rounded" ? "agrees as far as 4 decimals allow" : undefined;
    if (holds) this.#setVerdict("holds", agrees ?? "has the properties it must have");
    const must = this.checkList?.closest("details");
    if (must) must.open = !holds;
    if (holds) return;
    this.#setVerdict("violated", "does not have a property it must have");
  }

  /** Shows the verdict in the line that opens the expected output; without one, in the line of the checks. */
  #setVerdict(verdict: Verdict, text: string) {
    this.verdict = verdict;
    this.verdictText = text;
    this.cell.dataset.verdict = verdict;
    this.cell.querySelector(".verdict")?.remove();
    const isGood = verdict === "matches" || verdict === "holds";
    const mark = h(
      "span",
      { class: "verdict" },
      icon(isGood ? "check" : this.cell.dataset.comparedWith ? "pencil" : "cross"),
      h("span", {}, text),
    );
    this.cell.querySelector(".cell-expected summary, .cell-must summary")?.prepend(toDom(mark));
  }

  /** @param isOpen  an expected output that was met is folded away */
  #showExpected(isOpen: boolean) {
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
    const lines = diffLines(this.#text, this.expectedText);
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
}

function innerWidth(element: HTMLElement) {
  const { paddingLeft, paddingRight } = getComputedStyle(element);
  return element.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
}
