// Reports to download, and the same job for the command line.

import { useState } from "preact/hooks";
import type { Plan } from "zeropoint/models";
import { Drawn } from "../../shell/drawing/drawn.js";
import { icon } from "../../shell/drawing/icons.js";
import { keepReachable } from "../../shell/scrollable.js";
import type { Layers } from "../layers.js";
import { stemOf } from "../names.js";
import { Button } from "../show/parts.js";
import type { Output } from "./output.js";
import { commandLine, save, toCsv, toHtmlPage, toJson } from "./report.js";

interface Props {
  layers: Layers;
  plan: Plan;
  output: Output;
  /** Of the command line. */
  job: Omit<Parameters<typeof commandLine>[0], "format" | "target">;
}

export function ReportView({ layers, plan, output: { format, target }, job }: Props) {
  const [isShown, setShown] = useState(false);
  const command = isShown ? commandLine({ ...job, format, target }) : "";
  const base = stemOf(job.name);
  const savePlan = () => {
    const options = { format, ...(target && { target }) };
    save(`${base}-plan.json`, "application/json", toJson({ ...plan, options }));
  };
  const reports = {
    json: () => save(`${base}-analysis.json`, "application/json", toJson(layers.rows)),
    csv: () => save(`${base}-analysis.csv`, "text/csv", toCsv(layers.rows)),
    html: () => {
      const { rows } = layers;
      const kind = rows.some(({ isEstimate, moments }) => isEstimate || moments === "diagonal")
        ? "estimated where isEstimate is true, and of outputs where moments is diagonal"
        : "exact";
      const note = `Error by scheme, ${kind}. It is not the accuracy of the model.`;
      const page = toHtmlPage(`Analysis of ${job.name}`, rows, note);
      save(`${base}-analysis.html`, "text/html", page);
    },
  };
  return (
    <>
      <p class="lab-controls">
        {Object.entries(reports).map(([kind, report]) => (
          <Button data-report={kind} onClick={report}>
            Analysis as {kind.toUpperCase()}
          </Button>
        ))}
        <Button data-report="plan" onClick={savePlan}>
          Plan as JSON
        </Button>
        <Button data-report="command" onClick={() => setShown(true)}>
          Commands for a terminal
        </Button>
      </p>
      {isShown && (
        <>
          <pre class="sample lab-command" ref={keepReachable}>
            {command}
          </pre>
          <Copy key={command} text={command} />
        </>
      )}
    </>
  );
}

function Copy({ text }: { text: string }) {
  const [said, say] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied.");
    } catch {
      say("The browser does not allow copying.");
    }
  };
  return (
    <p class="lab-copy">
      <Button action="copy" onClick={copy}>
        <Drawn trees={icon("copy")} />
        Copy the commands
      </Button>
      <span role="status">{said}</span>
    </p>
  );
}
