// The code of a cell or an exercise: static text, until an editor takes its place.

import type { EditorView } from "@codemirror/view";
import { countText } from "../../shell/drawing/numbers.js";
import type { EditorOptions } from "./editor.js";
import { wasTab } from "./last-key.js";

type EditorActions = Omit<EditorOptions, "parent" | "source" | "onTooLong">;

type EditorModule = typeof import("./editor.js");

export class Code {
  element: HTMLElement;
  actions: EditorActions;
  #source;
  #markedLine: number | undefined;
  /** The place of the last press, where the editor puts its cursor. */
  #pressedAt: { x: number; y: number } | undefined;
  #view: EditorView | undefined;
  #editor: EditorModule | undefined;
  #loading: Promise<void> | undefined;
  #tooLong: HTMLElement | undefined;

  /** @param element  holds the static `pre` and its `code` */
  constructor(element: HTMLElement, actions: EditorActions) {
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

  /** @param line  from 1 on; undefined marks none */
  mark(line: number | undefined) {
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
        this.#tooLong?.remove();
        this.actions.onChange(source);
      },
      onTooLong: (length) => this.#sayTooLong(length, editor.CODE_LIMIT),
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

  /** Says below the code, until that changes, that a text was too long for it. */
  #sayTooLong(length: number, limit: number) {
    this.#tooLong?.remove();
    this.#tooLong = document.createElement("p");
    this.#tooLong.className = "code-too-long";
    this.#tooLong.role = "alert";
    this.#tooLong.textContent = `Not pasted: the code would have ${countText(length)} characters, and takes at most ${countText(limit)}.`;
    this.element.append(this.#tooLong);
  }
}
