// Code as HTML with the editor's colours as class names.

import { javascriptLanguage } from "@codemirror/lang-javascript";
import { highlightCode, tagHighlighter } from "@lezer/highlight";
import { staticTags } from "../notebook/cell/highlight.js";
import { escapeHtml } from "../shell/drawing/tree.js";

const highlighter = tagHighlighter(
  staticTags.map(({ tag, class: name }) => ({ tag, class: name })),
);

/**
 * Code with the editor's colours as class names.
 * @param {string} code
 */
export function highlightedHtml(code) {
  let html = "";
  highlightCode(
    code,
    javascriptLanguage.parser.parse(code),
    highlighter,
    (text, classes) => {
      const escaped = escapeHtml(text);
      html += classes ? `<span class="${classes}">${escaped}</span>` : escaped;
    },
    () => {
      html += "\n";
    },
  );
  return html;
}
