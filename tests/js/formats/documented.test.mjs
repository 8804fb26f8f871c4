// docs/formats.md says what the code does.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { describeQuantization, LAYOUT_NAMES, METHODS } from "../../internal/formats.mjs";
import { OUTPUT_FORMATS, READERS } from "../../internal/models.mjs";
import { outputBytes, safetensorsOf, someValues } from "../support/files/checkpoints.mjs";
import { LAYOUTS, referenceCheckpoint } from "../support/files/reference-layouts.mjs";

await init();

const text = readFileSync(new URL("../../../docs/formats.md", import.meta.url), "utf8");

/** The rows of the table below a heading, as cells. */
function tableOf(heading) {
  const [, part] = text.split(`## ${heading}\n`);
  const lines = part.split("\n## ")[0].split("\n");
  return lines
    .filter((line) => line.startsWith("| "))
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<=\s)\|/)
        .map((cell) => cell.trim()),
    );
}

const namesIn = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name);

const open = async (tensors, config) =>
  openModel(await safetensorsOf(tensors), {
    externalData: (path) =>
      path === "config.json" ? new TextEncoder().encode(JSON.stringify(config)) : new Uint8Array(0),
  });

describe("docs/formats.md", () => {
  it("lists the formats that are read, and those that are written", () => {
    const rows = tableOf("Files");
    assert.deepEqual(rows.flatMap(([name]) => namesIn(name)).sort(), Object.keys(READERS).sort());
    const written = rows.filter(([, , how]) => how !== "no").flatMap(([name]) => namesIn(name));
    assert.deepEqual(written.sort(), [...OUTPUT_FORMATS].sort());
  });

  const layoutRows = tableOf("Layouts of quantized checkpoints");

  it("lists the layouts that are told by the names of their tensors", () => {
    const names = layoutRows.flatMap(([name]) => namesIn(name));
    assert.deepEqual(names.sort(), [...LAYOUT_NAMES].sort());
  });

  it("says which layouts are read: a checkpoint of each has its values", async () => {
    const read = new Set();
    for (const layout of Object.keys(LAYOUTS)) {
      const made = referenceCheckpoint(layout, 32, 128, 1);
      if (made.values === undefined) continue;
      const model = await open(made.tensors, made.config);
      assert.ok((await model.read(made.name)).data.every((value, i) => value === made.values[i]));
      read.add(model.tensors.get(made.name).layout.replace("bitsandbytes int8", "rows-int8"));
    }
    const named = layoutRows.filter(([, , how]) => how === "yes").map(([name]) => namesIn(name)[0]);
    for (const name of named) assert.ok(read.has(name), name);
    assert.equal(named.length, LAYOUT_NAMES.length);
  });

  it("says what writes a layout: a file of each target has the layouts of its rows", async () => {
    const written = new Map();
    for (const [target, schemes, options] of [
      ["compressed-tensors", ["int4-g32", "int8-channel"], {}],
      ["compressed-tensors", ["int8-channel"], { activations: "dynamic" }],
      ["mlx", ["uint4-g32-affine"], {}],
    ]) {
      for (const scheme of schemes) {
        const weight = ["float32", [32, 64], someValues(32 * 64)];
        const model = await open({ "m.weight": weight }, { model_type: "llama" });
        const { files } = await quantizeModel(model, scheme, { target, ...options });
        const bytes = new Map();
        for (const file of files) bytes.set(file.name, await outputBytes(file));
        const main = [...bytes.keys()].find((name) => name.endsWith(".safetensors"));
        const again = await openModel(bytes.get(main), {
          externalData: (path) => bytes.get(path) ?? new Uint8Array(0),
        });
        written.set(again.tensors.get("m.weight").layout, target);
      }
    }
    for (const [name, , , by] of layoutRows) {
      const [layout] = namesIn(name);
      assert.equal(written.get(layout), by === "no" ? undefined : namesIn(by)[0], layout);
    }
  });

  it("says what is refused of a layout", async () => {
    const without = (part) => (made) => {
      delete made.tensors[part];
    };
    const scaled = (shape) => (made) => {
      made.tensors["m.weight_scale"] = ["float32", shape, new Float32Array(shape[0] * shape[1])];
    };
    const configured = (fields) => (made) => {
      Object.assign(made.config.quantization_config, fields);
    };
    const refused = {
      "compressed-tensors": [
        ["int8 with zero points of compressed-tensors", without("m.weight_zero_point")],
      ],
      int8: [["int8 of compressed-tensors", scaled([3, 5])]],
      "rows-int8": [
        [
          "int8 of bitsandbytes",
          (made) => {
            made.tensors["m.weight_format"] = ["uint8", [], Uint8Array.of(1)];
          },
        ],
      ],
      mlx: [
        [
          "MLX of 4 bits",
          (made) => {
            made.config = {};
          },
        ],
      ],
      "mlx-float": [
        [
          "MXFP4 of MLX",
          (made) => {
            made.config.quantization.mode = "mxfp3";
          },
        ],
      ],
      gptq: [
        ["GPTQ", configured({ checkpoint_format: "marlin" })],
        ["GPTQ with the groups of act-order", without("m.g_idx"), 256],
      ],
      awq: [["AWQ", configured({ version: "gemv" })]],
      float8: [["float8 of compressed-tensors", scaled([3, 5])]],
      float4: [["NVFP4 of ModelOpt", without("m.weight_scale_2")]],
    };
    for (const [name, , , , what] of layoutRows) {
      const [layout] = namesIn(name);
      assert.equal(Object.hasOwn(refused, layout), what !== "", layout);
      for (const [reference, change, columns = 128] of refused[layout] ?? []) {
        const made = referenceCheckpoint(reference, 32, columns, 1);
        change(made);
        const model = await open(made.tensors, made.config);
        const [codes] = Object.keys(made.tensors);
        const own = model.tensors.has("m.weight") ? "m.weight" : codes;
        await assert.rejects(
          model.read(own),
          { code: /^ZP_(UNSUPPORTED|INVALID)_FILE$/ },
          reference,
        );
      }
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
