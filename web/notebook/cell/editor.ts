// The editor of one cell: CodeMirror, in a shadow root, loaded when the first cell comes into view.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import {
  bracketMatching,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { EditorState, StateEffect, type StateEffectType, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, keymap } from "@codemirror/view";
import { lengthOf } from "../../shell/long-texts.js";
import { highlightStyle } from "./highlight.js";
import { forgetTab, wasTab } from "./last-key.js";

/** Characters that an editor takes: all of its text is read at each change, and kept in the browser. */
export const CODE_LIMIT = 100_000;

export interface EditorOptions {
  parent: HTMLElement;
  source: string;
  /** How screen readers name the editor. */
  label: string;
  onChange: (source: string) => void;
  /** A text was not taken, which would have made the code this long. */
  onTooLong: (length: number) => void;
  /** Run in place. */
  onRun: () => void;
  /** Run and go to the next cell. */
  onRunAndAdvance: () => void;
}

export function createEditor(options: EditorOptions): EditorView {
  const { parent, source, label, onChange, onTooLong, onRun, onRunAndAdvance } = options;
  // CodeMirror adds its styles to a document as an inline <style>, which the page's policy forbids.
  // In a shadow root it uses constructed style sheets.
  const root = parent.attachShadow({ mode: "open" });
  const run = (action: () => void) => () => {
    action();
    return true;
  };
  const refuseLong = (event: ClipboardEvent | DragEvent, view: EditorView) => {
    const { from, to } = view.state.selection.main;
    const length = view.state.doc.length - (to - from) + lengthOf(event);
    if (length <= CODE_LIMIT) return false;
    event.preventDefault();
    onTooLong(length);
    return true;
  };
  // After focus by Tab, another Tab moves on until the code changes, instead of editing the code.
  let isPassing = false;
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: source,
      extensions: [
        keymap.of([
          { key: "Shift-Enter", run: run(onRunAndAdvance) },
          { key: "Mod-Enter", run: run(onRun) },
          { key: "Ctrl-Enter", run: run(onRun) }, // on a Mac, Mod is Cmd
          // Tab indents; after Escape it moves on, until the editor is entered again.
          { key: "Escape", run: leaveTabAlone },
          indentWithTab,
          ...defaultKeymap,
          ...historyKeymap,
        ]),
        history(),
        drawSelection(),
        bracketMatching(),
        indentOnInput(),
        indentUnit.of("  "),
        javascript(),
        syntaxHighlighting(highlightStyle),
        failedLine,
        theme,
        matchMedia("(max-width: 40rem)").matches ? EditorView.lineWrapping : [],
        EditorView.contentAttributes.of({
          "aria-label": label,
          tabindex: "0",
          "aria-description":
            "Tab indents once the code was changed; Escape, then Tab, leaves the editor.",
        }),
        EditorView.domEventHandlers({
          focus(_, view) {
            isPassing = wasTab();
            view.setTabFocusMode(isPassing);
          },
          pointerdown(_, view) {
            isPassing = false;
            view.setTabFocusMode(false);
          },
          beforeinput: replaceSelection,
          paste: refuseLong,
          drop: refuseLong,
        }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          if (isPassing) update.view.setTabFocusMode(false);
          isPassing = false;
          // The editor also gets the focus when the window does, after a Tab that indented.
          forgetTab();
          onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return view;
}

/**
 * Typing over a selection, done here: left to it, Chromium keeps the colours of the replaced text as an
 * inline style, which the page's policy forbids.
 */
function replaceSelection(event: InputEvent, view: EditorView) {
  const { inputType, data, isComposing } = event;
  if (inputType !== "insertText" || !data || isComposing) return false;
  if (view.state.selection.main.empty) return false;
  view.dispatch(view.state.replaceSelection(data), {
    userEvent: "input.type",
    scrollIntoView: true,
  });
  event.preventDefault();
  return true;
}

function leaveTabAlone(view: EditorView) {
  view.setTabFocusMode(true);
  return false;
}

/** Replaces the text, as one step that can be undone. */
export function setSource(view: EditorView, source: string) {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: source } });
}

const setFailedLine: StateEffectType<number | undefined> = StateEffect.define();

/** The line that an error named, until the code is another. */
const failedLine = StateField.define({
  create: () => Decoration.none,
  update(marks, { docChanged, effects, state }) {
    const effect = effects.find((each) => each.is(setFailedLine));
    if (!effect) return docChanged ? Decoration.none : marks;
    const line = effect.value;
    if (!line || line > state.doc.lines) return Decoration.none;
    const { from } = state.doc.line(line);
    return Decoration.set([Decoration.line({ class: "cm-failed-line" }).range(from)]);
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** @param line  counted from 1; none takes the mark away */
export function markFailedLine(view: EditorView, line: number | undefined) {
  view.dispatch({ effects: setFailedLine.of(line) });
}

// The same metrics as the static code that the editor replaces: nothing may jump.
const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "transparent", fontSize: "inherit" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": {
    fontFamily: "inherit",
    lineHeight: "inherit",
    overflowX: "auto",
    overflowY: "hidden",
    // As in base.css: a shade at an edge with more of a line behind it. Two pixels are the outline's.
    background: [
      "linear-gradient(90deg, var(--under) 40%, transparent) 2px 2px / 2rem calc(100% - 4px) no-repeat local",
      "linear-gradient(-90deg, var(--under) 40%, transparent) calc(100% - 2px) 2px / 2rem calc(100% - 4px) no-repeat local",
      "linear-gradient(90deg, var(--shade), transparent) 2px 2px / 0.8rem calc(100% - 4px) no-repeat scroll",
      "linear-gradient(-90deg, var(--shade), transparent) calc(100% - 2px) 2px / 0.8rem calc(100% - 4px) no-repeat scroll",
    ].join(", "),
  },
  ".cm-content": { padding: "var(--code-padding) 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 var(--code-padding)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)", borderLeftWidth: "2px" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    background: "var(--selection) !important",
  },
  // The selection is drawn below it.
  ".cm-failed-line": { backgroundColor: "color-mix(in srgb, var(--bad) 12%, transparent)" },
  "@media (forced-colors: active)": {
    ".cm-failed-line": { outline: "1px dashed", outlineOffset: "-1px" },
  },
  "@media print": {
    ".cm-content": { flexShrink: "1", overflowWrap: "anywhere", whiteSpace: "pre-wrap" },
    ".cm-cursorLayer, .cm-selectionLayer": { display: "none" },
  },
  "&.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--selection)",
    outline: "1px solid var(--rule-strong)",
  },
});
