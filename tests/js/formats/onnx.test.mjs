import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  bytesField,
  bytesSource,
  dataTypeOf,
  floatField,
  joinParts,
  nodeMessage,
  OnnxEditor,
  OnnxNode,
  OnnxTensor,
  readOnnx,
  tensorMessage,
  varint,
  varintField,
} from "../../internal/formats.mjs";
import {
  assertTensor,
  assertVerdict,
  collect,
  fuzzReader,
  openFully,
  property,
  tensorsOf,
  vectorsOf,
} from "../support/files/formats.mjs";

const vectors = vectorsOf("onnx");
const isModel = (name) => name.endsWith(".onnx");
const has = (names, name) => names.includes(name);
const externalData = (location) =>
  has(vectors.names, location) ? vectors.source(location) : undefined;
const badData = (location) =>
  has(vectors.badNames, location) ? bytesSource(vectors.badBytes(location)) : undefined;

const open = (source) => readOnnx(source, { externalData });

const NAMES = {
  FLOAT: "float32",
  DOUBLE: "float64",
  FLOAT8E4M3FN: "float8_e4m3fn",
  FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
  FLOAT8E5M2: "float8_e5m2",
  FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
  FLOAT8E8M0: "float8_e8m0fnu",
  FLOAT4E2M1: "float4_e2m1fn",
};

/** All graphs of a model, those of attributes included. */
function graphsOf(graph) {
  const inner = graph.nodes.flatMap((node) =>
    [...node.attributes.values()].flatMap(({ graph, graphs }) => [
      ...(graph ? [graph] : []),
      ...graphs,
    ]),
  );
  return [graph, ...inner.flatMap(graphsOf)];
}

