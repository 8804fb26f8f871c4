// What was measured, as text: tables for the terminal, the README and the page, and a plot.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure, root } from "../../scripts/run.mjs";
import { LIMITS } from "./limits/limits.mjs";
import { isMet, targetsOf } from "./targets.mjs";

/** Three digits say all that a measurement can. */
export function shown(value) {
  if (value === undefined) return "";
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1).replace(/\.0$/, "");
  return value.toPrecision(2);
}

const percent = (ratio) => (ratio === undefined ? "" : `${Math.round(100 * ratio)} %`);

/** Rows of text as a Markdown table, columns aligned; numbers to the right. */
function table(header, rows) {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(3, ...all.map((row) => row[column].length)));
  const line = (row) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(" | ")} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`;
  return [line(header), rule, ...rows.map(line)].join("\n");
}

/** Everything measured, engine by engine: value, spread and ratio to its limit. */
export function overview({ engines }) {
  const parts = [];
  for (const { engine, limits, results, unavailable } of engines) {
    parts.push(`## ${engine}`);
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
      // A column that says nothing is left out.
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

// ---- what is published --------------------------------------------------------------------------

const SHAPES = [
  ["1, 4096, 4096", { m: 1, k: 4096, n: 4096 }],
  ["1, 1024, 4096", { m: 1, k: 1024, n: 4096 }],
  ["16, 1024, 1024", { m: 16, k: 1024, n: 1024 }],
  ["128, 1024, 1024", { m: 128, k: 1024, n: 1024 }],
  ["512, 768, 3072", { m: 512, k: 768, n: 3072 }],
  ["7, 333, 129", { m: 7, k: 333, n: 129 }],
];
const linearCase = ({ m, k, n }) => `linear, M = ${m}, K = ${k}, N = ${n}`;

/** The rows of the table of linear layers: the contestants, best builds first. */
function linearRows(results) {
  const seen = new Map();
  for (const result of results) {
    if (!result.case.startsWith("linear, M") || result.isCold) continue;
    const { contestant, build, threads, format, title } = result;
    const key = [contestant, build, threads, format, title].join();
    if (!seen.has(key)) seen.set(key, { contestant, build, threads, format, title, cells: {} });
    seen.get(key).cells[result.case] = result;
  }
  return [...seen.values()];
}

/** What of a result the README and the page show. */
const PUBLISHED = [
  ...["case", "contestant", "build", "threads", "format", "operation", "place", "title", "unit"],
  ...["value", "low", "high", "ratio", "ratioToRoof", "limit", "gzip"],
];

/** What the README and the page show, without the raw samples. */
export function published({ version, date, machine, packages, engines }) {
  const chromium = engines.find(({ engine }) => engine.startsWith("Chromium")) ?? engines[0];
  const small = (result) => Object.fromEntries(PUBLISHED.map((name) => [name, result[name]]));
  return {
    version,
    date: date.slice(0, 10),
    machine,
    packages,
    engine: chromium.engine,
    limits: Object.fromEntries(
      Object.entries(chromium.limits).map(([name, { value, unit }]) => [
        name,
        { title: LIMITS[name].title, value, unit },
      ]),
    ),
    results: chromium.results.filter(({ check }) => !check.problem).map(small),
  };
}

const CONTESTANTS = {
  zeropoint: "**zeropoint**",
  "zeropoint/slim": "**zeropoint/slim**",
  "onnxruntime-web": "onnxruntime-web",
  tfjs: "tfjs wasm",
  JavaScript: "plain JavaScript",
  "bare module": "a bare module of that size",
};
const who = ({ contestant, build, threads }) =>
  `${CONTESTANTS[contestant]}${build ? ` ${build}` : ""}${threads > 1 ? `, ${threads} threads` : ""}`;

const README_FORMATS = [
  "w8a32-channel",
  "w8a32-group32",
  "w4a32-group32",
  "w8a32-float32",
  "w8a8-dynamic",
];
const THREADED_FORMATS = ["w8a32-channel", "w8a8-dynamic"];

