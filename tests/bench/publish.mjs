// Published results of a run: the README's comparison, the page of tables (RESULTS.md), the plot and the
// site's data.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure, root } from "../../scripts/process/run.mjs";
import { LIMITS } from "./limits/limits.mjs";
import { percent, shown, table } from "./report.mjs";

// ---- published fields ---------------------------------------------------------------------------

const SHAPES = [
  ["1, 4096, 4096", { m: 1, k: 4096, n: 4096 }],
  ["1, 1024, 4096", { m: 1, k: 1024, n: 4096 }],
  ["16, 1024, 1024", { m: 16, k: 1024, n: 1024 }],
  ["128, 1024, 1024", { m: 128, k: 1024, n: 1024 }],
  ["512, 768, 3072", { m: 512, k: 768, n: 3072 }],
  ["7, 333, 129", { m: 7, k: 333, n: 129 }],
];
const linearCase = ({ m, k, n }) => `linear, M = ${m}, K = ${k}, N = ${n}`;

/** Rows of the table of linear layers: one for each contestant, build, thread count and format. */
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

/** Published fields of a result. */
const PUBLISHED = [
  ...["case", "contestant", "build", "threads", "format", "operation", "place", "title", "unit"],
  ...["value", "low", "high", "ratio", "ratioToRoof", "limit", "gzip"],
];

/** Published part of a run: Chromium's results, without raw samples. */
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

const PAGE_FORMATS = [
  "w8a32-channel",
  "w8a32-group32",
  "w4a32-group32",
  "w8a32-float32",
  "w8a8-dynamic",
  "w8a8-group32",
  "w4a8-group32",
];
const THREADED_FORMATS = ["w8a32-channel", "w8a8-dynamic"];

