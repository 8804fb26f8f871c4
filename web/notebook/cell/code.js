// The code of a cell or an exercise: static text, until an editor takes its place.

import { wasTab } from "./last-key.js";

/**
 * @typedef {Omit<import("./editor.js").EditorOptions, "parent" | "source">} EditorActions
 * @typedef {typeof import("./editor.js")} EditorModule
 */

export class Code {
  #source;
  /** @type {number | undefined} */
  #markedLine;
  /** The place of the last press, where the editor puts its cursor. @type {{ x: number, y: number } | undefined} */
  #pressedAt;
  /** @type {import("@codemirror/view").EditorView | undefined} */
  #view;
  /** @type {EditorModule | undefined} */
  #editor;
  /** @type {Promise<void> | undefined} */
  #loading;

  /**
   * @param {HTMLElement} element  holds the static `pre` and its `code`
   * @param {EditorActions} actions
   */
  constructor(element, actions) {
    this.element = element;
    this.actions = actions;
    this.#source = this.#static?.textContent ?? "";
    element.addEventListener("pointerdown", ({ clientX, clientY }) => {
      this.#pressedAt = { x: clientX, y: clientY };
    });
    element.addEventListener("focusin", () => this.#edit());
  }

  get #static() {
    return this.element.querySelector("code");
  }

  get source() {
    return this.#source;
  }

  /** Shows another source, without `onChange`. */
  set source(source) {
    this.#source = source;
    this.#markedLine = undefined;
    const code = this.#static;
    if (code) code.textContent = source;
    if (this.#view) this.#editor?.setSource(this.#view, source);
  }

  /** @param {number | undefined} line  from 1 on; undefined marks none */
  mark(line) {
    this.#markedLine = line;
    if (this.#view) this.#editor?.markFailedLine(this.#view, line);
  }

  /** Puts the editor in the place of the static code, once. */
  #edit() {
    this.#loading ??= this.#createEditor().catch(() => {
      // Without the editor the code still runs; the next attempt may succeed.
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async focus() {
    await this.#edit();
    (this.#view ?? this.element.querySelector("pre"))?.focus();
  }

  async #createEditor() {
    const editor = await import("./editor.js");
    const hadFocus = this.element.contains(document.activeElement);
    const host = document.createElement("div");
    host.className = "editor";
    const view = editor.createEditor({
      ...this.actions,
      parent: host,
      source: this.#source,
      onChange: (source) => {
        if (source === this.#source) return;
        this.#source = source;
        this.#markedLine = undefined;
        this.actions.onChange(source);
      },
    });
    this.element.replaceChildren(host);
    this.#editor = editor;
    this.#view = view;
    editor.markFailedLine(view, this.#markedLine);
    if (!hadFocus) return;
    view.focus();
    const anchor = !wasTab() && this.#pressedAt && view.posAtCoords(this.#pressedAt);
    if (typeof anchor === "number") view.dispatch({ selection: { anchor } });
  }
}
