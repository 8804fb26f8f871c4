// QConfigs: PyTorch's fields, and PyTorch's text.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { INSPECT, refuses } from "../support/asserts.mjs";
import { zeropoint } from "../support/exports.mjs";
import { cases } from "../support/vectors.mjs";

const {
  Embedding,
  getDefaultQATQConfig,
  getDefaultQConfig,
  HistogramObserver,
  init,
  Linear,
  MinMaxObserver,
  predefinedObservers,
  predefinedQConfigs,
  QConfig,
  QConfigMapping,
  WeightOnlyQConfig,
} = zeropoint;

await init();

const MODULES = {
  FakeQuantize: "torch.ao.quantization.fake_quantize",
  FusedMovingAvgObsFakeQuantize: "torch.ao.quantization.fake_quantize",
  Identity: "torch.nn.modules.linear",
};

const classText = (name) =>
  `<class '${MODULES[name] ?? "torch.ao.quantization.observer"}.${name}'>`;

// The class names inside arguments are observers; a float in Python is a fraction here.
function valueText(name, value) {
  if (name === "observer") return classText(value);
  if (name === "dtype" || name === "qscheme") return `torch.${value}`;
  if (typeof value === "boolean") return value ? "True" : "False";
  return String(value);
}

/** The text that PyTorch's repr of a described observer has. */
function expectedText(described) {
  if (described === null) return "None";
  const { class: name, args } = described;
  const entries = Object.entries(args).map(([key, value]) => `, ${key}=${valueText(key, value)}`);
  const text = classText(name);
  return entries.length === 0 ? text : `functools.partial(${text}${entries.join("")}){}`;
}

