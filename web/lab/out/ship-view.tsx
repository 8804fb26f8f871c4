// Writes the quantized file: to a place the reader chooses, or through the browser's private file system.

import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Facts } from "../../shell/drawing/facts.js";
import { memo } from "../../shell/drawing/hooks.js";
import { bytesText, nounText } from "../../shell/drawing/numbers.js";
import { formatText, metricWithUnit, plainNumber } from "../format.js";
import type { Header } from "../model/commands.js";
import { quantize } from "../model/write.js";
import { outputName } from "../names.js";
import { Button, Choice } from "../show/parts.js";
import type { Planned } from "../show/plan-view.js";
import { Job, ProgressBar } from "../show/progress.js";
import { type Output, TARGETS } from "./output.js";

type Result = Awaited<ReturnType<typeof quantize>>;

/** A method of the window in Chromium. */
type Picker = (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;

/** The writing of files, and what is said about the last ones. */
export class Writing extends Job<Result> {
  /** Whether both models are run. */
  runs = false;

  /**
   * @param name  of the model's file
   * @param onStart  called when the place is chosen
   */
  async write(
    name: string,
    { plan, files }: Planned,
    { format, target }: Output,
    onStart: () => void,
  ) {
    const runs = this.runs && format === "onnx";
    try {
      // The picker opens in the click itself: browsers refuse it later.
      const handles = await pickFile(outputName(name, format, files.length), files.length);
      onStart();
      this.show(undefined);
      const job = { choice: plan, format, target, runs, ...(handles && { handles }) };
      this.show(await quantize(job, this.progress.start()));
    } catch (error) {
      const { name, message } = error as Error;
      this.show(name === "AbortError" ? "Stopped: nothing was kept." : message);
    } finally {
      this.progress.end();
    }
  }
}

/**
 * Asks where to save; undefined where the browser has no picker, and for outputs of several files, which refer to each
 * other by their names: shards, and checkpoints with their config.json.
 * @param count  of files
 */
async function pickFile(suggestedName: string, count: number) {
  const picker: Picker | undefined = Reflect.get(window, "showSaveFilePicker");
  return picker && count === 1 ? [await picker.call(window, { suggestedName })] : undefined;
}

interface Props {
  writing: Writing;
  /** The opened model. */
  header: Header;
  output: Output;
  isReady: boolean;
  onChoice: (choice: { format: string; target: string }) => void;
  onWrite: () => void;
}

export function ShipView({ writing, header, output, isReady, onChoice, onWrite }: Props) {
  const { progress, result } = writing;
  const button = useRef<HTMLButtonElement>(null);
  const written = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (result) writing.announce(written.current?.textContent ?? "");
  }, [result]);
  const { chosen, format, target } = output;
  return (
    <>
      <div class="lab-controls">
        <Choice
          label="Format"
          name="format"
          value={chosen}
          onChoose={(format) => onChoice({ format, target: "" })}
        >
          <option value="">as the model</option>
          {Object.keys(TARGETS).map((name) => (
            <option value={name} disabled={name === "onnx" && header.format !== "onnx"}>
              {formatText(name)}
            </option>
          ))}
        </Choice>
        <Choice
          label="For"
          name="target"
          value={target}
          onChoose={(target) => onChoice({ format: chosen, target })}
        >
          {TARGETS[format].map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </Choice>
        <label class="lab-runs" hidden={format !== "onnx"}>
          <input
            type="checkbox"
            name="runs"
            onChange={({ currentTarget }) => {
              writing.runs = currentTarget.checked;
            }}
          />
          <span>Compare outputs in ONNX Runtime Web (loads 14 MB)</span>
        </label>
        <Button
          action="write"
          class="button primary"
          ref={button}
          disabled={!isReady}
          onClick={onWrite}
        >
          Write the file
        </Button>
      </div>
      <ProgressBar
        class="lab-write-progress"
        progress={progress}
        onFocusLost={() => button.current?.focus()}
      />
      <div ref={written} class="lab-written" role="status">
        {typeof result === "object" ? (
          <Written result={result} name={outputName(header.name, format, 1)} />
        ) : (
          result
        )}
      </div>
    </>
  );
}

/** name: of a single file; several refer to each other by theirs. */
const Written = memo(({ result, name }: { result: Result; name: string }) => {
  const { report, verified, inputs, names, files, answers } = result;
  const { rows, outputs = [], notes } = report;
  const { tensors, problems, largest } = verified;
  const kept = rows.filter(({ scheme }) => scheme === "keep").length;
  return (
    <>
      <p>
        <strong>
          {bytesText(report.bytesBefore)} became {bytesText(report.bytesAfter)}.{" "}
        </strong>
        {nounText(rows.length - kept, "tensor")} quantized, {kept} kept.{" "}
        {files.length < names.length && `Saved as ${names[0]}. `}
        {tensors - problems.length} of {nounText(tensors, "tensor")} read again; the largest
        difference from the original is {plainNumber(largest)}.
      </p>
      {problems.length > 0 && (
        <ul class="cell-error">
          {problems.slice(0, 20).map((text) => (
            <li>{text}</li>
          ))}
        </ul>
      )}
      {outputs.length > 0 && (
        <>
          <p>
            The original and the quantized model in ONNX Runtime Web, both on {inputsText(inputs)}:
          </p>
          <ul>
            {outputs.map(({ name, max, sqnr }) => (
              <li>
                <code>{name}</code>: largest difference {plainNumber(max)},{" "}
                {metricWithUnit("sqnr", sqnr)}
              </li>
            ))}
            {answers.map((each) => (
              <li>{answerText(each)}</li>
            ))}
          </ul>
        </>
      )}
      {notes.length > 0 && (
        <ul>
          {notes.map((note) => (
            <li>{note}</li>
          ))}
        </ul>
      )}
      <details>
        <summary>All tensors</summary>
        <Facts
          titles={["Tensor", "Scheme", "Before", "After", "Reason"]}
          texts={["Scheme", "Reason"]}
        >
          {rows.slice(0, 1000).map((row) => (
            <tr>
              <th scope="row">{row.name}</th>
              <td class="is-text">{row.scheme}</td>
              <td>{bytesText(row.bytesBefore)}</td>
              <td>{bytesText(row.bytesAfter)}</td>
              <td class="is-text">{row.reason}</td>
            </tr>
          ))}
        </Facts>
      </details>
      {files.map((file) => (
        <Download file={file} name={names.length === 1 ? name : file.name} />
      ))}
    </>
  );
});

/** A link for a file in the private file system. */
function Download({ file, name }: { file: File; name: string }) {
  const href = useMemo(() => URL.createObjectURL(file), [file]);
  useEffect(() => () => URL.revokeObjectURL(href), [href]);
  return (
    <p>
      <a class="button primary" href={href} download={name}>
        Download {name} ({bytesText(file.size)})
      </a>
    </p>
  );
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

/** @param answers  of compareAnswers */
const answerText = ({ same, right }: { same: number; right?: number[] }) =>
  [
    right && `right answers: ${percent(right[0])} before, ${percent(right[1])} quantized; `,
    `the same answer, the class of the largest score, for ${percent(same)} of the inputs`,
  ]
    .filter(Boolean)
    .join("");

/** @param given  names of inputs that were dropped */
const inputsText = (given: readonly string[]) =>
  given.length > 0 ? `the inputs that you added (${given.join(", ")})` : "the same random inputs";