/** The tables of the README's section on performance. */
export function readmeSection(results) {
  const { engine, machine, limits, packages, date } = published(results);
  const chromium = results.engines.find((one) => one.engine === engine);
  const { results: all } = chromium;
  const value = (result) =>
    result?.value === undefined
      ? ""
      : `${shown(result.value)}${result.limit && result.ratio !== undefined ? ` (${percent(result.ratio)}${loopPart(result)})` : ""}`;
  // What only reads is its own loop.
  const loopPart = ({ loop, limit, ratioToRoof }) =>
    loop === undefined || loop === limit ? "" : `, ${percent(ratioToRoof)}`;

  // Where builds are alike, the one that people get says enough.
  const builds = new Set(all.map(({ build }) => build));
  const best = builds.has("relaxed") ? "relaxed" : "baseline";
  const isUsual = ({ contestant, build, threads }) =>
    contestant !== "zeropoint" || (build === best && (threads ?? 1) === 1);

  const linear = linearRows(all)
    .filter(({ contestant, build, threads, format }) => {
      if (contestant !== "zeropoint") return true;
      if (threads > 1) return build === best && THREADED_FORMATS.includes(format);
      return README_FORMATS.includes(format);
    })
    .map((row) => [
      `${who(row)}: ${row.title}`,
      ...SHAPES.map(([, shape]) => value(row.cells[linearCase(shape)])),
    ]);

  const cold = all
    .filter((result) => result.isCold && (result.threads ?? 1) === 1)
    .map((result) => [
      `${who(result)}: ${result.title.replace(", cold", "")}`,
      shown(result.value),
      shown(result.weightBandwidth),
      percent(result.ratioToRoof),
    ]);

  const granularities = ["tensor", "rows", "columns", "group128", "group32"];
  const operations = [
    ["minmax", "range"],
    ["quantize", "quantize"],
    ["dequantize", "dequantize"],
    ["fakeQuantize", "fake quantize"],
    ["error", "error"],
  ];
  const titles = {
    tensor: "per tensor",
    rows: "axis 0",
    columns: "last axis",
    group128: "groups of 128",
    group32: "groups of 32",
  };
  const elementwise = [];
  const places = [
    ...new Set(
      all
        .filter((result) => result.place && isUsual(result))
        .map((r) => [r.contestant, r.build ?? "", r.threads ?? "", r.place].join("|")),
    ),
  ];
  for (const place of places) {
    const [contestant, build, threads, where] = place.split("|");
    for (const granularity of granularities) {
      const of = (operation) =>
        all.find(
          (r) =>
            r.contestant === contestant &&
            (r.build ?? "") === build &&
            String(r.threads ?? "") === threads &&
            r.place === where &&
            r.operation === operation &&
            r.title.endsWith(TITLE_ENDS[granularity]),
        );
      const cells = operations.map(([operation]) => value(of(operation)));
      if (cells.every((cell) => cell === "")) continue;
      elementwise.push([
        `${who({ contestant, build, threads: Number(threads) })}${where === "heap" ? " in its heap" : ""}, ${titles[granularity]}`,
        ...cells,
      ]);
    }
  }

  const small = all
    .filter((result) => result.case === "small calls" && isUsual(result))
    .map((result) => [`${who(result)}: ${result.title}`, shown(result.value)]);
  const start = all
    .filter(({ operation }) => operation === "start")
    .map((result) => [
      who(result),
      `${shown(result.value)} (${shown(result.low)}–${shown(result.high)})`,
      `${shown(result.ratio)} ×`,
      kilobytes(result.gzip),
    ]);

  const others = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
  return [
    wrapped(
      `Measured on ${date} by \`npm run bench\` in ${engine} on ${machine.cpu}, ${machine.cores} cores, ` +
        `one thread unless said, beside ${others.join(", ")}. All ran in the same page, in turn, and every ` +
        `result was checked. Figures are medians; in brackets the part of the machine's limit, measured ` +
        `beside every case by kernels that do nothing else:`,
    ),
    "",
    table(
      ["limit", ""],
      Object.values(limits).map(({ title, value, unit }) => [title, `${shown(value)} ${unit}`]),
    ),
    "",
    "![Linear layers with one and with 128 rows: zeropoint, onnxruntime-web, tfjs and plain JavaScript, in GFLOP/s.](web/public/benchmark.svg)",
    "",
    "Linear layers in GFLOP/s (2·M·N·K operations), for M, K, N:",
    "",
    table(["", ...SHAPES.map(([name]) => name)], linear),
    "",
    ...(cold.length > 0
      ? [
          "One row against 64 MiB of weights that are in no cache, 4096 × 4096 a layer:",
          "",
          table(["", "GFLOP/s", "GB/s of weights", "of the roof"], cold),
          "",
        ]
      : []),
    wrapped(
      "16 M values, GB/s read and written, from JavaScript arrays to JavaScript arrays unless said. In " +
        "brackets is the part of what reading reaches, or memory.copy, which may write past the caches as no " +
        "store of WebAssembly can; in a heap then of a loop that loads, narrows or widens, stores, and " +
        "computes nothing:",
    ),
    "",
    table(["", ...operations.map(([, title]) => title)], elementwise),
    "",
    "Small calls, in microseconds:",
    "",
    table(["", "µs"], small),
    "",
    "From a page's first script to its first result, in milliseconds, and what is downloaded (gzip):",
    "",
    table(["", "ms", "bare", "download"], start),
  ].join("\n");
}

