// Sources of data: a generator, pasted text, or a dropped or chosen file.

import { find } from "../../shell/dom.js";
import { h } from "../../shell/drawing/tree.js";
import type { Asked, Source } from "../state.js";
import { GENERATORS } from "./generate.js";

/** Characters of a text that the page's own field holds without a pause. */
const LONGEST = 100_000;

const EXAMPLE = "[[0.5, -1.25, 3], [2, 0, -0.75]]";

/** Why data cannot be read, with the place in a text. */
export interface Problem extends Error {
  line?: number;
  column?: number;
}

const sentence = ({ name, message }: Problem) =>
  `${message[0].toUpperCase()}${message.slice(1)}${name === "ParseError" ? "." : ""}`;

export function dataTree() {
  const field = (text: string, name: string, min: number, max: number) =>
    h(
      "label",
      { class: "play-field" },
      h("span", {}, text),
      h("input", { type: "number", name, min, max, step: 1, required: true, autocomplete: "off" }),
    );
  return h(
    "section",
    { class: "play-data", "aria-label": "Data" },
    h("h2", {}, "Data"),
    h(
      "form",
      { class: "play-generate", "aria-label": "Generate data" },
      h(
        "label",
        { class: "play-field" },
        h("span", {}, "Generate"),
        h(
          "select",
          { name: "generator" },
          Object.entries(GENERATORS).map(([value, { name }]) => h("option", { value }, name)),
          h("option", { value: "", hidden: true }, "Your data"),
        ),
      ),
      h(
        "div",
        { class: "play-sizes" },
        field("Rows", "rows", 1, 1_000_000),
        field("Columns", "columns", 1, 1_000_000),
        field("Seed", "seed", 0, 2 ** 32),
      ),
    ),
    h(
      "details",
      { class: "play-paste" },
      h("summary", {}, "Paste or drop your own"),
      h(
        "form",
        { "aria-label": "Paste data" },
        h("label", { class: "play-label", for: "play-text" }, "Numbers"),
        h("textarea", {
          id: "play-text",
          name: "text",
          rows: 5,
          spellcheck: "false",
          autocapitalize: "off",
          autocomplete: "off",
          placeholder: EXAMPLE,
          "aria-describedby": "play-text-note play-text-error",
        }),
        h(
          "p",
          { class: "play-note", id: "play-text-note" },
          "JavaScript arrays, Python or NumPy text, or CSV, up to a million values. A long text is used as it is pasted.",
        ),
        h("p", { class: "cell-error", id: "play-text-error", role: "alert", hidden: true }),
        h(
          "p",
          { class: "play-buttons" },
          h("button", { type: "submit", class: "button" }, "Use these numbers"),
          h(
            "label",
            { class: "button play-file" },
            h("input", {
              type: "file",
              class: "visually-hidden",
              accept: ".npy,.npz,.csv,.txt,.json,.safetensors,image/*",
            }),
            "Choose a file …",
          ),
        ),
        h(
          "p",
          { class: "play-note" },
          "Or drop a file anywhere here: .npy, .csv, or an image, whose brightness is read. It stays in your browser.",
        ),
      ),
    ),
  );
}

/** @param view  the target for dropped files */
export function connectData(view: HTMLElement, onSource: (source: Asked) => void) {
  const form = find(view, ".play-generate", HTMLFormElement);
  const paste = find(view, ".play-paste", HTMLDetailsElement);
  const pasteForm = find(paste, "form", HTMLFormElement);
  const text = find(view, "#play-text", HTMLTextAreaElement);
  const error = find(view, "#play-text-error");
  const file = find(view, ".play-file input", HTMLInputElement);
  const sizes = find(view, ".play-sizes");

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    if (!form.checkValidity()) return;
    const { generator, rows, columns, seed } = Object.fromEntries(new FormData(form));
    const [r, c] = [Number(rows), Number(columns)];
    const last = find(form, "[name=columns]", HTMLInputElement);
    last.setCustomValidity(r * c > 1_000_000 ? "A million values at most" : "");
    if (generator === "" || !form.reportValidity()) return;
    onSource({
      kind: "generated",
      generator: String(generator),
      rows: r,
      columns: c,
      seed: Number(seed),
    });
  });
  pasteForm.addEventListener("submit", (event) => {
    event.preventDefault();
    onSource({ kind: "text", text: text.value });
  });
  // A field lays out all of its text: a million lines would stop the page. The worker reads a long text without it.
  text.addEventListener("paste", (event) => {
    const pasted = event.clipboardData?.getData("text/plain") ?? "";
    if (pasted.length <= LONGEST) return;
    event.preventDefault();
    text.value = "";
    onSource({ kind: "text", text: pasted });
  });
  file.addEventListener("change", () => {
    const chosen = file.files?.[0];
    if (chosen) onSource({ kind: "file", file: chosen });
    file.value = ""; // the same file may be chosen again
  });
  view.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    view.dataset.dropping = "";
  });
  view.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && view.contains(relatedTarget)))
      delete view.dataset.dropping;
  });
  view.addEventListener("drop", (event) => {
    delete view.dataset.dropping;
    const dropped = event.dataTransfer?.files[0];
    if (!dropped) return;
    event.preventDefault();
    paste.open = true;
    onSource({ kind: "file", file: dropped });
  });

  return {
    show(source: Source) {
      const isGenerated = source.kind === "generated";
      const values = isGenerated ? source : { generator: "" };
      for (const [name, value] of Object.entries(values)) {
        const control = form.elements.namedItem(name);
        if (control instanceof HTMLInputElement || control instanceof HTMLSelectElement) {
          if (control.value !== String(value)) control.value = String(value);
        }
      }
      sizes.hidden = !isGenerated || source.generator === "course";
      if (!isGenerated) paste.open = true;
      this.showError(undefined);
    },
    showError(problem: Problem | undefined) {
      error.hidden = problem === undefined;
      error.textContent = problem ? sentence(problem) : "";
      text.setAttribute("aria-invalid", String(problem !== undefined));
      if (problem) paste.open = true;
      const { line, column } = problem ?? {};
      if (line === undefined || column === undefined || text.value === "") return;
      // The cursor goes to the place of the error.
      let at = 0;
      for (let i = 1; i < line; i++) at = text.value.indexOf("\n", at) + 1;
      text.focus();
      text.setSelectionRange(at + column - 1, at + column);
    },
  };
}
