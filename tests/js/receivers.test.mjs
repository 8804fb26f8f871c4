// Methods and accessors that are called on another object than one of their class, as after `const { forward } = layer`:
// each throws an error with a code, or changes nothing.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as zeropoint from "zeropoint";
import * as models from "zeropoint/models";
import * as notebook from "zeropoint/notebook";
import * as search from "zeropoint/search";
import * as torch from "zeropoint/torch";
import { connect } from "zeropoint/worker";
import { Random, refuses, rejects } from "./support/asserts.mjs";
import { bytesOf } from "./support/files/saved.mjs";

await zeropoint.init();
const random = new Random(37);
const x = zeropoint.tensor(random.normal(64), [8, 8]);
const layer = new zeropoint.QuantizedLinear(x, { axis: 0 });
const model = new torch.Sequential({ fc: new torch.Linear(x), relu: new torch.ReLU() });
const prepared = torch.prepare(model, torch.predefinedQConfigs.default_qconfig).calibrate([x]);
const converted = torch.convert(prepared);
const index = new search.VectorIndex({ dimensions: 2, originals: "float32" });
index.add([[1, 0]], ["a"]);
const opened = await models.openModel(await bytesOf({ x }));
const zp = await connect({ worker: false, entries: ["torch", "search"] });
const own = await zeropoint.create({ build: "baseline" }, torch);
const t = notebook.torch;

const OBSERVERS = {
  FixedQParamsObserver: new torch.FixedQParamsObserver({ scale: 1, zeroPoint: 0 }),
  ...Object.fromEntries(
    Object.entries(torch)
      .filter(([name]) => /Observer$/.test(name) && name !== "FixedQParamsObserver")
      .map(([name, Observer]) => [name, new Observer()]),
  ),
};

/** An object of each public class, and of those that functions return. */
const SPECIMENS = {
  ...OBSERVERS,
  tensor: x,
  QuantizedLinear: layer,
  "QuantizedLinear of an instance": new own.QuantizedLinear(x),
  Linear: new torch.Linear(x),
  "Linear of codes": new torch.Linear(zeropoint.quantize(x)),
  Embedding: new torch.Embedding(x),
  LayerNorm: new torch.LayerNorm(8),
  ReLU: new torch.ReLU(),
  Sigmoid: new torch.Sigmoid(),
  Softmax: new torch.Softmax(),
  Tanh: new torch.Tanh(),
  Sequential: model,
  "a function's layer": new torch.Sequential((each) => each).layers[0].layer,
  prepared,
  converted,
  report: converted.report(x),
  quantized: torch.quantizePerTensor(x, 0.1, 0, "qint8"),
  integers: torch.intRepr(torch.quantizePerTensor(x, 0.1, 0, "qint8")),
  QConfig: torch.predefinedQConfigs.default_qconfig,
  QConfigMapping: new torch.QConfigMapping().setModuleName("fc", null),
  WeightOnlyQConfig: new torch.WeightOnlyQConfig(),
  factory: torch.MinMaxObserver.withArgs({ dtype: "qint8" }),
  "a quantized tensor": zeropoint.quantize(x, { axis: 0 }),
  InputMoments: new models.InputMoments(8).add(x),
  Model: opened,
  VectorIndex: index,
  result: index.search([1, 0], { k: 1 }),
  "an instance": own,
  connection: zp,
  "a handle of a layer": await zp.quantizedLinear(x),
  "a handle of an index": await zp.vectorIndex({ dimensions: 2 }),
  "a handle of an observer": await zp.minMaxObserver(),
  "a tensor of the notebooks": t.tensor([1, 2]),
  "a quantized tensor of the notebooks": t.quantize_per_tensor(t.tensor([1.5]), 0.1, 0, t.qint8),
  dtype: t.int8,
  qdtype: t.qint8,
  qscheme: t.per_tensor_affine,
  size: t.tensor([1, 2]).shape,
  Normal: new t.distributions.normal.Normal(0, 1),
  float: notebook.float(3),
  "a QConfig of the notebooks": new notebook.QConfig(
    notebook.MinMaxObserver,
    notebook.MinMaxObserver,
  ),
  ...Object.fromEntries(
    Object.entries(notebook)
      .filter(([name]) => /Observer$/.test(name))
      .map(([name, Observer]) => [`${name} of the notebooks`, new Observer()]),
  ),
};

/** Of an instance, too, whose classes are proxies. */
const isClass = (value) =>
  Object.getOwnPropertyDescriptor(Object(value), "prototype")?.writable === false;
