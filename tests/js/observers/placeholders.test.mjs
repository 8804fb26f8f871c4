import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, tensor } from "zeropoint";
import {
  convert,
  FixedQParamsObserver,
  Linear,
  NoopObserver,
  PlaceholderObserver,
  predefinedObservers,
  prepare,
  QConfig,
  RecordingObserver,
  ReuseInputObserver,
  Sequential,
} from "zeropoint/torch";
import { refuses, sameFloats } from "../support/asserts.mjs";

await init();

describe("observers without qparams", () => {
  it("pass batches on and have no qparams", () => {
    for (const observer of [
      new PlaceholderObserver(),
      new NoopObserver(),
      new RecordingObserver(),
      new ReuseInputObserver(),
    ]) {
      const x = tensor([1]);
      assert.equal(observer.observe(x), x);
      refuses(
        () => observer.calculateQParams(),
        TypeError,
        "ZP_NO_QPARAMS",
        /calculateQParams: this observer chooses no scale and zero point/,
      );
    }
  });

  it("have PyTorch's defaults", () => {
    const { dtype, qscheme, eps, isDynamic, quantMin } = new PlaceholderObserver();
    assert.deepEqual(
      { dtype, qscheme, eps, isDynamic, quantMin },
      {
        dtype: "float32",
        qscheme: "per_tensor_affine",
        eps: 2 ** -23,
        isDynamic: false,
        quantMin: undefined,
      },
    );
    assert.equal(new NoopObserver().dtype, "float16");
    assert.equal(new RecordingObserver().dtype, "quint8");
  });

  it("RecordingObserver keeps its batches when the memory of those that it gave out is transferred", () => {
    const observer = new RecordingObserver();
    observer.observe(tensor([1, 2]));
    const [{ data }] = observer.tensors;
    structuredClone(data.buffer, { transfer: [data.buffer] });
    assert.deepEqual(observer.toJSON().state.tensors, [{ data: [1, 2], shape: [2] }]);
  });

  it("RecordingObserver keeps copies", () => {
    const observer = new RecordingObserver();
    const x = tensor([1, 2]);
    observer.observe(x);
    x.data[0] = 5;
    assert.deepEqual([...observer.tensors[0].data], [1, 2]);
  });

  it("FixedQParamsObserver returns the given qparams, rounded to float32", () => {
    const { scale, zeroPoint } = new FixedQParamsObserver({
      scale: 0.1,
      zeroPoint: 7,
    }).calculateQParams();
    sameFloats(scale.data, [0.1]);
    assert.deepEqual([...zeroPoint.data], [7]);
    refuses(() => new FixedQParamsObserver(), TypeError, "ZP_INVALID_SCALE", /, got undefined$/);
  });

  it("FixedQParamsObserver takes a scale that is not > 0, as PyTorch does, and convert does not", () => {
    for (const scale of [0, -1]) {
      const activation = FixedQParamsObserver.withArgs({ scale, zeroPoint: 0 });
      assert.equal(activation().calculateQParams().scale.data[0], scale);
      const model = new Sequential([new Linear(tensor([[1]]))]);
      const qconfig = new QConfig({
        activation,
        weight: predefinedObservers.default_weight_observer,
      });
      refuses(
        () => convert(prepare(model, qconfig)),
        RangeError,
        "ZP_INVALID_SCALE",
        "convert: the scale of this layer's input must be finite and > 0, as float32 too, got " +
          `${scale} (in layer "0", Linear)`,
      );
    }
  });

  it("FixedQParamsObserver refuses what float32 and int32 cannot hold", () => {
    const where = "FixedQParamsObserver: options";
    for (const scale of [NaN, Infinity, 1e300]) {
      refuses(
        () => new FixedQParamsObserver({ scale, zeroPoint: 0 }),
        RangeError,
        "ZP_INVALID_SCALE",
        `${where}.scale must be a number, finite as float32 too, got ${scale}`,
      );
    }
    for (const zeroPoint of [2 ** 32 + 5, 2 ** 31, 0.5, NaN, undefined, "1"]) {
      refuses(
        () => new FixedQParamsObserver({ scale: 1, zeroPoint }),
        typeof zeroPoint === "number" ? RangeError : TypeError,
        "ZP_INVALID_ZERO_POINT",
        `${where}.zeroPoint must be an integer from -2147483648 to 2147483647 for dtype int32, got ` +
          (typeof zeroPoint === "string" ? `"${zeroPoint}"` : zeroPoint),
      );
    }
    const last = new FixedQParamsObserver({ scale: 2 ** -149, zeroPoint: -(2 ** 31) });
    assert.equal(last.calculateQParams().zeroPoint.data[0], -(2 ** 31));
  });
});
