import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, tensor } from "zeropoint";
import {
  convert,
  Linear,
  predefinedQConfigs,
  prepare,
  quantizeDynamic,
  ReLU,
  Sequential,
  Softmax,
} from "zeropoint/torch";
import { INSPECT, refuses } from "../support/asserts.mjs";
import { floats, makeModel, x } from "../support/models.mjs";

await init();

describe("Sequential", () => {
  it("runs its layers and functions in order", () => {
    const double = (value) =>
      tensor(
        value.data.map((item) => 2 * item),
        value.shape,
      );
    const model = new Sequential([new Linear(tensor([[1, 1]])), double, new ReLU()]);
    assert.deepEqual([...model.forward(tensor([[1, 2]])).data], [6]);
    assert.deepEqual(
      model.layers.map(({ name, layer }) => [name, layer.typeName]),
      [
        ["0", "Linear"],
        ["1", "Function"],
        ["2", "ReLU"],
      ],
    );
  });

  it("takes layers themselves, as PyTorch does", () => {
    const layers = [new Linear(tensor([[1, 1]])), (value) => value, new ReLU()];
    assert.equal(String(new Sequential(...layers)), String(new Sequential(layers)));
    assert.equal(String(new Sequential(layers[0])), String(new Sequential([layers[0]])));
    assert.equal(String(new Sequential(layers[1])), String(new Sequential([layers[1]])));
    assert.equal(String(new Sequential()), "Sequential()");
  });

  it("takes what a function returns in any form of tensor", () => {
    const model = new Sequential([({ data }) => ({ data: [...data, 1], dims: [2] })]);
    const y = model.forward(Float32Array.of(5));
    assert.deepEqual([...y.data], [5, 1]);
    assert.deepEqual([...y.shape], [2]);
  });

  it("joins the names of models in models", () => {
    const head = new Sequential({ fc: new Linear(tensor([[1]])), out: new Softmax() });
    const model = new Sequential({ body: new ReLU(), head });
    assert.deepEqual(
      model.layers.map(({ name }) => name),
      ["body", "head.fc", "head.out"],
    );
    assert.equal(
      String(model),
      `Sequential(
  (body): ReLU()
  (head): Sequential(
    (fc): Linear(in_features=1, out_features=1, bias=False)
    (out): Softmax(dim=-1)
  )
)`,
    );
  });

  it("print in Node's console as text: float, prepared and quantized", () => {
    const model = makeModel();
    assert.equal(x[INSPECT](), String(x));
    const report = quantizeDynamic(model).report();
    assert.equal(report[INSPECT](), String(report));
    assert.equal(model[INSPECT](), String(model));
    const prepared = prepare(model, predefinedQConfigs.default_qconfig);
    assert.equal(prepared[INSPECT](), String(prepared));
    prepared.forward(floats([2, 8]));
    const quantized = convert(prepared);
    assert.equal(quantized[INSPECT](), String(quantized));
  });

  it("check a layer's weight before its options", () => {
    refuses(
      () => new Linear(8, 16),
      TypeError,
      "ZP_INVALID_TENSOR",
      /^Linear: weight must be .* got 8$/,
    );
  });

  it("reports a layer's refusal once", () => {
    const prepared = prepare(makeModel(), predefinedQConfigs.default_qconfig).calibrate([
      floats([2, 8]),
    ]);
    for (const model of [makeModel(), prepared, convert(prepared)]) {
      const caller = () => model.forward(floats([2, 9]));
      assert.throws(caller, ({ stack }) => {
        // Firefox and Safari leave the message out of it.
        assert.ok(stack.split("(in layer").length <= 2, stack);
        assert.match(stack, /\bcaller\b/);
        return true;
      });
    }
  });

  it("names the layer in errors", () => {
    refuses(
      () => makeModel().forward(floats([2, 9])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "Linear.forward: input must have 8 values on its last axis, as weight of shape [16, 8] has, " +
        'got shape [2, 9] (in layer "fc1", Linear)',
    );
    const broken = new Sequential({ mine: () => "no tensor" });
    refuses(
      () => broken.forward(x),
      TypeError,
      "ZP_INVALID_TENSOR",
      /what the function returns must be a tensor.* \(in layer "mine", Function\)$/,
    );
    const waiting = new Sequential({ mine: async (input) => input });
    refuses(
      () => waiting.forward(x),
      TypeError,
      "ZP_INVALID_MODEL",
      "Function.forward: layers are synchronous, and the function returns a Promise " +
        '(in layer "mine", Function)',
    );
  });

  it("lets a function's own errors pass as they are", () => {
    const error = new Error("mine");
    const model = new Sequential([
      () => {
        throw error;
      },
    ]);
    assert.throws(() => model.forward(x), error);
    assert.equal(error.message, "mine");
  });

  const refused = {
    "a class": [
      () => new Sequential([ReLU]),
      /layers\[0\] must be a layer .* got a class; new makes/,
    ],
    "no layer": [() => new Sequential({ fc: 3 }), /layers\.fc must be a layer .* got 3/],
    "a dot in a name": [() => new Sequential({ "a.b": new ReLU() }), /got "a\.b"/],
    "a Map": [
      () => new Sequential(new Map([["fc", new ReLU()]])),
      /must be an object.* got a Map$/,
    ],
    "a Promise of layers": [() => new Sequential(Promise.resolve([])), /is await missing/],
    "a quantized model": [
      () => new Sequential(quantizeDynamic(makeModel())),
      /got a QuantizedModel$/,
    ],
    "a hole": [() => new Sequential(new Array(1)), /layers\[0\] .* got undefined$/],
    "no layers": [
      () => new Sequential(undefined),
      /must be an object, a list or layers .* undefined/,
    ],
    "a list beside a layer": [
      () => new Sequential([new ReLU()], new ReLU()),
      /layers\[0\] must be a layer .* got \[a ReLU\]$/,
    ],
  };
  for (const [what, [work, message]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => refuses(work, TypeError, "ZP_INVALID_MODEL", message));
  }
});

describe("a model without layers", () => {
  it("names itself in errors", () => {
    const none = new Sequential({});
    for (const [name, model] of Object.entries({
      Sequential: none,
      PreparedModel: prepare(none, predefinedQConfigs.default_qconfig),
      QuantizedModel: quantizeDynamic(none),
    })) {
      const message = new RegExp(`^${name}\\.forward: x must be a tensor`);
      refuses(() => model.forward("x"), TypeError, "ZP_INVALID_TENSOR", message);
    }
  });
});

describe("a value thrown by a layer", () => {
  it("is passed on unchanged if it is not an Error", () => {
    for (const value of [null, undefined, "text"]) {
      const thrower = () => {
        throw value;
      };
      let thrown = "nothing";
      try {
        new Sequential([thrower]).forward(x);
      } catch (error) {
        thrown = error;
      }
      assert.equal(thrown, value);
    }
  });
});
