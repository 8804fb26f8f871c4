// Code as HTML with the editor's colours as class names.

import { javascriptLanguage } from "@codemirror/lang-javascript";
import { highlightCode, tagHighlighter } from "@lezer/highlight";
import { parser as pythonParser } from "@lezer/python";
import { staticTags } from "../notebook/cell/highlight.js";
import { escapeHtml } from "../shell/drawing/tree.js";

const highlighter = tagHighlighter(
  staticTags.map(({ tag, class: name }) => ({ tag, class: name })),
);

/**
 * Code with the editor's colours as class names.
 * @param {string} code
 * @param {"javascript" | "python"} [language]
 */
export function highlightedHtml(code, language = "javascript") {
  const parser = language === "python" ? pythonParser : javascriptLanguage.parser;
  let html = "";
  highlightCode(
    code,
    parser.parse(code),
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