describe("readOnnx", () => {
  for (const { id, file, ir_version: irVersion, opset, ops, initializers } of vectors.cases) {
    it(`reads the versions and operators of ${id}`, async () => {
      const model = await open(vectors.source(file));
      assert.equal(model.irVersion, irVersion);
      assert.deepEqual(Object.fromEntries(model.opsets), opset);
      assert.deepEqual([...new Set(model.graph.nodes.map((node) => node.opType))].sort(), ops);
    });

    it(`lists the initializers of all graphs of ${id}`, async () => {
      const { graph } = await open(vectors.source(file));
      const found = graphsOf(graph).flatMap((graph) =>
        graph.initializers.map((tensor) => [
          graph.path,
          tensor.name,
          tensor.dtype,
          [...tensor.shape],
        ]),
      );
      const expected = initializers
        .filter(({ dtype }) => dtype !== "STRING")
        .map(({ graph, name, dtype, shape }) => [
          graph,
          name,
          NAMES[dtype] ?? dtype.toLowerCase(),
          shape,
        ]);
      const sorted = (list) => list.map((item) => JSON.stringify(item)).sort();
      assert.deepEqual(sorted(found), sorted(expected));
    });

    if (initializers.length === 0) continue;

    it(`reads the bytes of the initializers of ${id}`, async () => {
      const { graph } = await open(vectors.source(file));
      for (const { path, initializers: tensors } of graphsOf(graph)) {
        for (const tensor of tensors) {
          const { stored } = initializers.find(
            (each) => each.name === tensor.name && each.graph === path,
          );
          // Files of unusual wire formats hold the values of one that was written plainly.
          if (!id.startsWith("wire-") && tensor.byteLength > 0) assert.equal(tensor.stored, stored);
          assert.equal((await collect(tensor.bytes())).length, tensor.byteLength);
        }
      }
    });
  }

  it("reads every type of tensor in every kind of storage", async () => {
    const { tensors: expected } = vectors.cases.find(({ id }) => id === "tensor-types");
    const { tensors, graph } = await open(vectors.source("tensor-types.onnx"));
    assert.deepEqual(graph.otherInitializers, ["str"]);
    for (const each of expected) {
      if (each.dtype === "STRING") continue;
      const tensor = tensors.get(each.name);
      await assertTensor(tensor, each, each.name);
      const complex = each.c64 ?? each.c128;
      if (complex)
        assert.equal(btoa(String.fromCharCode(...(await collect(tensor.bytes())))), complex);
    }
  });

  it("reads equal values from every form of storage", async () => {
    const [packed, tagged, split, raw] = await Promise.all(
      ["store-float-data", "wire-unpacked-floats", "wire-split-floats", "wire-packed-dims"].map(
        async (name) => {
          const { tensors } = await open(vectors.source(`${name}.onnx`));
          return tensors.get("w");
        },
      ),
    );
    assert.ok(packed.span && raw.span && !tagged.span && !split.span);
    const values = await collect(raw.bytes());
    assert.deepEqual(await collect(tagged.bytes()), values);
    assert.deepEqual(await collect(split.bytes()), values);
    for (const tensor of [packed, tagged, split, raw]) {
      const bytes = await collect(tensor.bytes());
      assert.equal(bytes.length, 960);
      assert.deepEqual(await collect(tensor.bytes(5, 900)), bytes.subarray(5, 900));
    }
  });

  it("finds tensors of Constant nodes, functions and subgraphs", async () => {
    const names = async (file) => [...(await open(vectors.source(file))).tensors.keys()];
    assert.equal((await names("store-constant-node.onnx")).length, 1);
    const { tensors } = await open(vectors.source("store-constant-floats.onnx"));
    const [floats] = tensors.values();
    assert.equal(floats.dtype, "float32");
    assert.equal((await collect(floats.bytes())).length, floats.byteLength);
    assert.ok((await names("if.onnx")).includes("g/if0.then_branch/wt"));
    const inFunction = await open(vectors.source("function-constant.onnx"));
    assert.equal(inFunction.functions.length, 1);
    assert.equal(inFunction.tensors.size, 1);
  });

  it("reads names, attributes and types", async () => {
    const { graph } = await open(vectors.source("conv2d.onnx"));
    const [conv] = graph.nodes;
    assert.ok(conv instanceof OnnxNode && conv.graph === graph);
    assert.deepEqual(conv.inputs, ["x", "w", "b"]);
    assert.ok(
      conv.attributes.get("pads") === undefined || conv.attributes.get("pads").ints.length === 4,
    );
    assert.equal(graph.inputs[0].elementType, 1);
    assert.ok(graph.inputs[0].shape.length > 0);
    const symbolic = await open(vectors.source("symbolic-shapes.onnx"));
    assert.ok(
      symbolic.graph.inputs.some(({ shape }) => shape.some((length) => typeof length === "string")),
    );
    const gemm = (await open(vectors.source("gemm-2.onnx"))).graph.nodes[0].attributes;
    assert.deepEqual([gemm.get("alpha").float, gemm.get("transA").int], [0.5, 1]);
  });

  for (const verdict of vectors.bad) {
    it(`${verdict.zeropoint}s ${verdict.file}: ${verdict.what}`, () =>
      assertVerdict(
        (source) => readOnnx(source, { externalData: badData }),
        vectors.badBytes(verdict.file),
        verdict,
      ));
  }

  it("asks for external data only when values are read, and says which file is missing", async () => {
    const locations = [];
    const source = vectors.source("external-subdir.onnx");
    const { tensors } = await readOnnx(source, {
      externalData: (location) => {
        locations.push(location);
      },
    });
    assert.deepEqual(locations, []);
    const [tensor] = tensors.values();
    await assert.rejects(
      collect(tensor.bytes()),
      /external data in "sub\/external.bin", found no such file/,
    );
    assert.deepEqual(locations, ["sub/external.bin"]);
  });

  fuzzReader(it, open, {
    ...vectors,
    names: vectors.names.filter(isModel),
    badNames: vectors.badNames.filter(isModel),
  });

  const numbers = fc.constantFrom(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 20, 25, 200);
  const join = (parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
  const message = fc.letrec((tie) => ({
    message: fc.array(tie("field"), { maxLength: 6 }).map(join),
    field: fc.oneof(
      { maxDepth: 8 },
      fc
        .tuple(numbers, fc.constantFrom(0, 1, 2, 3, 99, -1, 2 ** 31, 2n ** 62n))
        .map(([n, v]) => join(varintField(n, v))),
      fc
        .tuple(numbers, fc.constantFrom("", "w", "x", "Constant", "value", "0", "\ud800"))
        .map(([n, text]) => join(bytesField(n, text))),
      numbers.map((n) => join(floatField(n, 1.5))),
      fc.tuple(numbers, tie("message")).map(([n, inner]) => join(bytesField(n, inner))),
      fc
        .tuple(fc.constantFrom(1, 5, 6, 7, 8), tie("message"))
        .map(([n, inner]) => join(bytesField(n, inner))),
    ),
  })).message;
  property(
    it,
    "reads any structure or refuses it",
    [message, fc.boolean()],
    async (graph, isWhole) => {
      const opset = bytesField(8, varintField(2, 17));
      const bytes = isWhole
        ? join([...varintField(1, 8), ...opset, ...bytesField(7, graph)])
        : graph;
      await openFully(open, bytes, "structure");
    },
    1500,
  );
});

describe("OnnxEditor", () => {
  for (const file of vectors.names.filter(isModel)) {
    it(`keeps every byte of ${file} where nothing is edited`, async () => {
      const model = await open(vectors.source(file));
      const { byteLength, bytes } = new OnnxEditor(model).finish();
      const kept = await collect(bytes());
      assert.deepEqual(kept, vectors.bytes(file));
      assert.equal(byteLength, kept.length);
    });
  }

  for (const file of [
    "if",
    "loop",
    "wire-unknown-fields",
    "metadata",
    "function-constant",
    "store-constant-node",
  ]) {
    it(`replaces a tensor of ${file}, adapts all lengths around it, and keeps the rest`, async () => {
      const model = await open(vectors.source(`${file}.onnx`));
      assert.ok(model.tensors.size > 0);
      for (const [key, tensor] of model.tensors) {
        const data = new Uint8Array(300).map((_, i) => i);
        const added = { name: tensor.name, dtype: "int8", shape: [3, 100], bytes: () => [data] };
        const editor = new OnnxEditor(model);
        editor.replace(tensor.field, tensorMessage(added));
        const { byteLength, bytes } = editor.finish();
        const written = await collect(bytes());
        assert.equal(written.length, byteLength);
        const again = await open(bytesSource(written));
        assert.deepEqual([...again.tensors.keys()], [...model.tensors.keys()]);
        for (const [name, other] of model.tensors) {
          const expected = name === key ? data : await collect(other.bytes());
          assert.deepEqual(await collect(again.tensors.get(name).bytes()), expected, name);
        }
        assert.deepEqual(again.metadata, model.metadata);
        if (file === "wire-unknown-fields")
          assert.deepEqual(written.subarray(-4), vectors.bytes(`${file}.onnx`).subarray(-4));
      }
    });
  }

  const scale = {
    name: "s",
    dtype: "float32",
    shape: [],
    bytes: () => [new Uint8Array(Float32Array.of(2).buffer)],
  };

  /** A model of one product after an edit. */
  async function edited(edit) {
    const model = await open(vectors.source("matmul.onnx"));
    const editor = new OnnxEditor(model);
    edit(editor, model.graph);
    const written = await collect(editor.finish().bytes());
    const externalData = () => bytesSource(new Uint8Array(4100));
    return await readOnnx(bytesSource(written), { externalData });
  }

  it("inserts a node before another, and adds one behind all", async () => {
    const node = {
      name: "dq",
      opType: "DequantizeLinear",
      domain: "my",
      inputs: ["w", "s", ""],
      outputs: ["wd"],
    };
    const { graph } = await edited((editor, { nodes, field }) => {
      editor.insertBefore(nodes[0].field, nodeMessage(node));
      editor.addNode(field, { opType: "Identity", inputs: ["wd"], outputs: ["i"] });
    });
    assert.deepEqual(
      graph.nodes.map(({ opType }) => opType),
      ["DequantizeLinear", "MatMul", "Identity"],
    );
    const { name, opType, domain, inputs, outputs } = graph.nodes[0];
    assert.deepEqual({ name, opType, domain, inputs, outputs }, node);
  });

  it("writes attributes of every kind", async () => {
    const attributes = {
      axis: { int: -1 },
      alpha: { float: 0.5 },
      mode: { string: "x" },
      pads: { ints: [1, -2] },
      value: { tensor: scale },
    };
    const { graph } = await edited((editor, { field }) =>
      editor.addNode(field, { opType: "Identity", inputs: ["w"], outputs: ["i"], attributes }),
    );
    const written = graph.nodes.at(-1).attributes;
    assert.equal(written.get("axis").int, -1);
    assert.equal(written.get("alpha").float, 0.5);
    assert.deepEqual(written.get("pads").ints, [1, -2]);
    assert.equal(new TextDecoder().decode(written.get("mode").string), "x");
    assert.equal(written.get("value").tensor.dtype, "float32");
  });

  it("adds tensors, in the file or in external data, and removes one", async () => {
    const { graph, tensors } = await edited((editor, { field, initializers }) => {
      const place = { location: "data.bin", offset: 4096 };
      editor.addInitializer(field, scale);
      editor.addInitializer(field, { ...scale, name: "far" }, place);
      editor.remove(initializers[0].field);
    });
    assert.deepEqual(
      graph.initializers.map(({ name, stored }) => [name, stored]),
      [
        ["s", "raw_data"],
        ["far", "external"],
      ],
    );
    assert.equal((await collect(tensors.get("far").bytes())).length, 4);
  });

  it("adds opsets and metadata", async () => {
    const { opsets, metadata } = await edited((editor) => {
      editor.addOpset("my", 3);
      editor.addMetadata("k", "v");
    });
    assert.equal(opsets.get("my"), 3);
    assert.equal(metadata.get("k"), "v");
  });

  it("holds a new message in few parts: short bytes are joined, streams and long bytes are not", () => {
    const node = { opType: "MatMul", inputs: ["x", "w"], outputs: ["y"], name: "n" };
    const parts = nodeMessage(node);
    const joined = joinParts(parts);
    assert.deepEqual(joined, [Uint8Array.from(parts.flatMap((part) => [...part]))]);
    const tensor = { name: "w", dtype: "uint8", shape: [4], bytes: () => [new Uint8Array(4)] };
    assert.deepEqual(
      joinParts(bytesField(5, tensorMessage(tensor))).map((part) => part instanceof Uint8Array),
      [true, false],
    );
    const long = new Uint8Array(70_000);
    const [before, same, after] = joinParts([...varintField(1, 2), long, ...varintField(1, 2)]);
    assert.equal(same, long);
    assert.deepEqual([before, after], [Uint8Array.of(8, 2), Uint8Array.of(8, 2)]);
  });

  it("refuses edits that overlap, and more than 2 GiB", async () => {
    const model = await open(vectors.source("matmul.onnx"));
    const [w] = model.graph.initializers;
    const editor = new OnnxEditor(model);
    editor.remove(w.field);
    editor.remove(w.field);
    assert.throws(() => editor.finish(), { code: "ZP_CONFLICTING_OPTIONS" });
    const inner = new OnnxEditor(model);
    inner.remove(model.graph.field);
    inner.remove(w.field);
    assert.throws(() => inner.finish(), { code: "ZP_CONFLICTING_OPTIONS" });
    const large = new OnnxEditor(model);
    large.addInitializer(model.graph.field, {
      name: "l",
      dtype: "float32",
      shape: [2 ** 29],
      bytes: () => [],
    });
    assert.throws(() => large.finish(), { code: "ZP_SIZE_OVERFLOW" });
  });

  const dtypes = [
    "float32",
    "float16",
    "int8",
    "uint4",
    "int4",
    "int2",
    "bool",
    "float8_e5m2",
    "int64",
    "complex128",
  ];
  property(
    it,
    "gives back the tensors it wrote",
    [tensorsOf(dtypes)],
    async (tensors) => {
      const named = tensors.map((tensor, i) => ({ ...tensor, name: `t${i}` }));
      const model = await open(vectors.source("matmul.onnx"));
      const editor = new OnnxEditor(model);
      for (const tensor of named) editor.addInitializer(model.graph.field, tensor);
      const again = await open(bytesSource(await collect(editor.finish().bytes())));
      for (const { name, dtype, shape, data } of named) {
        const tensor = again.tensors.get(name);
        assert.ok(tensor instanceof OnnxTensor && dataTypeOf(dtype) > 0);
        assert.deepEqual([tensor.dtype, [...tensor.shape]], [dtype, shape]);
        assert.deepEqual(await collect(tensor.bytes()), data);
      }
    },
    50,
  );

  it("writes varints of 64 bits, negative ones in two's complement", () => {
    assert.deepEqual([...varint(0)], [0]);
    assert.deepEqual([...varint(300)], [0xac, 2]);
    assert.deepEqual([...varint(-1)], [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
  });
});
