// The parts of the Model Lab that need no browser.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel } from "zeropoint/models";
import { fromPage } from "../from-page.mjs";

const { formatText, isEstimated, metricText, shapeText, timeText } =
  await fromPage("lab/format.js");
const { Layers } = await fromPage("lab/layers.js");
const { emptyState, fromLink, toLink } = await fromPage("lab/link.js");
const { classesOf, compareAnswers } = await fromPage("lab/model/answers.js");
const { filesOf, mainOf, missingText, othersIn, splitPair } = await fromPage("lab/model/files.js");
const { commandLine, toCsv, toHtmlPage, toJson } = await fromPage("lab/out/report.js");
const { keptByReason, reasonOf } = await fromPage("lab/reasons.js");
const { boxesOf, boxOf, overlap, placeLabels } = await fromPage("lab/show/frontier-labels.js");
const { groupBars } = await fromPage("lab/show/strip.js");
const { bitsText } = await fromPage("lab/show/tensor-list.js");
const { comparedText, problemText, showsText, worstFirst } = await fromPage("lab/texts.js");
const { bytesText, nounText } = await fromPage("shell/drawing/numbers.js");

await init();

const METRICS = ["sqnr", "mse"];

describe("Of several models of a folder, the lab", () => {
  const index = "m.safetensors.index.json";
  const shards = ["m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors"];
  const splits = ["g-00001-of-00002.gguf", "g-00002-of-00002.gguf"];
  const all = [index, ...shards, ...splits, "a.onnx", "a.bin"].map((name) => ({ name }));
  const files = (...names) => all.filter(({ name }) => names.includes(name));
  const names = (list) => list.map(({ name }) => name);

  it("offers the others, but no files that belong to one of them", () => {
    const used = new Set(files(index, ...shards));
    assert.deepEqual(names(othersIn(all, used)), [splits[0], "a.onnx"]);
    assert.deepEqual(names(othersIn(all, new Set(files("a.onnx")))), [index, splits[0]]);
    assert.deepEqual(othersIn("models/m-00001-of-00002.safetensors", new Set()), []);
  });

  it("opens the chosen one with its files", () => {
    const used = new Set(files(index, ...shards));
    for (const wanted of [splits[0], "a.onnx"]) {
      const given = filesOf(all, used, ...files(wanted));
      assert.equal(mainOf(given).name, wanted);
      for (const beside of [splits[1], "a.bin"]) assert.ok(names(given).includes(beside));
    }
    const back = filesOf(all, new Set(files("a.onnx")), ...files(index));
    assert.equal(mainOf(back).name, index);
    for (const shard of shards) assert.ok(names(back).includes(shard));
  });

  it("says that a shard is one of several, and nothing of whole models", () => {
    assert.match(
      missingText(files(...shards)),
      /^File 1 of 2 .*Missing: m\.safetensors\.index\.json\./,
    );
    assert.match(missingText("at/m-00002-of-00002.safetensors"), /^File 2 of 2 .*m-00001-of-00002/);
    assert.equal(missingText(all), "");
    assert.equal(missingText([{ name: "m-00001-of-00001.safetensors" }]), "");
  });
});

describe("The lab's main file", () => {
  const mainOfNames = (...names) => mainOf(names.map((name) => ({ name }))).name;

  it("is the one that names the others", () => {
    assert.equal(
      mainOfNames("a-00001.safetensors", "model.safetensors.index.json"),
      "model.safetensors.index.json",
    );
  });

  it("is the first of several numbered ones, in any order", () => {
    assert.equal(
      mainOfNames("m-00002-of-00002.gguf", "m-00001-of-00002.gguf"),
      "m-00001-of-00002.gguf",
    );
  });
});

describe("Files that are given to the lab", () => {
  const parts = (...names) =>
    splitPair(names.map((name) => ({ name }))).map((files) => files?.map(({ name }) => name));

  it("are two models if each is whole", () => {
    assert.deepEqual(parts("a.gguf", "b.safetensors"), [["a.gguf"], ["b.safetensors"]]);
  });

  it("are one model if one belongs to the other", () => {
    for (const names of [
      ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"],
      ["model.onnx", "model.onnx_data"],
      ["model.safetensors", "config.json"],
      ["a.gguf"],
    ]) {
      assert.deepEqual(parts(...names), [names, undefined]);
    }
  });
});

