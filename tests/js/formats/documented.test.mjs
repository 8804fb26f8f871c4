// docs/formats.md says what the code does.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import {
  describeQuantization,
  findQuantizedWeights,
  LAYOUT_NAMES,
  METHODS,
} from "../../internal/formats.mjs";
import { OUTPUT_FORMATS, READERS } from "../../internal/models.mjs";

const text = readFileSync(new URL("../../../docs/formats.md", import.meta.url), "utf8");

/** The rows of the table below a heading, as cells. */
function tableOf(heading) {
  const [, part] = text.split(`## ${heading}\n`);
  const lines = part.split("\n## ")[0].split("\n");
  return lines
    .filter((line) => line.startsWith("| "))
    .slice(2)
    .map((line) => line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "")));
}

const namesIn = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name);

describe("docs/formats.md", () => {
  it("lists the formats that are read, and those that are written", () => {
    const rows = tableOf("Files");
    assert.deepEqual(rows.flatMap(([name]) => namesIn(name)).sort(), Object.keys(READERS).sort());
    const written = rows.filter(([, , how]) => how !== "no").flatMap(([name]) => namesIn(name));
    assert.deepEqual(written.sort(), [...OUTPUT_FORMATS].sort());
  });

  it("lists the layouts that are told by the names of their tensors", () => {
    const names = tableOf("Layouts of quantized checkpoints").flatMap(([name]) => namesIn(name));
    assert.deepEqual(names.sort(), [...LAYOUT_NAMES].sort());
  });

  it("names tensors by which a layout is found", () => {
    const int8 = { "m.weight": "int8", "m.SCB": "float32" };
    const mlx = { "m.weight": "uint32", "m.scales": "float16", "m.biases": "float16" };
    for (const [tensors, layout] of [
      [int8, "rows-int8"],
      [mlx, "mlx"],
    ]) {
      const infos = Object.entries(tensors).map(([name, dtype]) => [
        name,
        { dtype, shape: [4, 4] },
      ]);
      assert.deepEqual(
        findQuantizedWeights(new Map(infos)).map((found) => found.layout),
        [layout],
      );
    }
  });

  it("lists the methods that are read, and refuses those that it says are refused", () => {
    const [read, refused] = tableOf("Methods in a configuration").map(([cell]) => namesIn(cell));
    assert.deepEqual(read.sort(), [...METHODS].sort());
    for (const quant_method of refused) {
      const { refused: why } = describeQuantization({ quantization_config: { quant_method } });
      assert.equal(why, `quant_method ${JSON.stringify(quant_method)}`);
    }
  });
});
