// One exercise on the page: its code, the check, the hints and the solution.

import { icon } from "../../shell/drawing/icons.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { makeScrollable } from "../../shell/scrollable.js";
import { iconButton } from "../button.js";
import { Code } from "../cell/code.js";
import { keepSource, keptSource } from "../edits.js";
import { KernelGone } from "../kernel.js";
import { keepSolved } from "./progress.js";

const TIME_LIMIT = 10_000; // milliseconds of a check
const OUTPUT_LIMIT = 2000; // characters of printed text that are shown

/**
 * @typedef {object} Surroundings
 * @property {import("../kernel.js").Kernel} kernel
 * @property {(message: string) => void} announce
 * @property {() => void} onSolved
 */

export class Exercise {
  #isChecking = false;

  /**
   * @param {HTMLElement} element
   * @param {Surroundings} surroundings
   */
  constructor(element, { kernel, announce, onSolved }) {
    this.element = element;
    this.kernel = kernel;
    this.announce = announce;
    this.onSolved = onSolved;
    this.id = element.dataset.exercise ?? "";
    this.label = element.getAttribute("aria-label") ?? "";
    this.code = new Code(this.#find(".exercise-code"), {
      label: `Code of ${this.label}`,
      onChange: () => this.#keepSource(),
      onRun: () => this.check(),
      onRunAndAdvance: () => this.check(),
    });
    this.verdict = this.#find(".exercise-verdict");
    this.state = this.#find(".exercise-state");
    this.hints = /** @type {NodeListOf<HTMLDetailsElement>} */ (
      element.querySelectorAll(".exercise-hint")
    );
    this.solution = /** @type {HTMLDetailsElement} */ (this.#find(".exercise-solution"));
    this.originalSource = this.source;
    const kept = keptSource(element.id, this.originalSource);
    if (kept !== this.source) this.code.source = kept;
    this.#addButtons();
    this.#holdHelpBack();
  }

  get source() {
    return this.code.source;
  }

  /** @param {string} selector */
  #find(selector) {
    return /** @type {HTMLElement} */ (this.element.querySelector(selector));
  }

  #addButtons() {
    const tools = this.#find(".exercise-tools");
    this.checkButton = this.#button("check", "Check", "check");
    this.checkButton.classList.add("primary");
    this.checkButton.addEventListener("click", () => this.check());
    this.resetButton = this.#button("reset-exercise", "Start again", "reset");
    this.resetButton.addEventListener("click", () => this.#reset());
    this.resetButton.hidden = this.source === this.originalSource;
    tools.append(this.resetButton, this.checkButton);
    tools.hidden = false;
  }

  /**
   * @param {string} action
   * @param {string} text
   * @param {string} iconName
   */
  #button(action, text, iconName) {
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

  /** @param {boolean} isSolved */
  showSolved(isSolved) {
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

  /**
   * @param {import("../kernel.js").Outcome} outcome
   * @param {string} printed
   */
  #show({ error, grade }, printed) {
    if (grade) return this.#showVerdict(grade, printed);
    const line = error?.line ? ` in line ${error.line}` : "";
    const isPlaceholder = error?.message.includes("___");
    const text = isPlaceholder
      ? "Replace ___ by your own code first."
      : `The code fails${line} with ${error?.name}: ${error?.message}`;
    this.#showVerdict({ passed: false, text, mistakes: [] }, printed);
  }

  /**
   * @param {import("./grade.js").Grade} grade
   * @param {string} printed
   */
  #showVerdict({ passed, text, detail }, printed) {
    this.element.dataset.verdict = passed ? "right" : "wrong";
    this.verdict.replaceChildren(
      toDom(h("p", {}, icon(passed ? "check" : "cross"), h("span", {}, text))),
    );
    /** @type {[string, string | undefined][]} */
    const texts = [
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
