// The opened model beside another one: a table, worst tensors first, and reports.

import type { CompareRow } from "zeropoint/models";
import { Facts } from "../../shell/drawing/facts.js";
import { memo } from "../../shell/drawing/hooks.js";
import { FileButton } from "../../shell/file-button.js";
import { metricText, plainNumber, shapeText } from "../format.js";
import { compareWith } from "../model/compare.js";
import type { Given } from "../model/files.js";
import { stemOf } from "../names.js";
import { Button } from "../show/parts.js";
import { Job, ProgressBar, REPLACED } from "../show/progress.js";
import { comparedText, worstFirst } from "../texts.js";
import { COMPARED, save, toCsv, toHtmlPage, toJson } from "./report.js";

/** Rows that are shown; a report has all. */
const MOST_ROWS = 500;

type Compared = { name: string; rows: CompareRow[] };

/** The comparison of the opened model with another one. */
export class Comparison extends Job<Compared> {
  async compare(given: Given) {
    this.show(undefined);
    const run = this.progress.start();
    const isReplaced = () => run.signal.aborted && run.signal.reason.message === REPLACED;
    try {
      const { name, rows } = await compareWith(given, run);
      if (isReplaced()) return;
      this.show({ name, rows: worstFirst(rows) });
      this.announce(comparedText(rows));
    } catch (error) {
      if (isReplaced()) return;
      const { name, message } = error as Error;
      const text = name === "AbortError" ? message : `The files cannot be compared: ${message}`;
      this.show(text);
      this.announce(text);
    }
    this.progress.end();
  }

  /** For another model. */
  reset() {
    this.progress.stop(REPLACED);
    this.progress.end();
    this.show(undefined);
  }
}

interface Props {
  comparison: Comparison;
  /** Of the opened model. */
  name: string;
  onFiles: (files: File[]) => void;
}

export const CompareView = ({ comparison: { progress, result }, name, onFiles }: Props) => (
  <>
    <div class="lab-drop">
      <p>
        <FileButton title="Compare with a file" area=".lab-compare" onFiles={onFiles} /> or drop it
        here: every tensor of both files, dequantized, with the errors of the other file's values.
      </p>
    </div>
    <ProgressBar progress={progress} />
    <div class="compare-result">
      {typeof result === "string" && <p class="cell-error">{result}</p>}
      {typeof result === "object" && <Result {...result} beside={name} />}
    </div>
  </>
);

const Result = memo(({ name, rows, beside }: Compared & { beside: string }) => {
  const text = comparedText(rows);
  const base = `${stemOf(beside)}-${stemOf(name)}-comparison`;
  const title = `${name} beside ${beside}`;
  const reports = {
    json: () => save(`${base}.json`, "application/json", toJson(rows)),
    csv: () => save(`${base}.csv`, "text/csv", toCsv(rows, COMPARED)),
    html: () => save(`${base}.html`, "text/html", toHtmlPage(title, rows, text, COMPARED)),
  };
  return (
    <>
      <p>
        <strong>
          <bdi>{name}</bdi>
        </strong>{" "}
        beside{" "}
        <strong>
          <bdi>{beside}</bdi>
        </strong>
        : {text}
        {rows.length > MOST_ROWS && ` The ${MOST_ROWS} worst are shown.`}
      </p>
      <Facts
        titles={["Tensor", "SQNR in dB", "Largest difference", "Cosine", "Type", "Shape"]}
        texts={["Type"]}
      >
        {rows.slice(0, MOST_ROWS).map((row) => (
          <Line {...row} />
        ))}
      </Facts>
      <p class="lab-controls">
        {Object.entries(reports).map(([kind, report]) => (
          <Button data-compared={kind} onClick={report}>
            Comparison as {kind.toUpperCase()}
          </Button>
        ))}
      </p>
    </>
  );
});

const Line = ({ name, shape, from, to, equal, max, sqnr, cosine, reason }: CompareRow) => (
  <tr>
    <th scope="row">
      <bdi>{name}</bdi>
    </th>
    {reason !== undefined && !equal ? (
      <td class="is-text" colSpan={3}>
        {reason}
      </td>
    ) : (
      <>
        <td>{equal ? "equal" : metricText("sqnr", sqnr)}</td>
        <td>{plainNumber(max)}</td>
        <td>{metricText("cosine", cosine)}</td>
      </>
    )}
    <td class="is-text">{from === to ? from : `${from ?? "–"} → ${to ?? "–"}`}</td>
    <td>{shapeText(shape)}</td>
  </tr>
);