const TITLE_ENDS = {
  tensor: "per tensor",
  rows: "axis 0",
  columns: "last axis",
  group128: "groups of 128",
  group32: "groups of 32",
};

const kilobytes = (bytes) =>
  bytes === undefined
    ? ""
    : bytes >= 1e6
      ? `${(bytes / 1e6).toFixed(1)} MB`
      : `${(bytes / 1e3).toFixed(0)} kB`;

/** Prose in lines as long as the README's. */
function wrapped(text, width = 130) {
  const lines = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width)
      lines.push(`${lines.pop()} ${word}`);
    else lines.push(word);
  }
  return lines.join("\n");
}

// ---- the plot -----------------------------------------------------------------------------------

const PLOTTED = [
  { title: "One row: M = 1, K = N = 4096, in GFLOP/s", shape: SHAPES[0][1] },
  { title: "128 rows: M = 128, K = N = 1024, in GFLOP/s", shape: SHAPES[3][1] },
];
/** What stands for each contestant: the formats that people choose between. */
const BARS = [
  { contestant: "zeropoint", format: "w8a8-dynamic", label: "zeropoint, W8A8" },
  { contestant: "zeropoint", format: "w8a32-channel", label: "zeropoint, W8A32" },
  { contestant: "zeropoint", format: "w4a32-group32", label: "zeropoint, W4A32" },
  { contestant: "onnxruntime-web", format: "w8a8-dynamic", label: "onnxruntime-web, W8A8" },
  { contestant: "onnxruntime-web", format: "w8a32-group32", label: "onnxruntime-web, W8A32" },
  { contestant: "onnxruntime-web", format: "float32", label: "onnxruntime-web, float32" },
  { contestant: "tfjs", format: "float32", label: "tfjs wasm, float32" },
  { contestant: "JavaScript", format: "w8a32-channel", label: "plain JavaScript, W8A32" },
];

/** The fastest build of one thread. */
function barValue(all, shape, { contestant, format }) {
  const candidates = all.filter(
    (r) =>
      r.case === linearCase(shape) &&
      r.contestant === contestant &&
      r.format === format &&
      (r.threads ?? 1) === 1 &&
      r.value !== undefined,
  );
  return candidates.reduce(
    (best, r) => (best === undefined || r.value > best.value ? r : best),
    undefined,
  );
}