describe("A file that is no model", () => {
  const text = async (name, bytes) => {
    try {
      await openModel(bytes);
    } catch (error) {
      return problemText(error, name);
    }
    return assert.fail(`${name} was opened`);
  };

  it("is told in words of who dropped it", async () => {
    const png = Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10, ...new Uint8Array(100));
    assert.match(
      await text("a.png", png),
      /^a\.png is no model that the lab opens: safetensors, .*137 80/,
    );
    assert.equal(await text("a.gguf", new Uint8Array(0)), "a.gguf is empty: 0 bytes.");
    assert.match(
      await text("a.gguf", new Uint8Array(4096)),
      /begins with zeros, .* download has not/,
    );
    const zip = new TextEncoder().encode("PK\x03\x04 and more of it");
    assert.match(await text("model.bin", zip), /pickle.* Save the model as safetensors\.$/);
  });

  it("has the place where it breaks its format", async () => {
    const cut = Uint8Array.of(71, 71, 85, 70, 3, 0, 0, 0, 1, 0);
    assert.match(await text("a.gguf", cut), /^a\.gguf, byte [\d,]+: expected .+, found .+\.$/);
  });
});

describe("The lab's comparison", () => {
  const row = (name, sqnr, reason) => ({ name, sqnr, reason, equal: sqnr === Infinity });

  it("shows what cannot be compared first, then the worst tensors, and counts them", () => {
    const rows = [row("equal", Infinity), row("best", 40), row("worst", 3), row("gone", NaN, "x")];
    const names = worstFirst(rows).map(({ name }) => name);
    assert.deepEqual(names, ["gone", "worst", "best", "equal"]);
    assert.equal(comparedText(rows), "4 tensors: 1 equal, 2 different, 1 not compared.");
  });

  it("counts answers that stay, and right ones where labels are known", () => {
    const scores = (...rows) => ({
      ...{ type: "float32", dims: [rows.length, 2], data: Float32Array.from(rows.flat()) },
    });
    const before = { scores: scores([1, 0], [0, 1], [0, 1], [1, 0]) };
    const after = { scores: scores([2, 0], [0, 1], [1, 0], [1, 0]) };
    assert.deepEqual(classesOf(after.scores), [0, 1, 0, 0]);
    assert.deepEqual(compareAnswers(before, after, undefined), [{ name: "scores", same: 0.75 }]);
    assert.deepEqual(compareAnswers(before, after, [0, 1, 1, 1]), [
      { name: "scores", same: 0.75, right: [0.75, 0.5] },
    ]);
    const tokens = { ids: { type: "int64", dims: [1, 3], data: [1n, 2n, 3n] } };
    assert.deepEqual(compareAnswers(tokens, tokens, undefined), []);
  });
});

describe("The lab's tensors", () => {
  it("have the bits of a value in the file", () => {
    assert.equal(bitsText({ shape: [10, 256], byteLength: 2100 }), "6.56");
    assert.equal(bitsText({ shape: [8], byteLength: 32 }), "32");
    assert.equal(bitsText({ shape: [0], byteLength: 0 }), "–");
  });

  it("have the schemes that the output stores before the others", () => {
    const layers = new Layers([]);
    const schemes = ["int8-channel", "q4_k", "q8_0"];
    for (const scheme of schemes) layers.take({ name: "w", scheme, shape: [1], bytesBefore: 4 });
    assert.deepEqual(layers.schemes, schemes);
    layers.store([{ name: "w", scheme: "int8-channel", bytes: 1, isWritten: false }]);
    assert.deepEqual(layers.schemes, ["q4_k", "q8_0", "int8-channel"]);
  });
});

