// One exercise on the page: its code, the check, the hints and the solution.

import { find } from "../../shell/dom.js";
import { icon } from "../../shell/drawing/icons.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { makeScrollable } from "../../shell/scrollable.js";
import { iconButton } from "../button.js";
import { Code } from "../cell/code.js";
import { keepSource, keptSource } from "../edits.js";
import { type Kernel, KernelGone, type Outcome } from "../kernel.js";
import type { Grade } from "./grade.js";
import { keepSolved } from "./progress.js";

const TIME_LIMIT = 10_000; // milliseconds of a check
const OUTPUT_LIMIT = 2000; // characters of printed text that are shown

interface Surroundings {
  kernel: Kernel;
  announce: (message: string) => void;
  onSolved: () => void;
}

export class Exercise {
  element: HTMLElement;
  kernel;
  announce;
  onSolved;
  id;
  label;
  code;
  verdict;
  state;
  hints;
  solution;
  originalSource;
  checkButton!: HTMLButtonElement;
  resetButton!: HTMLButtonElement;
  #isChecking = false;

  constructor(element: HTMLElement, { kernel, announce, onSolved }: Surroundings) {
    this.element = element;
    this.kernel = kernel;
    this.announce = announce;
    this.onSolved = onSolved;
    this.id = element.dataset.exercise ?? "";
    this.label = element.getAttribute("aria-label") ?? "";
    this.code = new Code(find(element, ".exercise-code"), {
      label: `Code of ${this.label}`,
      onChange: () => this.#keepSource(),
      onRun: () => this.check(),
      onRunAndAdvance: () => this.check(),
    });
    this.verdict = find(element, ".exercise-verdict");
    this.state = find(element, ".exercise-state");
    this.hints = element.querySelectorAll<HTMLDetailsElement>(".exercise-hint");
    this.solution = find(element, ".exercise-solution", HTMLDetailsElement);
    this.originalSource = this.source;
    const kept = keptSource(element.id, this.originalSource);
    if (kept !== this.source) this.code.source = kept;
    this.#addButtons();
    this.#holdHelpBack();
  }

  get source() {
    return this.code.source;
  }

  #addButtons() {
    const tools = find(this.element, ".exercise-tools");
    this.checkButton = this.#button("check", "Check", "check");
    this.checkButton.classList.add("primary");
    this.checkButton.addEventListener("click", () => this.check());
    this.resetButton = this.#button("reset-exercise", "Start again", "reset");
    this.resetButton.addEventListener("click", () => this.#reset());
    this.resetButton.hidden = this.source === this.originalSource;
    tools.append(this.resetButton, this.checkButton);
    tools.hidden = false;
  }

  #button(action: string, text: string, iconName: string) {
    return iconButton(text, iconName, `${text}: ${this.label}`, { "data-action": action });
  }

  /** The second hint comes after the first, the solution after a check. */
  #holdHelpBack() {
    const [first, second] = this.hints;
    second.hidden = true;
    this.solution.hidden = true;
    first.addEventListener("toggle", () => {
      second.hidden = false;
    });
  }

  showSolved(isSolved: boolean) {
    this.element.toggleAttribute("data-solved", isSolved);
    this.state.textContent = isSolved ? "Solved" : "Exercise";
    if (isSolved) this.solution.hidden = false;
  }

  #keepSource() {
    keepSource(this.element.id, this.originalSource, this.source, true);
    if (this.resetButton) this.resetButton.hidden = this.source === this.originalSource;
  }

  #reset() {
    this.code.source = this.originalSource;
    this.#keepSource();
    this.verdict.hidden = true;
    delete this.element.dataset.verdict;
    this.checkButton?.focus();
    this.announce(`${this.label} is as it was at first.`);
  }

  async check() {
    if (this.#isChecking) return;
    this.#isChecking = true;
    this.checkButton?.setAttribute("aria-disabled", "true");
    let printed = "";
    const timer = setTimeout(() => this.kernel.stop(), TIME_LIMIT);
    try {
      const outcome = await this.kernel.run({
        label: this.label,
        source: this.source,
        checks: [],
        exercise: this.id,
        onOutput: (output) => {
          if (output.kind === "text") printed = (printed + output.text).slice(0, OUTPUT_LIMIT);
        },
      });
      this.#show(outcome, printed);
    } catch (error) {
      if (!(error instanceof KernelGone)) throw error;
      const text = error.wasStopped
        ? `It did not end within ${TIME_LIMIT / 1000} seconds: is there a loop without an end?`
        : error.message;
      this.#showVerdict({ passed: false, text, mistakes: [] }, printed);
    } finally {
      clearTimeout(timer);
      this.#isChecking = false;
      this.checkButton?.removeAttribute("aria-disabled");
    }
  }

  #show({ error, grade }: Outcome, printed: string) {
    if (grade) return this.#showVerdict(grade, printed);
    const line = error?.line ? ` in line ${error.line}` : "";
    const isPlaceholder = error?.message.includes("___");
    const text = isPlaceholder
      ? "Replace ___ by your own code first."
      : `The code fails${line} with ${error?.name}: ${error?.message}`;
    this.#showVerdict({ passed: false, text, mistakes: [] }, printed);
  }

  #showVerdict({ passed, text, detail }: Grade, printed: string) {
    this.element.dataset.verdict = passed ? "right" : "wrong";
    this.verdict.replaceChildren(
      toDom(h("p", {}, icon(passed ? "check" : "cross"), h("span", {}, text))),
    );
    const texts: [string, string | undefined][] = [
      ["The first test that differs", detail],
      ["What the code printed", printed || undefined],
    ];
    for (const [label, content] of texts) {
      if (content === undefined) continue;
      this.verdict.append(
        toDom(h("pre", { tabindex: 0, role: "region", "aria-label": label }, content)),
      );
    }
    this.verdict.hidden = false;
    this.solution.hidden = false;
    this.announce(`${this.label}: ${text}`);
    makeScrollable(this.element);
    if (!passed) return;
    keepSolved(this.id);
    this.onSolved();
  }
}
