import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { bytesSource, readOnnx } from "../../../internal/formats.mjs";
import { dequantized, LAYERS, modelOf, quantized } from "../../support/onnx/layers.mjs";
import { constant, normals, onnxModel } from "../../support/onnx/models.mjs";
import { runOnnx } from "../../support/onnx/run.mjs";

before(() => init());

const sizeOf = (shape) => shape.reduce((product, length) => product * length, 1);

function assertNear(actual, expected, tolerance, message) {
  assert.equal(actual.length, expected.length);
  for (let i = 0; i < expected.length; i++) {
    const isNear = Math.abs(actual[i] - expected[i]) <= tolerance;
    if (!isNear) assert.fail(`${message}: [${i}] is ${actual[i]}, not ${expected[i]}`);
  }
}

/** The values of the weight w of a model. */
const weightIn = async (bytes) => (await (await openModel(bytes)).read("w")).data;

const FORMS = {
  DequantizeLinear: { target: "portable", opset: 21 },
  "Cast and Mul": { target: "web", opset: 17 },
};

describe("quantizeModel to ONNX", () => {
  for (const [title, layer] of Object.entries(LAYERS)) {
    const data = normals(sizeOf(layer.shape), 3);
    for (const scheme of [
      "int8-tensor",
      "int8-channel",
      "int4-tensor",
      "int4-channel",
      "int4-g32",
      "int8-g20",
      "uint4-g32-affine",
      "uint8-channel-affine",
      "int2-g16",
    ]) {
      for (const [form, { target, opset }] of Object.entries(FORMS)) {
        it(`gives ${title} the values of ${scheme} by ${form}`, async () => {
          const options = { irVersion: 10, opsets: { "": opset } };
          const bytes = await modelOf(layer, data, options);
          const { bytes: written, report } = await quantized(bytes, () => scheme, { target });
          const row = report.rows.find(({ name }) => name === "w");
          assert.equal(row.scheme, scheme);
          const expected = await runOnnx(
            await modelOf(layer, dequantized(data, layer.shape, layer.axes, scheme)),
            layer.inputs,
          );
          const { y: actual } = await runOnnx(written, layer.inputs);
          assert.deepEqual(actual.shape, expected.y.shape);
          // Scales of a tensor are doubles here and float32 there: 2^-24 of each of at most 96 products below 4.
          assertNear(actual.data, expected.y.data, 96 * 16 * 2 ** -24, row.form);
        });
      }
    }
  }

  it("gives DequantizeLinear a zero point where values are moved behind it", async () => {
    const inputsFor = async (title, scheme) => {
      const { shape } = LAYERS[title];
      const data = normals(shape.reduce((a, b) => a * b, 1));
      const bytes = await modelOf(LAYERS[title], data, { irVersion: 10, opsets: { "": 21 } });
      const written = await quantized(bytes, () => scheme, {});
      const { graph } = await readOnnx(bytesSource(written.bytes));
      const node = graph.nodes.find(({ opType }) => opType === "DequantizeLinear");
      const model = await openModel(written.bytes);
      const q = await model.readQuantized("w");
      assert.deepEqual(
        [...model.tensors.keys()].filter((name) => name.includes("zero")),
        [],
      );
      assert.equal(q.scheme, "symmetric");
      return node.inputs.length;
    };
    assert.equal(await inputsFor("MatMul", "int8-tensor"), 2);
    assert.equal(await inputsFor("MatMul by a transposed weight", "int8-tensor"), 3);
    assert.equal(await inputsFor("MatMul by a transposed weight", "int4-channel"), 3);
    // Groups of a convolution are reshaped.
    assert.equal(await inputsFor("Conv", "int8-g24"), 3);
  });

  it("gives no DequantizeLinear per channel to a Transpose without perm", async () => {
    const layer = LAYERS["MatMul by a transposed weight"];
    const [{ opType, inputs, outputs }, product] = layer.graph.nodes;
    const graph = { ...layer.graph, nodes: [{ opType, inputs, outputs }, product] };
    const formOf = async (graph, scheme) => {
      const options = { irVersion: 10, opsets: { "": 21 } };
      const bytes = await modelOf({ ...layer, graph }, normals(20 * 96), options);
      return (await quantized(bytes, () => scheme, {})).report.rows[0].form;
    };
    assert.equal(await formOf(graph, "int8-channel"), "Cast and Mul");
    assert.equal(await formOf(graph, "int8-tensor"), "DequantizeLinear");
    assert.equal(await formOf(layer.graph, "int8-channel"), "DequantizeLinear");
  });

  it("looks no rows up whose packed zero points end within a byte", async () => {
    const formOf = async (columns, scheme) => {
      const layer = { ...LAYERS.Gather, shape: [30, columns] };
      layer.graph = { ...layer.graph, outputs: [{ name: "y", shape: [4, columns] }] };
      const options = { irVersion: 10, opsets: { "": 21 } };
      const bytes = await modelOf(layer, normals(30 * columns), options);
      const { report } = await quantized(bytes, () => scheme, { target: "webgpu" });
      return report.rows[0].form;
    };
    assert.equal(await formOf(64, "uint4-g32-affine"), "MatMulNBits");
    assert.equal(await formOf(96, "uint4-g32-affine"), "DequantizeLinear");
    assert.equal(await formOf(96, "int4-g32"), "MatMulNBits");
    assert.equal(await formOf(96, "uint8-g32-affine"), "MatMulNBits");
  });

  it("chooses forms by target", async () => {
    const layer = LAYERS.MatMul;
    const bytes = await modelOf(layer, normals(96 * 20));
    const recent = await modelOf(layer, normals(96 * 20), { irVersion: 10, opsets: { "": 21 } });
    const formOf = async (given, scheme, options) => {
      const { report } = await quantized(given, scheme, options);
      return report.rows[0].form;
    };
    assert.equal(await formOf(bytes, "int8-channel", {}), "DequantizeLinear");
    assert.equal(await formOf(bytes, "int4-g32", {}), "Cast and Mul");
    assert.equal(await formOf(recent, "int4-g32", {}), "DequantizeLinear");
    // Before opset 21 DequantizeLinear takes a byte for each code.
    assert.equal(await formOf(bytes, "int4-channel", {}), "Cast and Mul");
    assert.equal(await formOf(recent, "int4-channel", {}), "DequantizeLinear");
    assert.equal(await formOf(recent, "int4-g32", { target: "web" }), "Cast and Mul");
    assert.equal(await formOf(recent, "int4-g32", { target: "node" }), "DequantizeLinear");
    assert.equal(await formOf(bytes, "int4-g32", { target: "node" }), "MatMulNBits");
    assert.equal(await formOf(recent, "int4-g32", { target: "webgpu" }), "MatMulNBits");
    assert.equal(
      await formOf(bytes, "int8-channel", { target: "web", activations: "dynamic" }),
      "DynamicQuantizeLinear and MatMulInteger",
    );
    await assert.rejects(quantized(bytes, "int8-channel", { target: "phone" }), {
      code: "ZP_INVALID_OPTION",
      message: /"webgpu", "portable", "transformers.js" for ONNX, got "phone"/,
    });
  });

  it("multiplies dynamically by a weight from one of its axes alone", async () => {
    const transB = { transB: { int: 1 } };
    const graphOf = (first, second) => ({
      inputs: [{ name: "x", shape: [3, 32] }],
      outputs: [{ name: "y", shape: [3, 32] }],
      nodes: [
        {
          opType: "Transpose",
          inputs: ["w"],
          outputs: ["t"],
          attributes: { perm: { ints: [1, 0] } },
        },
        { opType: "MatMul", inputs: ["x", first], outputs: ["a"] },
        { opType: "Gemm", inputs: ["a", second], outputs: ["y"], attributes: transB },
      ],
    });
    const formOf = async (...names) => {
      const bytes = await modelOf({ shape: [32, 32], graph: graphOf(...names) }, normals(1024));
      const { report } = await quantized(bytes, "int8-channel", { activations: "dynamic" });
      return report.rows[0].form;
    };
    assert.equal(await formOf("w", "w"), "DequantizeLinear");
    assert.equal(await formOf("t", "t"), "DequantizeLinear");
    assert.equal(await formOf("t", "w"), "DynamicQuantizeLinear and MatMulInteger");
  });

  it("stores the codes of MatMulInteger as uint8, whose products with uint8 no engine saturates", async () => {
    const bytes = await modelOf(LAYERS.MatMul, normals(96 * 20));
    for (const scheme of ["int8-channel", "int8-tensor"]) {
      const { bytes: written } = await quantized(bytes, scheme, { activations: "dynamic" });
      const { dtype, data, zeroPoint } = await (await openModel(written)).readQuantized("w");
      assert.equal(dtype, "uint8");
      assert.ok(Math.min(...data) >= 1 && Math.max(...data) === 255, scheme);
      const zeros = typeof zeroPoint === "number" ? [zeroPoint] : [...zeroPoint.data];
      assert.deepEqual(zeros, Array(zeros.length).fill(128), scheme);
    }
  });

  it("gives weights of which parts are used no form that moves scales or replaces the operator", async () => {
    const bytes = await modelOf(LAYERS["Conv by parts of a weight"], normals(24 * 48), {
      irVersion: 10,
      opsets: { "": 21 },
    });
    for (const target of ["portable", "web", "node", "webgpu"]) {
      for (const scheme of ["int8-channel", "int4-g32"]) {
        const { report } = await quantized(bytes, () => scheme, { target });
        const { form } = report.rows.find(({ name }) => name === "w");
        assert.equal(form, "Cast and Mul", `${scheme} for ${target}`);
      }
    }
  });

  it("keeps weights behind an operator of which a part is an output of the graph", async () => {
    const { graph, shape } = LAYERS["Conv by parts of a weight"];
    const outputs = [...graph.outputs, { name: "low", shape: [8, 48] }];
    const bytes = await modelOf({ graph: { ...graph, outputs }, shape }, normals(24 * 48));
    const { report } = await quantized(bytes, "int8-channel", {});
    const { reason } = report.rows.find(({ name }) => name === "w");
    assert.equal(reason, "Slice of it is an output of its graph");
  });

  it("never changes the versions of operators, and imports Microsoft's where it uses them", async () => {
    const bytes = await modelOf(LAYERS.MatMul, normals(96 * 20), { opsets: { "": 15 } });
    const opsets = async (target) => {
      const { bytes: written } = await quantized(bytes, "int4-g32", { target });
      return Object.fromEntries((await readOnnx(bytesSource(written))).opsets);
    };
    assert.deepEqual(await opsets("portable"), { "": 15 });
    assert.deepEqual(await opsets("webgpu"), { "": 15, "com.microsoft": 1 });
  });

  for (const [title, layer] of Object.entries(LAYERS)) {
    const { shape, axes } = layer;
    const data = normals(sizeOf(shape), 3);
    for (const opset of [17, 21]) {
      const options = { irVersion: 10, opsets: { "": opset } };
      for (const target of ["portable", "web", "node", "webgpu"]) {
        it(`writes files for ${target} whose weight of ${title}, opset ${opset}, is read under its own name`, async () => {
          const bytes = await modelOf(layer, data, options);
          // Searched scales are the library's own in all forms.
          const schemes = ["int8-tensor", "uint8-channel-affine", "int4-g32-mse", "int4-g20"];
          for (const scheme of schemes) {
            const { bytes: written, report } = await quantized(bytes, () => scheme, { target });
            const message = `${scheme}: ${report.rows[0].form}`;
            const own = (await openModel(written)).tensors.get("w");
            assert.deepEqual([[...own.shape], own.isQuantized], [shape, true], message);
            const expected = dequantized(data, shape, axes, scheme);
            assertNear(await weightIn(written), expected, 4 * 2 ** -22, message);
          }
        });
      }

      it(`writes files with dynamic activations whose weight of ${title}, opset ${opset}, is read bit for bit`, async () => {
        const bytes = await modelOf(layer, data, options);
        const dynamic = { activations: "dynamic" };
        const { bytes: written } = await quantized(bytes, () => "int8-channel", dynamic);
        const expected = dequantized(data, shape, axes, "int8-channel");
        assertNear(await weightIn(written), expected, 0, "dynamic");
      });
    }
  }

  /** Layers whose weights are read at once, kept while they are written, and in pieces. */
  const LONG = {
    "MatMul of half a million values": { ...LAYERS.MatMul, shape: [600, 800] },
    MatMul: { ...LAYERS.MatMul, shape: [1030, 1100] },
    "Gemm with transB and a bias": {
      ...LAYERS["Gemm with transB and a bias"],
      shape: [1100, 1030],
    },
  };
  for (const [title, layer] of Object.entries(LONG)) {
    it(`quantizes a weight of ${title} in pieces as in one`, async () => {
      const data = normals(layer.shape[0] * layer.shape[1], 3);
      const bytes = await modelOf(layer, data, { irVersion: 10, opsets: { "": 21 } });
      for (const scheme of [
        "int8-tensor",
        "uint8-tensor-affine",
        "int8-channel",
        "uint4-channel-affine",
        "int4-g32",
        "uint4-g50-affine",
      ]) {
        const expected = dequantized(data, layer.shape, layer.axes, scheme);
        for (const target of ["portable", "web"]) {
          const { bytes: written } = await quantized(bytes, () => scheme, { target });
          assertNear(await weightIn(written), expected, 5 * 2 ** -22, `${scheme} for ${target}`);
        }
      }
      for (const scheme of ["int4-g32-mse", "uint4-g64-affine-mse"]) {
        const { bytes: written, report } = await quantized(bytes, () => scheme, {
          target: "webgpu",
        });
        assert.equal(report.rows[0].form, "MatMulNBits");
        const expected = dequantized(data, layer.shape, layer.axes, scheme);
        assertNear(await weightIn(written), expected, 0, scheme);
      }
    });
  }

  describe("of a model larger than 1.9 GB", () => {
    const size = 1.1e9;
    const zeros = { size: 64 + 2 * size, read: (_, length) => new Uint8Array(length) };
    const far = (name, offset) => ({
      name,
      shape: [size / 4],
      dtype: "float32",
      bytes: () => [],
      place: { location: "old.bin", offset },
    });
    let bytes;
    let result;
    let main;
    before(async () => {
      const concat = { opType: "Concat", inputs: ["a", "b"], outputs: ["c"] };
      const weight = constant("w", [96, 20], normals(96 * 20));
      bytes = await onnxModel({
        ...LAYERS.MatMul.graph,
        nodes: [...LAYERS.MatMul.graph.nodes, { ...concat, attributes: { axis: { int: 0 } } }],
        initializers: [weight, far("a", 64), far("b", 64 + size)],
      });
      const model = await openModel(bytes, { externalData: () => zeros });
      result = await quantizeModel(model, "int8-channel");
      main = new Uint8Array(await new Response(result.files[0].stream()).arrayBuffer());
    });

    it("puts tensors into one file of external data", () => {
      const { files, report } = result;
      assert.deepEqual(
        files.map(({ name }) => name),
        ["model.onnx", "model.onnx.data"],
      );
      assert.equal(report.bytesBefore, bytes.length + 2 * size);
      assert.ok(main.length === files[0].size && main.length < 4000, `${main.length} bytes`);
      assert.ok(files[1].size >= 2 * size + 96 * 20 && files[1].size < 2 * size + 96 * 20 + 200);
      assert.equal(report.rows.find(({ name }) => name === "w").scheme, "int8-channel");
    });

    it("refers to that file for every tensor", async () => {
      const asked = new Set();
      const { tensors } = await readOnnx(bytesSource(main), {
        externalData: (path) => {
          asked.add(path);
          return { ...zeros, size: result.files[1].size };
        },
      });
      for (const name of ["a", "b", "w_quantized"]) {
        assert.equal(tensors.get(name).stored, "external");
        const { value } = await tensors.get(name).bytes()[Symbol.asyncIterator]().next();
        assert.ok(value.length > 0);
      }
      assert.deepEqual([...asked], ["model.onnx.data"]);
    });
  });

  it("takes external data into the file of a model that has room", async () => {
    const data = normals(96 * 20);
    const bytes = await onnxModel({
      ...LAYERS.MatMul.graph,
      initializers: [{ ...constant("w", [96, 20], data), place: { location: "w.bin", offset: 8 } }],
    });
    const beside = new Uint8Array(8 + data.byteLength);
    beside.set(new Uint8Array(data.buffer), 8);
    const model = await openModel(bytes, { externalData: () => beside });
    const { files } = await quantizeModel(model, () => undefined);
    const main = new Uint8Array(await new Response(files[0].stream()).arrayBuffer());
    assert.deepEqual((await (await openModel(main)).read("w")).data, data);
  });

  const [x, y] = [LAYERS.MatMul.graph.inputs[0], LAYERS.MatMul.graph.outputs[0]];
  const product = { opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] };

  /** The reason why the weight of a graph is kept, with all bytes of the model; else its scheme. */
  async function reasonIn(graph, options) {
    const weight = constant("w", [96, 20], normals(96 * 20));
    const own = { ...LAYERS.MatMul.graph, initializers: [weight], ...graph };
    const bytes = await onnxModel(own, options);
    const { bytes: written, report } = await quantized(bytes, () => "int8-channel");
    const { scheme, reason } = report.rows.find(({ name }) => name === "w");
    if (scheme === "keep") assert.deepEqual(written, bytes);
    return reason ?? scheme;
  }

  for (const [title, layer] of Object.entries(LAYERS)) {
    it(`reports for each weight of ${title} the bytes by which it changes the file`, async () => {
      const opsets = { "": 21, "com.microsoft": 1 };
      const bytes = await modelOf(layer, normals(sizeOf(layer.shape)), { irVersion: 10, opsets });
      for (const target of ["portable", "web", "webgpu"]) {
        for (const scheme of ["int8-channel", "int4-g32-affine", "int3-g16", "float16"]) {
          const { bytes: written, report } = await quantized(bytes, () => scheme, { target });
          const grown = report.rows
            .filter((row) => row.scheme !== "keep")
            .reduce((sum, row) => sum + row.bytesAfter + row.headerBytes - row.bytesBefore, 0);
          // The lengths of graph and nodes take one byte more from 128 and 16,384 bytes on.
          const difference = Math.abs(written.length - bytes.length - grown);
          assert.ok(difference <= 4, `${scheme} for ${target}: ${difference}`);
        }
      }
    });
  }

  it("compares the sizes of files, with the graph in both of them", async () => {
    const bytes = await modelOf(LAYERS.MatMul, normals(96 * 20));
    const { bytes: written, report } = await quantized(bytes, "keep", {});
    assert.equal(report.bytesBefore, bytes.length);
    assert.equal(report.bytesAfter, written.length);
  });

  it("keeps weights that are outputs or inputs of their graph", async () => {
    const w = { name: "w", shape: [96, 20] };
    assert.equal(await reasonIn({}), "int8-channel");
    assert.equal(await reasonIn({ outputs: [y, w] }), "an output of its graph");
    assert.equal(await reasonIn({ inputs: [x, w] }), "a default that callers can replace");
    assert.equal(await reasonIn({ inputs: [x, w] }, { irVersion: 3 }), "int8-channel");
  });

  it("keeps weights of models whose opset is too old", async () => {
    assert.equal(
      await reasonIn({}, { opsets: { "": 6 } }),
      "DequantizeLinear per channel needs opset 13, the model has 6; Mul of shapes needs opset 7, the model has 6",
    );
  });

  it("keeps weights with other uses, and names the use", async () => {
    const sum = { opType: "Add", inputs: ["w", "w"], outputs: ["z"] };
    assert.equal(await reasonIn({ nodes: [product, sum] }), "used by Add");
    const call = { opType: "Mine", domain: "my", inputs: ["x", "w"], outputs: ["y"] };
    assert.equal(await reasonIn({ nodes: [call] }), "used by my.Mine");
    const turned = { opType: "Transpose", inputs: ["w"], outputs: ["t"] };
    const outputs = [y, { name: "t", shape: [20, 96] }];
    assert.match(
      await reasonIn({ nodes: [product, turned], outputs }),
      /Transpose of it is an output/,
    );
  });

  /** A model of two branches: one has a weight w of its own, the other one uses the outer graph's. */
  const twoBranches = () => {
    const product = (output) => ({
      nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: [output] }],
      outputs: [{ name: output, shape: ["m", 20] }],
    });
    const weight = (seed) => [constant("w", [96, 20], normals(96 * 20, seed))];
    const graphs = {
      then_branch: { ...product("a"), initializers: weight(6) },
      else_branch: product("z"),
    };
    return onnxModel({
      inputs: [x, { name: "c", shape: [], dtype: "bool" }],
      outputs: [y],
      initializers: weight(5),
      nodes: [{ name: "if", opType: "If", inputs: ["c"], outputs: ["y"], graphs }],
    });
  };

  for (const [target, scheme, tolerance] of [
    ["portable", "int8-channel", 0.6],
    ["web", "int8-channel", 0.6],
    ["webgpu", "int4-g32", 8],
  ]) {
    it(`finds weights in branches, under names that the outer graph has, for ${target}`, async () => {
      const bytes = await twoBranches();
      const { bytes: written, report } = await quantized(bytes, () => scheme, { target });
      assert.deepEqual(
        report.rows.map((row) => [row.name, row.scheme]),
        [
          ["g/if.then_branch/w", scheme],
          ["w", scheme],
        ],
      );
      const again = await openModel(written);
      assert.deepEqual([...again.tensors.keys()].sort(), ["g/if.then_branch/w", "w"]);
      for (const c of [0, 1]) {
        const inputs = { ...LAYERS.MatMul.inputs, c: { shape: [], data: [c] } };
        const [{ y: actual }, { y: expected }] = [
          await runOnnx(written, inputs),
          await runOnnx(bytes, inputs),
        ];
        assertNear(actual.data, expected.data, tolerance, `c = ${c}`);
      }
    });
  }
});