const snakeCase = (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What an entry of a QConfig is made of, in the words of the vectors. */
function describeSource(source) {
  if (source === null) return null;
  const shortName = ({ pythonName }) => pythonName.split(".").pop();
  if (source.pythonName) return { class: shortName(source), args: {} };
  const args = Object.entries(source.args).map(([name, value]) => [
    snakeCase(name),
    typeof value === "function" ? shortName(value) : value,
  ]);
  return { class: shortName(source.observerClass), args: Object.fromEntries(args) };
}

const textOf = (source) =>
  source?.pythonName ? classText(describeSource(source).class) : String(source);

function assertSource(source, expected) {
  assert.deepEqual(describeSource(source), expected);
  if (source !== null) assert.equal(textOf(source), expectedText(expected));
}

function assertQConfig(qconfig, out) {
  assertSource(qconfig.activation, out.activation);
  assertSource(qconfig.weight, out.weight);
  const [activation, weight] = [out.activation, out.weight].map(expectedText);
  assert.equal(String(qconfig), `QConfig(activation=${activation}, weight=${weight})`);
  if (out.repr) assert.equal(String(qconfig), out.repr);
}

describe("predefined", () => {
  const all = cases("qconfig");
  const named = (op) => all.filter((item) => item.op === op);

  it("covers every QConfig and every observer of PyTorch", () => {
    assert.equal(all.length, 48);
    assert.deepEqual(
      Object.keys(predefinedQConfigs).sort(),
      named("qconfig")
        .map(({ in: { name } }) => name)
        .sort(),
    );
    assert.deepEqual(
      Object.keys(predefinedObservers).sort(),
      named("observer_alias")
        .map(({ in: { name } }) => name)
        .sort(),
    );
    assert.equal(named("qconfig").length, 24);
    assert.equal(named("observer_alias").length, 16);
    assert.equal(named("qconfig").filter(({ out }) => out.repr).length, 4);
  });

  for (const { in: input, out } of named("qconfig")) {
    it(input.name, () => assertQConfig(predefinedQConfigs[input.name], out));
  }
  for (const { in: input, out } of named("observer_alias")) {
    it(input.name, () => assertSource(predefinedObservers[input.name], out));
  }
  for (const { in: input, out } of named("get_default_qconfig")) {
    it(`getDefaultQConfig("${input.backend}")`, () =>
      assertQConfig(getDefaultQConfig(input.backend), out));
  }
  for (const { in: input, out } of named("get_default_qat_qconfig")) {
    it(`getDefaultQATQConfig("${input.backend}")`, () =>
      assertQConfig(getDefaultQATQConfig(input.backend), out));
  }

  it("are not exported one by one", () => {
    assert.deepEqual(
      Object.keys(zeropoint).filter((name) =>
        /^(default|float(?!8Row$)|perChannel|weight)/.test(name),
      ),
      [],
    );
  });

  it("make their observers", () => {
    const { activation, weight } = predefinedQConfigs.default_qconfig;
    assert.deepEqual([activation().quantMin, activation().quantMax], [0, 127]);
    assert.deepEqual([weight().dtype, weight().qscheme], ["qint8", "per_tensor_symmetric"]);
    assert.equal(getDefaultQConfig().activation().quantMax, 127);
    assert.equal(getDefaultQConfig("qnnpack").activation().quantMax, 255);
  });

  it("are for data and printing only where they are for training", () => {
    for (const source of [
      predefinedQConfigs.default_qat_qconfig.activation,
      predefinedQConfigs.default_qat_qconfig.weight,
      getDefaultQATQConfig("x86").weight,
    ]) {
      refuses(() => source(), RangeError, "ZP_UNSUPPORTED_QCONFIG", /quantization-aware training/);
    }
    const { activation: Identity } = predefinedQConfigs.default_weight_only_qconfig;
    refuses(() => new Identity(), RangeError, "ZP_UNSUPPORTED_QCONFIG", /Identity/);
  });

  it("refuse other engines", () => {
    refuses(
      () => getDefaultQConfig("tpu"),
      RangeError,
      "ZP_INVALID_OPTION",
      'getDefaultQConfig: backend must be "x86", "fbgemm", "qnnpack" or "onednn", got "tpu"',
    );
  });
});

describe("QConfig", () => {
  it("prints the same in Node's console, as the one of weights alone does", () => {
    for (const qconfig of [
      predefinedQConfigs.default_qconfig,
      new WeightOnlyQConfig({ bits: 4 }),
    ]) {
      assert.equal(qconfig[INSPECT](), String(qconfig));
    }
  });

  it("holds classes and factories, and nothing for null", () => {
    const weight = MinMaxObserver.withArgs({ dtype: "qint8" });
    const qconfig = new QConfig({ activation: HistogramObserver, weight });
    assert.equal(qconfig.activation, HistogramObserver);
    assert.equal(qconfig.weight, weight);
    const none = new QConfig({ activation: null, weight: null });
    assert.equal(String(none), "QConfig(activation=None, weight=None)");
  });

  it("takes both in one object", () => {
    for (const fields of [undefined, MinMaxObserver]) {
      refuses(
        () => new QConfig(fields),
        TypeError,
        "ZP_INVALID_OPTIONS",
        /fields must be an object/,
      );
    }
  });

  it("cannot be changed", () => {
    assert.throws(() => {
      predefinedQConfigs.default_qconfig.weight = null;
    }, TypeError);
  });

  const refused = {
    "an observer itself": [
      () => new QConfig({ activation: new MinMaxObserver(), weight: null }),
      /fields\.activation must be a class .* got an observer; .*: MinMaxObserver\.withArgs/,
    ],
    "a name": [() => new QConfig({ activation: "MinMax", weight: null }), /got "MinMax"/],
    "any function": [
      () => new QConfig({ activation: null, weight: () => 0 }),
      /fields\.weight must be a class of observers/,
    ],
    "a field that is missing": [
      () => new QConfig({ activation: MinMaxObserver }),
      "QConfig: fields.weight must be a class of observers, a factory that withArgs made or null, " +
        "got undefined",
    ],
  };
  for (const [what, [work, message]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => refuses(work, TypeError, "ZP_INVALID_QCONFIG", message));
  }

  it("refuses unknown fields", () => {
    refuses(
      () => new QConfig({ activations: null }),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      /did you mean activation/,
    );
  });
});

describe("WeightOnlyQConfig", () => {
  it("keeps its options and prints them", () => {
    const qconfig = new WeightOnlyQConfig({ dtype: "int4", groupSize: 16 });
    assert.deepEqual({ ...qconfig.options }, { dtype: "int4", groupSize: 16 });
    assert.equal(String(qconfig), 'WeightOnlyQConfig({"dtype":"int4","groupSize":16})');
  });

  it("keeps a copy of its options, each read once", () => {
    let reads = 0;
    const options = {
      get bits() {
        return 3 + reads++;
      },
    };
    assert.equal(new WeightOnlyQConfig(options).options.bits, 3);
    assert.equal(reads, 1);
  });

  it("refuses invalid bits, and bits together with a dtype", () => {
    refuses(
      () => new WeightOnlyQConfig({ bits: 9 }),
      RangeError,
      "ZP_INVALID_OPTION",
      "WeightOnlyQConfig: options.bits must be an integer from 2 to 8, got 9",
    );
    refuses(
      () => new WeightOnlyQConfig({ bits: 3, dtype: "int4" }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /goes with neither options\.dtype nor scheme "affine"/,
    );
    refuses(
      () => new WeightOnlyQConfig({ scale: 1 }),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      /has no "scale"/,
    );
  });
});

describe("QConfigMapping", () => {
  const [byName, byPattern, byType, forAll] = [
    predefinedQConfigs.default_qconfig,
    predefinedQConfigs.default_dynamic_qconfig,
    predefinedQConfigs.per_channel_dynamic_qconfig,
    getDefaultQConfig(),
  ];

  it("applies the most specific setting", () => {
    const mapping = new QConfigMapping()
      .setGlobal(forAll)
      .setObjectType(Linear, byType)
      .setModuleNameRegex(/head\..*/, byPattern)
      .setModuleName("head.last", byName);
    assert.equal(mapping.qconfigFor("head.last", "Linear"), byName);
    assert.equal(mapping.qconfigFor("head.first", "Linear"), byPattern);
    assert.equal(mapping.qconfigFor("body", "Linear"), byType);
    assert.equal(mapping.qconfigFor("body", "Embedding"), forAll);
  });

  it("ignores layers that are set to null or not at all", () => {
    const mapping = new QConfigMapping().setGlobal(forAll).setObjectType("Embedding", null);
    assert.equal(mapping.qconfigFor("tokens", Embedding.typeName), null);
    assert.equal(new QConfigMapping().qconfigFor("tokens", "Embedding"), null);
    mapping.setModuleName("fc", null);
    assert.equal(mapping.qconfigFor("fc", "Linear"), null);
  });

  it("takes no arguments", () => {
    refuses(
      () => new QConfigMapping({ fc: forAll }),
      TypeError,
      "ZP_INVALID_QCONFIG",
      "QConfigMapping: QConfigs must be given to setGlobal or its kin, got an object with fc",
    );
  });

  it("matches patterns from the beginning, as re.match does, the first one first", () => {
    const mapping = new QConfigMapping()
      .setModuleNameRegex("fc", byPattern)
      .setModuleNameRegex("fc1", byName)
      .setModuleNameRegex(/a|b/g, byType);
    assert.equal(mapping.qconfigFor("fc1", "Linear"), byPattern);
    assert.equal(mapping.qconfigFor("my.fc1", "Linear"), null);
    for (let i = 0; i < 3; i++) assert.equal(mapping.qconfigFor("b", "Linear"), byType);
    assert.equal(mapping.qconfigFor("cb", "Linear"), null);
  });

  it("lets a later setting for the same layers replace an earlier one", () => {
    const mapping = new QConfigMapping().setGlobal(byName).setGlobal(byType);
    assert.equal(mapping.qconfigFor("fc", "Linear"), byType);
  });

  it("refuses values that are not a QConfig, a layer type or a pattern", () => {
    const mapping = new QConfigMapping();
    refuses(
      () => mapping.setGlobal(MinMaxObserver),
      TypeError,
      "ZP_INVALID_QCONFIG",
      "QConfigMapping.setGlobal: qconfig must be a QConfig, a WeightOnlyQConfig or null, got a " +
        "function",
    );
    refuses(() => mapping.setObjectType(3, byName), TypeError, "ZP_INVALID_MODEL", /got 3/);
    refuses(() => mapping.setModuleName(3, byName), TypeError, "ZP_INVALID_OPTION", /got 3/);
    refuses(
      () => mapping.setModuleNameRegex("(", byName),
      TypeError,
      "ZP_INVALID_OPTION",
      /pattern must be a RegExp or its text, got "\("/,
    );
  });
});
