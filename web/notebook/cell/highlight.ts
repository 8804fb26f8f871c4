// One set of colours for code: static in the page, live in the editor.

import { HighlightStyle } from "@codemirror/language";
import { type Tag, tags } from "@lezer/highlight";

const kinds: [string, Tag[]][] = [
  ["keyword", [tags.keyword, tags.modifier, tags.operatorKeyword, tags.controlKeyword]],
  ["string", [tags.string, tags.special(tags.string), tags.regexp]],
  ["number", [tags.number, tags.bool, tags.null, tags.atom]],
  ["comment", [tags.comment]],
  [
    "definition",
    [tags.definition(tags.variableName), tags.function(tags.definition(tags.variableName))],
  ],
  ["call", [tags.function(tags.variableName), tags.function(tags.propertyName)]],
];

export const highlightStyle = HighlightStyle.define(
  kinds.map(([kind, tag]) => ({
    tag,
    color: `var(--token-${kind})`,
    ...(kind === "comment" ? { fontStyle: "italic" } : {}),
  })),
);

/** The same tags as class names, for code in static HTML. */
export const staticTags = kinds.map(([kind, tag]) => ({ tag, class: `token-${kind}` }));