/** Bars of GFLOP/s with the quartiles as a line, one panel for each shape, each with a scale of its own. */
export function plot(results) {
  const { engine, results: all } = published(results);
  const [left, right, top, rowHeight, panelGap] = [210, 70, 34, 26, 30];
  const width = 760;
  const panelHeight = top + BARS.length * rowHeight + panelGap;
  const height = PLOTTED.length * panelHeight + 8;
  const described = [];
  const panels = PLOTTED.map(({ title, shape }, p) => {
    const bars = BARS.map((bar) => ({ ...bar, result: barValue(all, shape, bar) })).filter(
      ({ result }) => result,
    );
    const most = Math.max(...bars.map(({ result }) => result.high));
    const across = (value) => left + Math.max(1, ((width - left - right) * value) / most);
    const y0 = p * panelHeight;
    described.push(
      `${title}: ${bars.map(({ label, result }) => `${label} ${shown(result.value)}`).join(", ")}`,
    );
    const rows = bars.map(({ contestant, label, result }, i) => {
      const y = y0 + top + i * rowHeight;
      const own = contestant === "zeropoint" ? ' class="own"' : "";
      const [low, middle, high] = [result.low, result.value, result.high].map(across);
      return (
        `  <text class="label" x="${left - 10}" y="${y + 16}">${label}</text>` +
        `<rect${own} x="${left}" y="${y + 3}" width="${(middle - left).toFixed(1)}" height="${rowHeight - 8}" rx="2" />` +
        `<path d="M${low.toFixed(1)} ${y + 12}H${high.toFixed(1)}" />` +
        `<text x="${(Math.max(middle, high) + 8).toFixed(1)}" y="${y + 16}">${shown(result.value)}</text>`
      );
    });
    return [`  <text class="title" x="${left}" y="${y0 + 22}">${title}</text>`, ...rows].join("\n");
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title desc">
  <title id="title">Linear layers in GFLOP/s, one thread, ${engine}</title>
  <desc id="desc">${described.join(". ")}.</desc>
  <style>
    svg { color-scheme: light dark; --ink: #1c2733; --soft: #5b6b7b; --bar: #b9c3cd; --own: #0b6e69; }
    @media (prefers-color-scheme: dark) { svg { --ink: #e8eef4; --soft: #a3b3c2; --bar: #4c5a68; --own: #63d0c4; } }
    text { font: 13px ui-sans-serif, system-ui, "Segoe UI", Roboto, sans-serif; fill: var(--ink); }
    .label { text-anchor: end; fill: var(--soft); }
    .title { font-weight: 600; font-size: 15px; }
    rect { fill: var(--bar); }
    .own { fill: var(--own); }
    path { stroke: var(--ink); stroke-width: 1.5; opacity: 0.55; }
  </style>
${panels.join("\n")}
</svg>
`;
}

// ---- where it goes ------------------------------------------------------------------------------

const START = "<!-- npm run bench -- --readme writes what follows -->";
const END = "<!-- the end of what npm run bench wrote -->";

/** The README with the section between its marks replaced. */
export function withSection(readme, section) {
  const start = readme.indexOf(START);
  const end = readme.indexOf(END);
  if (start < 0 || end < start) throw new Error("README.md has lost the marks of the benchmark");
  return `${readme.slice(0, start + START.length)}\n${section}\n${readme.slice(end)}`;
}

/** Puts the results into the README, the plot and the page's data. */
export function publish(results) {
  if (results.sizes !== "full") throw new Failure("only a full run is published");
  const readme = join(root, "README.md");
  writeFileSync(readme, withSection(readFileSync(readme, "utf8"), readmeSection(results)));
  writeFileSync(join(root, "web", "public", "benchmark.svg"), plot(results));
  writeFileSync(
    join(root, "web", "benchmark.json"),
    `${JSON.stringify(published(results), null, 2)}\n`,
  );
  console.log("Wrote README.md, web/public/benchmark.svg and web/benchmark.json");
}