const ENTRIES = { zeropoint, torch, models, search, notebook, "notebook.torch": t };
const CLASSES = Object.entries(ENTRIES).flatMap(([entry, exports]) =>
  Object.keys(exports)
    .filter((name) => isClass(exports[name]))
    .map((name) => [`${entry}.${name}`, exports[name]]),
);
/** Prototypes of JavaScript itself. */
const BUILT_IN = new Set(
  [
    Object,
    Function,
    Array,
    Number,
    Map,
    Promise,
    Uint8Array,
    Object.getPrototypeOf(Uint8Array),
  ].map((Class) => Class.prototype),
);

/** The functions of an object and of its classes, methods and accessors, by their names. */
function membersOf(object) {
  const members = new Map();
  for (let at = object; at !== null && !BUILT_IN.has(at); at = Object.getPrototypeOf(at)) {
    for (const key of Reflect.ownKeys(at)) {
      const { value, get, set } = Reflect.getOwnPropertyDescriptor(at, key);
      for (const member of [value, get, set]) {
        if (typeof member !== "function" || key === "constructor" || isClass(member)) continue;
        members.set(member, String(key));
      }
    }
  }
  return members;
}

/** An object that remembers what was written to it. */
function watched(target) {
  const touched = [];
  const note = (kind) => (_, key) => {
    touched.push(`${kind} ${String(key)}`);
    return true;
  };
  const handler = {
    set: note("set"),
    defineProperty: note("define"),
    deleteProperty: note("delete"),
    setPrototypeOf: note("prototype"),
  };
  return { receiver: new Proxy(target, handler), touched };
}

const ARGUMENTS = [[], [x], [{}]];

/** Calls a function on a receiver. @returns its errors without a code */
async function errorsOf(member, receiver) {
  const found = [];
  for (const args of ARGUMENTS) {
    try {
      const result = Reflect.apply(member, receiver, args);
      // Results of async methods, and of generators.
      if (result instanceof Promise) await result;
      else if (typeof result?.next === "function") result.next();
    } catch (error) {
      if (!/^ZP_/.test(error?.code ?? "")) found.push(error);
    }
  }
  return found;
}

it("every exported class has an object here", () => {
  const made = Object.values(SPECIMENS);
  const lacking = CLASSES.filter(([, Class]) => !made.some((each) => each instanceof Class));
  assert.deepEqual(
    lacking.map(([name]) => name),
    [],
  );
  assert.ok(CLASSES.length >= 35, `${CLASSES.length} classes`);
});

describe("Members called on a wrong receiver throw errors with codes, or change nothing:", () => {
  let count = 0;
  for (const [title, specimen] of Object.entries(SPECIMENS)) {
    it(title, async () => {
      const prototype = Object.getPrototypeOf(specimen);
      const others = ["ReLU", "HistogramObserver", "tensor", "VectorIndex", "dtype"].map(
        (name) => SPECIMENS[name],
      );
      for (const [member, name] of membersOf(specimen)) {
        // An internal one, which `create` calls with a function.
        if (name === "Symbol(zeropoint.rebind)") continue;
        count++;
        const strangers = others.filter((other) => !membersOf(other).has(member));
        for (const receiver of [undefined, null, 7, "x", Object.freeze({}), ...strangers]) {
          const found = await errorsOf(member, receiver);
          assert.deepEqual(found, [], `${name} on ${typeof receiver}`);
        }
        for (const target of [{}, Object.create(prototype)]) {
          const { receiver, touched } = watched(target);
          assert.deepEqual(await errorsOf(member, receiver), [], `${name} on a made object`);
          assert.deepEqual(touched, [], `${name} on a made object`);
        }
      }
    });
  }

  it("700 and more members", () => assert.ok(count > 700, `${count} members`));
});

describe("The error for a wrong receiver", () => {
  it("names the method, and how it is called", () => {
    const { forward } = layer;
    const { observe } = OBSERVERS.MinMaxObserver;
    const message =
      /^QuantizedLinear\.forward: it must be called on the object itself, as object\.forward, got/;
    refuses(() => forward(x), TypeError, "ZP_INVALID_MODEL", message);
    refuses(() => observe(x), TypeError, "ZP_INVALID_MODEL", /as object\.observe/);
    const { withArgs } = torch.MinMaxObserver;
    refuses(
      () => withArgs({}),
      TypeError,
      "ZP_INVALID_MODEL",
      /^Observer\.withArgs: .*as object\.withArgs/,
    );
  });

  it("is that of an async method's promise, too", async () => {
    const { read } = opened;
    await rejects(read("x"), TypeError, "ZP_INVALID_MODEL", /^Model\.read: .*as object\.read/);
  });

  it("does not replace the errors of functions that a method calls", () => {
    const own = new Error("mine");
    const failing = new torch.Sequential(() => {
      throw own;
    });
    assert.throws(
      () => failing.forward(x),
      (error) => error === own,
    );
  });
});
