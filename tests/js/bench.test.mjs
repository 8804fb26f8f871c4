// The benchmark runs, and detects wrong results. Times are not checked: the load of a test machine varies.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { linearW8A32 } from "../bench/contestants/javascript.mjs";
import { buildLimits, limitFile } from "../bench/limits/build.mjs";
import { countInstructions, LIMITS, problemsOf } from "../bench/limits/limits.mjs";
import { race, summary } from "../bench/measure.mjs";
import { withSection } from "../bench/publish.mjs";
import { BOUNDS, checkDynamic, checkLinear, linearProblem, sameBits } from "../bench/reference.mjs";
import { searchComparison, searchSection } from "../bench/search/publish.mjs";
import { isMet, targetsOf } from "../bench/targets.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
let folder;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "zeropoint-bench-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

it("npm run bench -- models measures every conversion beside cp", () => {
  const args = ["models", "--no-build", "--mib", "1", "--rounds", "1"];
  const bench = join(root, "tests", "bench", "bench.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [bench, ...args], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout + stderr);
  const rows = stdout.split("\n").filter((line) => /^\| (safetensors|gguf|onnx), /.test(line));
  assert.equal(rows.length, 6, stdout);
  // File, cp, conversion, ratio, processor time, peak memory.
  for (const row of rows)
    assert.match(row, /\| 1 MB( \| [\d.]+ s){2} \| [\d.]+ \| [\d.]+ s \| \d+ MB \|$/);
});

it("npm run bench -- search measures each form of an index, proves int8 and finds what float vectors give", () => {
  const sizes = ["--rows", "600", "--dimensions", "48", "--rounds", "2"];
  const bench = join(root, "tests", "bench", "bench.mjs");
  const how = ["--no-build", "--alone", "--only", "node", "--out", join(folder, "search.json")];
  const args = [bench, "search", ...how, ...sizes];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  const row = (name) =>
    stdout
      .replaceAll(/ +/g, " ")
      .split("\n")
      .find((line) => line.startsWith(`| ${name} |`));
  assert.match(
    row("**zeropoint** int8, proven by float32 originals"),
    /\| 1\.000 \| \d+, \d+ \| yes \|$/,
  );
  for (const form of ["int8", "int4", "binary prefilter, int8", "int8, 16 queries a call"]) {
    assert.match(row(`**zeropoint** ${form}`), /\| [\d.]+ ms \|/);
  }
  for (const ratio of ["int8, proven : reading its codes", "loading : reading its file"]) {
    assert.match(row(ratio), /\| ≤ 1\.5 \| [\d.]+ \|$/);
  }
});

describe("npm run bench -- --smoke", () => {
  let results;
  before(async () => {
    await buildLimits();
    const out = join(folder, "smoke.json");
    const bench = join(root, "tests", "bench", "bench.mjs");
    const run = spawnSync(process.execPath, [bench, "--smoke", "--no-build", "--out", out], {
      encoding: "utf8",
    });
    assert.equal(run.status, 0, run.stdout + run.stderr);
    [results] = JSON.parse(readFileSync(out, "utf8")).engines;
  });

  it("measures and checks every case of every build that create accepts", () => {
    const names = results.results.map(({ name }) => name);
    assert.equal(new Set(results.results.map((r) => `${r.case}: ${r.name}`)).size, names.length);
    for (const part of [
      "W8A32 per tensor",
      "W8A32 per channel, affine",
      "W4A32, groups of 32",
      "W2A32 per channel, cold",
      "W8A8 dynamic",
      "W8A8 dynamic, groups of 32",
      "W4A8 dynamic, groups of 32",
      "float32",
      "in its heap: fake quantize per channel, last axis",
      "quantize groups of 32",
      "64 × 64 layer, one row",
    ]) {
      assert.ok(
        names.some((name) => name.startsWith("zeropoint baseline") && name.endsWith(part)),
        part,
      );
    }
    for (const { name, check, timing, value } of results.results) {
      assert.equal(check.problem, undefined, name);
      assert.ok(check.worst <= 1 && timing.samples.length > 0 && value > 0, name);
    }
  });

  it("gives the reason for every build that is not measured", () => {
    const builds = ["baseline", "relaxed", "baseline, 2 threads", "relaxed, 2 threads"];
    for (const build of builds) {
      const isMeasured = results.results.some(({ name }) => name.startsWith(`zeropoint ${build}:`));
      const reason = results.unavailable.find(({ name }) => name === `zeropoint ${build}`)?.reason;
      assert.equal(isMeasured, reason === undefined, build);
      assert.notEqual(reason, "", build);
    }
  });

  it("measures the limits together with the cases that are compared with them", () => {
    for (const name of ["muladd", "dot_i16", "read", "copy"]) {
      assert.ok(results.limits[name].value > 0, name);
      assert.ok(name in LIMITS);
    }
    for (const result of results.results.filter(({ limit }) => limit)) {
      assert.ok(result.ratio > 0, result.name);
    }
  });
});

describe("The limits", () => {
  it("contain every counted instruction, in both builds", async () => {
    await buildLimits();
    for (const build of ["baseline", "relaxed"]) {
      assert.deepEqual(problemsOf(readFileSync(limitFile(build))), [], build);
    }
    const counts = countInstructions(readFileSync(limitFile("baseline")));
    assert.equal(counts.muladd_chain12["f32x4.mul"], 60);
    assert.equal(counts.dot_i16_tile4x3["i32x4.dot_i16x8_s"], 36);
  });

  it("are refused when an instruction is missing", () => {
    const binary = Uint8Array.from(readFileSync(limitFile("baseline")));
    // f32x4.mul becomes f32x4.sub, as if the compiler had removed the products.
    const at = binary.findIndex((byte, i) => byte === 0xfd && binary[i + 1] === 0xe6);
    binary[at + 1] = 0xe5;
    assert.match(problemsOf(binary).join("\n"), /^muladd_\w+: \d+ f32x4.mul instead of \d+$/);
  });
});

describe("A check", () => {
  const problem = linearProblem({ m: 2, k: 96, n: 30 });
  const { x, w } = problem;
  const codes = Int8Array.from(w, (value) => Math.round(value * 30));
  const scales = new Float32Array(30).fill(1 / 30);
  const weights = {
    row: (row) =>
      Float64Array.from(codes.subarray(96 * row, 96 * (row + 1)), (code) => code * scales[row]),
  };
  const y = new Float32Array(60);
  linearW8A32(x, codes, scales, 2, 96, 30, y);

  it("accepts a result within its bound", () => {
    assert.equal(checkLinear(problem, weights, y, BOUNDS.exact).problem, undefined);
  });

  it("refuses an output with an error beyond its bound", () => {
    const off = y.slice();
    off[59] += 1e-3;
    assert.match(checkLinear(problem, weights, off, BOUNDS.exact).problem, /output \[1, 29\]/);
  });

  it("refuses an unwritten result, and a result of another length", () => {
    const empty = new Float32Array(60).fill(Number.NaN);
    assert.match(checkLinear(problem, weights, empty, BOUNDS.float32).problem, /is NaN/);
    const short = y.subarray(1);
    assert.match(checkLinear(problem, weights, short, BOUNDS.float32).problem, /59 outputs/);
  });

  it("refuses a dynamic layer that ignores the zero point", () => {
    assert.match(
      checkDynamic(problem, { data: codes, scale: { data: scales } }, {}, y).problem,
      /instead of exactly/,
    );
  });

  it("distinguishes -0 from 0 and NaNs by their bits where bits must be equal", () => {
    assert.ok(sameBits(Float32Array.of(1, Number.NaN), Float32Array.of(1, Number.NaN)));
    assert.ok(!sameBits(Float32Array.of(0), Float32Array.of(-0)));
  });
});

describe("A race", () => {
  it("gives every contestant its rounds, in turn, in alternating directions", async () => {
    const order = [];
    const entry = (name) => ({ name, run: () => order.push(name) });
    const pace = { rounds: 2, sampleMs: 0, warmUpMs: 0 };
    const timings = await race([entry("a"), entry("b")], pace);
    assert.deepEqual(
      timings.map(({ samples }) => samples.length),
      [2, 2],
    );
    const turns = order.filter((name, i) => name !== order[i - 1]).join("");
    // Warm-up of both, then a b, then b a.
    assert.equal(turns, "ababa");
  });

  it("reports the median and the quartiles", () => {
    const { median, q1, q3 } = summary([5, 1, 4, 2, 3]);
    assert.deepEqual([q1, median, q3], [2, 3, 4]);
  });
});

describe("A target", () => {
  const of = (build, ratio) => ({
    contestant: "zeropoint",
    case: "linear, M = 128, K = 1024, N = 1024",
    format: "w8a32-channel",
    limit: build === "relaxed" ? "madd" : "muladd",
    build,
    threads: 1,
    ratio,
    bestRatio: ratio,
    timing: { samples: [1], median: 1 },
    work: 1,
  });

  it("is missed below the required part of the limit, and met above", () => {
    const targets = targetsOf({ results: [of("relaxed", 0.74), of("baseline", 0.82)] });
    assert.deepEqual(
      targets.map((target) => [target.needed, target.measured, isMet(target)]),
      [
        [0.75, 0.74, false],
        [0.8, 0.82, true],
      ],
    );
  });

  it("compares two threads with one", () => {
    const two = { ...of("relaxed", 1.4), threads: 2, timing: { samples: [0.5], median: 0.5 } };
    const targets = targetsOf({ results: [of("relaxed", 0.8), two] });
    const { needed, measured } = targets.find(({ title }) => title.endsWith("two threads of one"));
    assert.deepEqual([needed, measured], [1.85, 2]);
  });

  it("compares analyses with their kernels by the bytes of both", () => {
    const entry = (operation, work, ms) => ({
      ...of("relaxed", undefined),
      limit: undefined,
      operation,
      title: operation,
      work,
      value: work / ms / 1e6,
      timing: { samples: [ms], median: ms },
    });
    const results = [entry("analyze", 600, 3), entry("row errors", 100, 0.4)];
    const [target] = targetsOf({ results }).filter(({ title }) => title.includes("its kernels"));
    assert.equal(target.measured.toFixed(6), "1.250000");
    assert.equal(target.fastest.toFixed(6), "1.250000");
    assert.deepEqual([target.needed, isMet(target)], [1.25, target.measured <= 1.25]);
  });
});

describe("The sections of searches", () => {
  it("have the ratios of each engine, and five rows of the first one in the README", () => {
    const names = [
      "reading the int8 codes once",
      "plain JavaScript, float32",
      "zeropoint int8, proven by float32 originals",
      "zeropoint binary prefilter, int8, float32 originals",
      "sqlite-vec (native), int8",
      "usearch (native), HNSW, float32",
    ];
    const engine = (name, factor) => ({
      ...{ engine: name, rows: 100, dimensions: 8, k: 10 },
      results: names.map((name, i) => ({ name, time: factor * 2 ** i, build: 500, recall: 1 })),
    });
    const run = {
      ...{ date: "2026-11-28T08:00:00Z", machine: { cpu: "a processor", cores: 2 }, load: [0, 1] },
      engines: [engine("Node 26", 1), engine("Chromium 156", 2)],
    };
    const lines = (text) => text.replaceAll(/ +/g, " ").split("\n");
    const all = lines(searchSection(run));
    assert.ok(all.includes("| int8, proven : reading its codes | ≤ 1.5 | 4.00 | 4.00 |"));
    assert.ok(
      all.includes(
        "| **zeropoint** int8, proven by float32 originals | 8.00 ms | 0.50 s | | 1.000 | | |",
      ),
    );
    const few = lines(searchComparison(run));
    assert.equal(few.filter((line) => line.startsWith("| ")).length, 7, few.join("\n"));
    assert.ok(few.includes("| usearch (native), HNSW | 32 ms | 0.50 s | 1.000 |"));
    const command = "npm run bench -- search --readme";
    for (const path of ["README.md", "tests/bench/RESULTS.md"]) {
      const text = readFileSync(join(root, path), "utf8");
      const once = withSection(text, "| figures |", command);
      assert.equal(withSection(once, "| figures |", command), once);
      assert.ok(once.includes("<!-- npm run bench -- --readme writes these lines -->"));
    }
  });
});

describe("The README's section", () => {
  it("is replaced between its marks, without any other change", () => {
    const readme = readFileSync(join(root, "README.md"), "utf8");
    const once = withSection(readme, "| figures |");
    assert.ok(once.includes("\n| figures |\n"));
    assert.equal(withSection(once, "| figures |"), once);
    const [before] = readme.split("<!-- npm run bench");
    assert.ok(once.startsWith(before));
    assert.throws(() => withSection("no marks", ""), /marks .* missing/);
  });
});
