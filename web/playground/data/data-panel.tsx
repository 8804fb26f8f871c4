// Sources of data: a generator, pasted text, or a dropped or chosen file.

import type { TargetedClipboardEvent, TargetedEvent, TargetedSubmitEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { find } from "../../shell/dom.js";
import { memo } from "../../shell/drawing/hooks.js";
import { FileButton } from "../../shell/file-button.js";
import { Field, NumberField } from "../fields.js";
import { type Asked, FIRST_SOURCE, type Source } from "../state.js";
import { GENERATORS } from "./generate.js";

/** Characters of a text that the page's own field holds without a pause. */
const LONGEST = 100_000;

const MOST = 1_000_000; // values

const EXAMPLE = "[[0.5, -1.25, 3], [2, 0, -0.75]]";

/** Why data cannot be read, with the place in a text. */
export interface Problem extends Error {
  line?: number;
  column?: number;
}

const sentence = ({ name, message }: Problem) =>
  `${message[0].toUpperCase()}${message.slice(1)}${name === "ParseError" ? "." : ""}`;

interface Props {
  source: Source;
  problem: Problem | undefined;
  onSource: (source: Asked) => void;
}

export const DataPanel = memo(({ source, problem, onSource }: Props) => (
  <section class="play-data" aria-label="Data">
    <h2>Data</h2>
    <Generate source={source} onSource={onSource} />
    <Paste source={source} problem={problem} onSource={onSource} />
  </section>
));

function Generate({ source, onSource }: Omit<Props, "problem">) {
  /** Returns when a generator is chosen in the place of given data. */
  const last = useRef(FIRST_SOURCE);
  if (source.kind === "generated") last.current = source;
  const { rows, columns, seed } = last.current;
  const read = ({ currentTarget: form }: TargetedEvent<HTMLFormElement>) => {
    const field = find(form, "[name=columns]", HTMLInputElement);
    field.setCustomValidity("");
    if (!form.checkValidity()) return;
    const given = new FormData(form);
    const [generator, ...numbers] = ["generator", "rows", "columns", "seed"].map((name) =>
      String(given.get(name)),
    );
    const [r, c, s] = numbers.map(Number);
    if (r * c > MOST) field.setCustomValidity("A million values at most");
    if (generator === "" || !form.reportValidity()) return;
    onSource({ kind: "generated", generator, rows: r, columns: c, seed: s });
  };
  const generator = source.kind === "generated" ? source.generator : "";
  const number = { min: 1, max: MOST, step: 1, required: true };
  return (
    <form
      class="play-generate"
      aria-label="Generate data"
      onSubmit={(event) => event.preventDefault()}
      onInput={read}
    >
      <Field text="Generate">
        <select name="generator" value={generator}>
          {Object.entries(GENERATORS).map(([value, { name }]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
          <option value="" hidden>
            Your data
          </option>
        </select>
      </Field>
      <div class="play-sizes" hidden={generator === "" || generator === "course"}>
        <NumberField text="Rows" name="rows" value={rows} {...number} />
        <NumberField text="Columns" name="columns" value={columns} {...number} />
        <NumberField text="Seed" name="seed" value={seed} {...number} min={0} max={2 ** 32} />
      </div>
    </form>
  );
}

function Paste({ source, problem, onSource }: Props) {
  const details = useRef<HTMLDetailsElement>(null);
  const text = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (details.current && (problem || source.kind === "given")) details.current.open = true;
  }, [source, problem]);
  // The cursor goes to the place of the error.
  useLayoutEffect(() => {
    const field = text.current;
    const { line, column } = problem ?? {};
    if (!field?.value || line === undefined || column === undefined) return;
    let at = 0;
    for (let i = 1; i < line; i++) at = field.value.indexOf("\n", at) + 1;
    field.focus();
    field.setSelectionRange(at + column - 1, at + column);
  }, [problem]);
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    onSource({ kind: "text", text: text.current?.value ?? "" });
  };
  // A field lays out all of its text: a million lines would stop the page. The worker reads a long text without it.
  const paste = (event: TargetedClipboardEvent<HTMLTextAreaElement>) => {
    const pasted = event.clipboardData?.getData("text/plain") ?? "";
    if (pasted.length <= LONGEST) return;
    event.preventDefault();
    event.currentTarget.value = "";
    onSource({ kind: "text", text: pasted });
  };
  return (
    <details class="play-paste" ref={details}>
      <summary>Paste or drop your own</summary>
      <form aria-label="Paste data" onSubmit={submit}>
        <label class="play-label" for="play-text">
          Numbers
        </label>
        <textarea
          ref={text}
          id="play-text"
          name="text"
          rows={5}
          spellcheck={false}
          autocapitalize="off"
          autocomplete="off"
          placeholder={EXAMPLE}
          aria-describedby="play-text-note play-text-error"
          aria-invalid={problem !== undefined}
          onPaste={paste}
        />
        <p class="play-note" id="play-text-note">
          JavaScript arrays, Python or NumPy text, or CSV, up to a million values. A long text is
          used as it is pasted.
        </p>
        <p class="cell-error" id="play-text-error" role="alert" hidden={!problem}>
          {problem && sentence(problem)}
        </p>
        <p class="play-buttons">
          <button type="submit" class="button">
            Use these numbers
          </button>
          <FileButton
            title="Choose a file …"
            area="#play"
            multiple={false}
            accept=".npy,.npz,.csv,.txt,.json,.safetensors,image/*"
            onFiles={([file]) => onSource({ kind: "file", file })}
          />
        </p>
        <p class="play-note">
          Or drop a file anywhere here: .npy, .csv, or an image, whose brightness is read. It stays
          in your browser.
        </p>
      </form>
    </details>
  );
}
