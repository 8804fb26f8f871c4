// Reports to download, and the same job for the command line.

import type { AnalysisRow, Plan } from "zeropoint/models";
import { find } from "../../shell/dom.js";
import { icon } from "../../shell/drawing/icons.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import type { Header } from "../model/commands.js";
import { stemOf } from "../names.js";
import { commandLine, save, toCsv, toHtmlPage, toJson } from "./report.js";

/** @param context  count: of files to write */
export function connectReport(
  parent: HTMLElement,
  {
    current,
  }: {
    current: () => {
      header: Header | undefined;
      rows: AnalysisRow[];
      plan: Plan | undefined;
      count: number;
      budget: number | undefined;
      pins: Record<string, string>;
      format: string;
      target: string;
      inputs: string[];
      partly: string[];
    };
  },
) {
  const kinds = ["json", "csv", "html"];
  parent.append(
    toDom(
      h(
        "p",
        { class: "lab-controls" },
        kinds.map((kind) =>
          h(
            "button",
            { type: "button", class: "button", "data-report": kind },
            `Analysis as ${kind.toUpperCase()}`,
          ),
        ),
        h("button", { type: "button", class: "button", "data-report": "plan" }, "Plan as JSON"),
        h(
          "button",
          { type: "button", class: "button", "data-report": "command" },
          "Commands for a terminal",
        ),
      ),
    ),
    toDom(h("pre", { class: "sample lab-command", hidden: true })),
    toDom(
      h(
        "p",
        { class: "lab-copy", hidden: true },
        h(
          "button",
          { type: "button", class: "button", "data-action": "copy" },
          icon("copy"),
          "Copy the commands",
        ),
        h("span", { role: "status" }),
      ),
    ),
  );
  const copy = find(parent, ".lab-copy");
  const copied = find(copy, "span");
  copy.querySelector("button")?.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent ?? "");
      copied.textContent = "Copied.";
    } catch {
      copied.textContent = "The browser does not allow copying.";
    }
  });
  const command = find(parent, ".lab-command");
  const update = () => {
    const { header, rows, plan, budget, ...job } = current();
    if (command.hidden || !header) return;
    command.textContent = commandLine({ name: header.name, budget: budget ?? header.size, ...job });
    copied.textContent = "";
  };
  parent.addEventListener("click", ({ target }) => {
    const kind = (target as Element).closest("[data-report]")?.getAttribute("data-report");
    const { header, rows, plan, budget, ...job } = current();
    if (!kind || !header) return;
    const base = stemOf(header.name);
    if (kind === "command") {
      command.hidden = false;
      copy.hidden = false;
      update();
    } else if (kind === "plan")
      save(`${base}-plan.json`, "application/json", toJson({ ...plan, options: optionsOf(job) }));
    else if (kind === "json") save(`${base}-analysis.json`, "application/json", toJson(rows));
    else if (kind === "csv") save(`${base}-analysis.csv`, "text/csv", toCsv(rows));
    else {
      const kind = rows.some(({ isEstimate, moments }) => isEstimate || moments === "diagonal")
        ? "estimated where isEstimate is true, and of outputs where moments is diagonal"
        : "exact";
      const note = `Error by scheme, ${kind}. It is not the accuracy of the model.`;
      save(
        `${base}-analysis.html`,
        "text/html",
        toHtmlPage(`Analysis of ${header.name}`, rows, note),
      );
    }
  });

  /** For another plan: the commands that are shown become its commands. */
  return { update };
}

/** The output that a plan is for, as `zeropoint quantize --plan` reads it. */
const optionsOf = ({ format, target }: { format: string; target: string }) => ({
  format,
  ...(target && { target }),
});