/** The tables of RESULTS.md. */
function resultsSection(results) {
  const { engine, machine, limits, packages, date } = published(results);
  const chromium = results.engines.find((one) => one.engine === engine);
  const { results: all } = chromium;
  const value = (result) =>
    result?.value === undefined
      ? ""
      : `${shown(result.value)}${result.limit && result.ratio !== undefined ? ` (${percent(result.ratio)}${loopPart(result)})` : ""}`;
  // A case that only reads has no separate loop.
  const loopPart = ({ loop, limit, ratioToRoof }) =>
    loop === undefined || loop === limit ? "" : `, ${percent(ratioToRoof)}`;

  // Cases whose builds perform alike show the default build only.
  const builds = new Set(all.map(({ build }) => build));
  const best = builds.has("relaxed") ? "relaxed" : "baseline";
  // Layers are measured with the default build as an additional contestant.
  const usual = builds.has("auto") ? "auto" : best;
  const isUsual = ({ contestant, build, threads }) =>
    contestant !== "zeropoint" || (build === best && (threads ?? 1) === 1);

  const linear = linearRows(all)
    .filter(({ contestant, build, threads, format }) => {
      if (contestant !== "zeropoint") return true;
      if (threads > 1) return build === usual && THREADED_FORMATS.includes(format);
      return PAGE_FORMATS.includes(format);
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
  const milliseconds = (value) => (value === undefined ? "" : shown(value));
  const connections = all
    .filter((result) => result.case === "connections" && result.timing)
    .map((result) => [
      `${result.title}, ${result.place}`,
      milliseconds(result.value / 1000),
      milliseconds(result.stallMs),
      milliseconds(result.stallCpuMs),
    ]);
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
    "![Linear layers with one and with 128 rows: zeropoint, onnxruntime-web, tfjs and plain JavaScript, in GFLOP/s.](../../web/public/benchmark.svg)",
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
    ...(connections.length > 0
      ? [
          "Through `connect()` of `zeropoint/worker`, in milliseconds: a call, the longest time that it keeps " +
            "the calling thread, and that thread's processor time in it, where the engine tells it:",
          "",
          table(["", "ms", "kept", "processor time"], connections),
          "",
        ]
      : []),
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

/** Prose in lines of a width. */
export function wrapped(text, width = 130) {
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
/** Bars of the plot. */
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

/** The fastest result with one thread. */
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

/** Bars of GFLOP/s with the quartiles as a line; one panel for each shape, with a separate scale. */
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

// ---- the README's comparison ---------------------------------------------------------------------

/** The columns of the comparison, by contestant. */
const COMPARED = ["zeropoint", "onnxruntime-web", "tfjs"];

const SAME_BITS = {
  zeropoint: "yes, tested",
  "onnxruntime-web": "not promised",
  tfjs: "no quantization",
};

/** Fastest one-thread result of a contestant for a shape, of some formats. */
function fastestLinear(results, contestant, shape, formats) {
  return results
    .filter(
      (r) =>
        r.contestant === contestant &&
        r.case === linearCase(shape) &&
        (r.threads ?? 1) === 1 &&
        r.value !== undefined &&
        formats.includes(r.format),
    )
    .reduce((best, r) => (best === undefined || r.value > best.value ? r : best), undefined);
}

/** GFLOP/s with 8-bit weights; with float32 if faster, or if there is no 8-bit result. */
function linearSpeed(results, contestant, shape) {
  const w8 = fastestLinear(results, contestant, shape, ["w8a32-channel", "w8a32-group32"]);
  const float = fastestLinear(results, contestant, shape, ["float32"]);
  const asFloat = float && `float32: ${shown(float.value)}`;
  if (w8 === undefined) return asFloat ?? "";
  return float?.value > w8.value ? `${shown(w8.value)} (${asFloat})` : shown(w8.value);
}

/** The smallest download and its start time of a contestant's pages. */
function start(results, contestant) {
  const pages = results.filter((r) => r.operation === "start" && r.contestant === contestant);
  return pages.reduce(
    (best, r) => (best === undefined || r.gzip < best.gzip ? r : best),
    undefined,
  );
}

/**
 * The five rows at the top of the README.
 * @param run  the result of `published`
 */
export function comparison({ engine, machine, date, results }) {
  const row = (title, cell) => [title, ...COMPARED.map(cell)];
  const speed = (shape) => (contestant) => linearSpeed(results, contestant, shape);
  const rows = [
    row("download, gzip", (contestant) => kilobytes(start(results, contestant)?.gzip)),
    row("first script to first result", (contestant) => {
      const page = start(results, contestant);
      return page === undefined ? "" : `${shown(page.value)} ms`;
    }),
    row("W8A32, 1 row × 4096 × 4096, GFLOP/s", speed(SHAPES[0][1])),
    row("W8A32, 128 rows × 1024 × 1024, GFLOP/s", speed(SHAPES[3][1])),
    row("same bits as PyTorch's quantization", (contestant) => SAME_BITS[contestant]),
  ];
  return [
    table(["", "zeropoint", "onnxruntime-web", "tfjs (wasm)"], rows),
    "",
    wrapped(
      `${engine}, ${machine.cpu}, one thread, ${date}. W8A32: 8-bit weights, float32 activations, each engine's fastest ` +
        "build and form; float32 where that is faster. [All tables](tests/bench/RESULTS.md); `npm run bench` measures on your machine.",
      120,
    ),
  ].join("\n");
}

// ---- files ---------------------------------------------------------------------------------------

const END = "<!-- end of the lines that npm run bench writes -->";

/** A file's text with the section between the marks of a command replaced. */
export function withSection(text, section, command = "npm run bench -- --readme") {
  const mark = `<!-- ${command} writes these lines -->`;
  const start = text.indexOf(mark);
  const end = text.indexOf(END, start);
  if (start < 0 || end < start) throw new Error("the marks of the benchmark's lines are missing");
  return `${text.slice(0, start + mark.length)}\n${section}\n${text.slice(end)}`;
}

/** Replaces the section between the marks of a file. */
function rewrite(path, section) {
  writeFileSync(path, withSection(readFileSync(path, "utf8"), section));
}

/** Writes the README's comparison, RESULTS.md, the plot and the site's data. */
export function publish(results) {
  if (results.sizes !== "full") throw new Failure("only a full run is published");
  const run = published(results);
  rewrite(join(root, "README.md"), comparison(run));
  rewrite(join(root, "tests", "bench", "RESULTS.md"), resultsSection(results));
  writeFileSync(join(root, "web", "public", "benchmark.svg"), plot(results));
  writeFileSync(join(root, "web", "benchmark.json"), `${JSON.stringify(run, null, 2)}\n`);
  console.log(
    "Wrote README.md, tests/bench/RESULTS.md, web/public/benchmark.svg and web/benchmark.json",
  );
}