describe("The lab's link", () => {
  it("is #lab alone for the state at the start", () => {
    assert.equal(toLink(emptyState()), "#lab");
  });

  it("brings back what it was made of", () => {
    const state = {
      ...emptyState(),
      metric: "mse",
      filter: "fc & 1=",
      sort: "-int4-g32",
      budget: 12_345,
      preset: "Q4_K_M",
      pins: { "a=b.weight": "int8-channel", __proto__x: "keep" },
      sample: "digits.onnx",
      file: "models/a b.gguf",
      beside: "digits-deep.gguf",
    };
    assert.deepEqual(fromLink(toLink(state), METRICS), state);
  });

  it("ignores values that no lab writes", () => {
    const read = fromLink("#lab?metric=toString&budget=-1&pin=x&pin==y", METRICS);
    assert.deepEqual(read, emptyState());
  });
});

describe("The lab's reports", () => {
  const row = {
    name: 'a "b", c',
    shape: [2, 3],
    dtype: "float32",
    scheme: "int8-tensor",
    bytes: 10,
    mse: 0,
    max: 0,
    sqnr: Number.POSITIVE_INFINITY,
    cosine: 1,
  };

  it("quote names in comma-separated values", () => {
    assert.equal(
      toCsv([row]).split("\r\n")[1],
      '"a ""b"", c",2x3,float32,int8-tensor,10,0,0,Infinity,1',
    );
  });

  it("say which rows are estimates, if there are any", () => {
    const [head, ...lines] = toCsv([row, { ...row, isEstimate: true }])
      .trimEnd()
      .split("\r\n");
    assert.match(head, /,cosine,isEstimate$/);
    assert.match(lines[0], /,1,$/);
    assert.match(lines[1], /,1,true$/);
    assert.doesNotMatch(toCsv([row]), /isEstimate/);
  });

  it("write infinities as text in JSON", () => {
    assert.equal(JSON.parse(toJson(row)).sqnr, "Infinity");
  });

  it("escape names in HTML", () => {
    const page = toHtmlPage("<x>", [{ ...row, name: "<script>" }], "");
    assert.ok(page.includes("&lt;script&gt;") && !page.includes("<script>"));
  });

  const job = { name: "a.onnx", budget: 99, pins: {}, format: "onnx", count: 1 };

  it("quote names for the shell", () => {
    const text = commandLine({ ...job, name: "it's.onnx", pins: { "a b": "int8-channel" } });
    assert.match(text, /^npx zeropoint analyze 'it'\\''s\.onnx' /m);
    assert.match(text, /--size 99B --pin 'a b=int8-channel' -o plan\.json$/m);
    assert.match(text, /-o 'it'\\''s-quantized\.onnx' --verify$/m);
  });

  it("name no option where a file's name begins with a hyphen", () => {
    assert.match(commandLine({ ...job, name: "-v.onnx" }), /^npx zeropoint analyze \.\/-v\.onnx /);
  });

  it("pin a tensor whose name has characters of patterns", () => {
    const text = commandLine({ ...job, pins: { "a{1}*=b": "keep" } });
    assert.match(text, / --pin 'a\?1\?\?=b=keep' /);
  });

  it("name the output of the analysis, which rows and plan remember", () => {
    const text = commandLine({ ...job, format: "safetensors", target: "mlx", count: 3 });
    const [analyze, plan, quantize] = text.split("\n");
    assert.equal(
      analyze,
      "npx zeropoint analyze a.onnx --format safetensors --target mlx -o analysis.json",
    );
    assert.doesNotMatch(plan + quantize, /--format|--target/);
    assert.match(quantize, / -o a-quantized\/ --verify$/);
  });

  it("are one of a mix by its name", () => {
    const gguf = { ...job, name: "a.gguf", format: "gguf", preset: "Q4_K_M" };
    assert.equal(
      commandLine({ ...gguf, imatrix: "im.gguf" })
        .split("\n")
        .at(-1),
      "npx zeropoint quantize a.gguf Q4_K_M --imatrix im.gguf -o a-quantized.gguf --verify",
    );
    assert.doesNotMatch(commandLine(gguf), /analyze|plan/);
  });

  it("name the files of inputs, and say which have more arrays than the lab uses", () => {
    const text = commandLine({ ...job, inputs: ["fc1.npy", "all.npz"], partly: ["all.npz"] });
    assert.match(text, /^# The lab uses some arrays of all\.npz only/);
    assert.match(text, / --activations fc1\.npy --activations all\.npz -o analysis\.json$/m);
  });
});

describe("Errors of outputs", () => {
  const exact = { shows: "outputs", outputSqnr: 30, sqnr: 25, moments: "full" };
  const diagonal = { ...exact, moments: "diagonal" };

  it("are estimates where only the mean squares of inputs are known", () => {
    assert.equal(isEstimated(diagonal, "outputSqnr"), true);
    assert.equal(isEstimated(diagonal, "sqnr"), false);
    assert.equal(isEstimated(exact, "outputSqnr"), false);
    assert.equal(isEstimated({ ...exact, isEstimate: true }, "sqnr"), true);
  });

  it("are said to be estimates below the table", () => {
    const counts = { layers: 3, estimates: 0, outputs: 2, diagonal: 0 };
    assert.match(showsText(counts), /; all exact\.$/);
    const text = showsText({ ...counts, diagonal: 1 });
    assert.match(text, /; outputs of 1 layer estimated as if the inputs were uncorrelated/);
    assert.doesNotMatch(text, /all exact/);
  });

  it("are in the files of the analysis, with the moments that they are from", () => {
    const row = { name: "w", shape: [2], scheme: "int8-tensor", ...diagonal };
    const [head, line] = toCsv([row]).split("\r\n");
    assert.match(head, /,outputMse,outputSqnr,moments$/);
    assert.match(line, /,,30,diagonal$/);
  });
});

describe("The reason of a scheme in a plan", () => {
  const rowOf = (scheme, bytes, sqnr) => [
    scheme,
    { scheme, bytes, sqnr, relative: 10 ** (-sqnr / 10), shows: "weights" },
  ];
  const layer = {
    name: "w",
    planned: "int4-g32",
    rows: new Map([
      rowOf("int8-tensor", 9000, 41.5),
      rowOf("int4-g32", 5000, 20.25),
      // Neither smaller nor more exact than int4-g32.
      rowOf("int4-tensor", 5500, 12),
      rowOf("int3-g32", 4000, 14),
    ]),
  };
  const plan = { reasons: {} };

  it("compares it with the next smaller and the next larger one", () => {
    assert.equal(
      reasonOf(layer, plan),
      "The next smaller scheme, int3-g32, would save 1.0 kB and lose 6.3 dB. The next larger one, int8-tensor, " +
        "would gain 21.3 dB for 4.0 kB, for which the size of the plan leaves no room.",
    );
  });

  it("says where there is none", () => {
    assert.match(reasonOf({ ...layer, planned: "int3-g32" }, plan), /^No scheme is smaller\. /);
    const largest = reasonOf({ ...layer, planned: "int8-tensor" }, plan);
    assert.match(largest, / No larger scheme has less error\.$/);
  });

  it("is the pin or the plan's own reason where there is one", () => {
    assert.equal(reasonOf({ ...layer, isPinned: true }, plan), "You pinned it.");
    const same = { reasons: { w: "the same as v" } };
    assert.equal(reasonOf(layer, same), "The same as v.");
    assert.equal(reasonOf(layer, undefined), "");
    assert.equal(reasonOf(layer, { ...plan, preset: "Q4_K_M" }), "By the mix Q4_K_M.");
  });
});

describe("Tensors that stay as they are", () => {
  it("are grouped by their reason, the most frequent first", () => {
    const rows = [
      { name: "norm", scheme: "keep", reason: "one axis" },
      { name: "a.bias", scheme: "keep", reason: "a bias" },
      { name: "a.weight", scheme: "int8-tensor" },
      { name: "b.bias", scheme: "keep", reason: "a bias" },
    ];
    assert.deepEqual(keptByReason(rows), [
      ["a bias", ["a.bias", "b.bias"]],
      ["one axis", ["norm"]],
    ]);
  });
});

describe("The lab's numbers", () => {
  it("are short and have units", () => {
    assert.deepEqual([0, 999, 1000, 26_010, 99_960, 203_888, 5.4e9].map(bytesText), [
      "0 B",
      "999 B",
      "1.0 kB",
      "26.0 kB",
      "100 kB",
      "204 kB",
      "5.4 GB",
    ]);
    assert.deepEqual(["onnx", "safetensors"].map(formatText), ["ONNX", "safetensors"]);
    assert.equal(shapeText([]), "scalar");
    assert.equal(shapeText([64, 784]), "64 × 784");
    assert.equal(nounText(1, "tensor"), "1 tensor");
    const counts = [0, 999, 1000, 65_536, 123_456_789];
    assert.deepEqual(
      counts.map((count) => nounText(count, "tensor")),
      counts.map((count) => `${count.toLocaleString("en")} tensors`),
    );
    assert.equal(metricText("sqnr", Number.POSITIVE_INFINITY), "exact");
    assert.equal(metricText("mse", 0.000123), "1.2e-4");
    assert.equal(timeText(200), "3 minutes");
  });
});

describe("The labels of the plan's chart", () => {
  // The digit classifier's schemes: a steep beginning, neighbours on top of each other, and the last at the edge.
  const schemes = [
    ["int2-g16", 0, 1],
    ["int4-channel", 0.01, 0.78],
    ["int4-g128", 0.055, 0.7],
    ["int3-g16", 0.2, 0.79],
    ["int4-g32-mse", 0.202, 0.61],
    ["int4-g32", 0.202, 0.64],
    ["int4-g32-affine", 0.253, 0.57],
    ["int8-tensor", 0.795, 0.29],
    ["int8-channel", 0.805, 0.14],
    ["int8-g128", 0.855, 0.05],
    ["int8-g32", 1, 0],
  ];
  const onLine = [0, 1, 2, 4, 6, 8, 9, 10];

  for (const [width, isNamed] of [
    [768, true],
    [640, true],
    [286, false],
  ]) {
    it(`cover no circle, no line and no other label in ${width} pixels`, () => {
      const circles = schemes.map(([name, x, y], i) => ({
        x: 56 + x * (width - 72),
        y: 22 + y * 204,
        text: isNamed ? name : String(i + 1),
      }));
      const line = onLine.map((i) => circles[i]);
      const room = { left: 56, right: width, top: 0, bottom: 226 };
      const labels = placeLabels(circles, line, room);
      const boxes = labels.map((label, i) => boxOf(label, circles[i].text));
      for (const [i, box] of boxes.entries()) {
        const { text } = circles[i];
        for (const [j, { x, y, text: other }] of circles.entries()) {
          const dot = { left: x - 3.5, right: x + 3.5, top: y - 3.5, bottom: y + 3.5 };
          assert.equal(overlap(box, dot), 0, `${text} and the circle of ${other}`);
          if (i < j) assert.equal(overlap(box, boxes[j]), 0, `${text} and ${other}`);
        }
        const hidden = boxesOf(line).reduce((sum, piece) => sum + overlap(box, piece), 0);
        assert.ok(hidden < 40, `${text} and ${hidden} square pixels of the line`);
        assert.ok(box.right <= room.right && box.bottom <= room.bottom && box.top >= 0, text);
      }
    });
  }
});

describe("The overview strip", () => {
  it("joins neighbours that are too narrow to be seen, and loses no bytes", () => {
    const small = Array.from({ length: 50 }, (_, i) => ({
      name: `t${i}`,
      byteLength: 1,
      isKept: true,
    }));
    const large = { name: "w", byteLength: 1_000_000, isKept: false };
    const { bars, total } = groupBars([...small, large]);
    assert.deepEqual(
      bars.map(({ first, count }) => [first, count]),
      [
        ["t0", 50],
        ["w", 1],
      ],
    );
    assert.equal(
      bars.reduce((sum, { bytes }) => sum + bytes, 0),
      total,
    );
  });
});
