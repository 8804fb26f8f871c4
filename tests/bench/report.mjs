// The results of a run as tables for the terminal.

import { LIMITS } from "./limits/limits.mjs";
import { isMet, targetsOf } from "./targets.mjs";

/** Three significant digits, the precision of a measurement. */
export function shown(value) {
  if (value === undefined) return "";
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1).replace(/\.0$/, "");
  return value.toPrecision(2);
}

/** A ratio in percent. */
export const percent = (ratio) => (ratio === undefined ? "" : `${Math.round(100 * ratio)} %`);

/** A Markdown table: the first column aligned to the left, all others to the right. */
export function table(header, rows) {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(3, ...all.map((row) => row[column].length)));
  const line = (row) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(" | ")} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`;
  return [line(header), rule, ...rows.map(line)].join("\n");
}

/** Sizes before and after each case, and the growth in units of the weight. */
function memoryTable(cases) {
  const shownMiB = (bytes) => (bytes / 2 ** 20).toFixed(0);
  return table(
    ["", "weight", "process before", "after", "peak", "heap before", "after", "growth", ""],
    cases.map(({ title, mebibytes, before, after, peak, most }) => {
      const growth = (peak - before.process) / 2 ** 20 / mebibytes;
      return [
        title,
        String(mebibytes),
        ...[before.process, after.process, peak, before.heap, after.heap].map(shownMiB),
        `${growth.toFixed(2)} ≤ ${most}`,
        growth <= most ? "" : "missed",
      ];
    }),
  );
}

/** All measurements by engine: value, spread and ratio to the limit. */
export function overview({ machine, engines, memory }) {
  const parts = [`${machine.cpu}, ${machine.cores} cores; ${machine.features.join(" ")}`];
  if (memory) parts.push("## Memory, in MiB", memoryTable(memory));
  for (const { engine, flags, auto, limits, results, unavailable } of engines) {
    parts.push(`## ${[engine, ...(flags ?? [])].join(" ")}`);
    if (auto) parts.push(`The default: build ${auto.build}, kernels ${auto.kernels}.`);
    parts.push(
      table(
        ["limit", "value", "form"],
        Object.entries(limits).map(([name, { value, unit, by }]) => [
          LIMITS[name].title,
          `${shown(value)} ${unit}`,
          by,
        ]),
      ),
    );
    for (const title of new Set(results.map((result) => result.case))) {
      const rows = results
        .filter((result) => result.case === title)
        .map(
          ({
            name,
            value,
            unit,
            low,
            high,
            ratio,
            bestRatio,
            ratioToRoof,
            isCold,
            loop,
            check,
            limit,
          }) => [
            name,
            check.problem ? "WRONG" : `${shown(value)} ${unit}`,
            value === undefined ? "" : `${shown(low)}–${shown(high)}`,
            ratio === undefined
              ? ""
              : limit
                ? `${percent(ratio)} of ${limit}`
                : `${shown(ratio)} ×`,
            percent(bestRatio),
            isCold || loop ? percent(ratioToRoof) : "",
          ],
        );
      const header = ["", "median", "quartiles", "ratio", "fastest", "of the roof"];
      // Leave out empty columns.
      const kept = header.map((_, i) => i < 4 || rows.some((row) => row[i] !== ""));
      const keep = (row) => row.filter((_, i) => kept[i]);
      parts.push(`### ${title}`, table(keep(header), rows.map(keep)));
    }
    const targets = targetsOf({ results });
    if (targets.length > 0) {
      const met = targets.filter(isMet).length;
      parts.push(
        `### Targets: ${met} of ${targets.length} are met`,
        table(
          ["", "needed", "median", "fastest", ""],
          targets.map((target) => [
            target.title,
            `${target.isCost ? "≤" : "≥"} ${target.needed}`,
            target.measured.toFixed(2),
            target.fastest?.toFixed(2) ?? "",
            isMet(target) ? "" : "missed",
          ]),
        ),
      );
    }
    if (unavailable.length > 0) {
      parts.push(
        `### Unavailable`,
        unavailable.map(({ name, reason }) => `* ${name}: ${reason}`).join("\n"),
      );
    }
  }
  return parts.join("\n\n");
}
