// The promises of the types, checked by the compiler alone: no code here runs. Each @ts-expect-error is a
// mistake that must not compile.

import {
  type AnyQParams,
  type ChooseQParamsOptions,
  type Codes,
  chooseQParams,
  create,
  type DType,
  dequantize,
  type ErrorCode,
  fakeQuantize,
  type Granularity,
  init,
  linear,
  type Metric,
  type OffsetQuantizedTensor,
  type OffsetTensor,
  pack,
  type QParams,
  QuantizedLinear,
  type QuantizedLinearOptions,
  type QuantizedTensor,
  type QuantizeOptions,
  quantizationError,
  quantize,
  type ScaleTensor,
  type Tensor,
  type TensorInput,
  tensor,
  unpack,
  type ZeroPointTensor,
  type Zeropoint,
  type ZeropointError,
} from "zeropoint";
import {
  convert,
  FixedQParamsObserver,
  fakeQuantizePerTensor,
  HistogramObserver,
  intRepr,
  Linear,
  MinMaxObserver,
  PerChannelMinMaxObserver,
  type PreparedModel,
  predefinedQConfigs,
  prepare,
  QConfig,
  QConfigMapping,
  type QuantizedModel,
  quantizeDynamic,
  quantizePerChannel,
  quantizePerTensor,
  quantizePerTensorDynamic,
  Sequential,
  WeightOnlyQConfig,
} from "zeropoint/torch";

/** Accepts only a type that equals the expected one, so that neither `any` nor a supertype passes. */
type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
declare function same<Expected>(): <Actual>(
  value: Actual,
  ...proof: Equal<Actual, Expected> extends true ? [] : [never]
) => void;

const x: Tensor = tensor([
  [1, 2],
  [3, 4],
]);
same<Float32Array>()(x.data);
same<readonly number[]>()(x.shape);

// The dtype says which array the codes are in.
same<Int8Array>()(quantize(x).data);
same<Int8Array>()(quantize(x, {}).data);
same<Int8Array>()(quantize(x, { dtype: "int4" }).data);
same<Uint8Array>()(quantize(x, { dtype: "uint8", scheme: "affine" }).data);
same<Uint8Array>()(quantize(x, { dtype: "uint2", scale: 1 }).data);
same<Int16Array>()(quantize(x, { dtype: "int16" }).data);
same<Uint16Array>()(quantize(x, { dtype: "uint16", scale: 1 }).data);
same<Int32Array>()(quantize(x, { dtype: "int32", axis: 0 }).data);
same<"uint8">()(quantize(x, { dtype: "uint8", scale: 1 }).dtype);
same<"int8">()(quantize(x, { axis: 0 }).dtype);

// The granularity says what scale and zero point are.
same<number>()(quantize(x).scale);
same<number>()(quantize(x).zeroPoint);
same<number>()(quantize(x, { scale: 0.5, zeroPoint: 3 }).scale);
same<ScaleTensor>()(quantize(x, { axis: 0 }).scale);
same<ZeroPointTensor>()(quantize(x, { axis: 0 }).zeroPoint);
same<ScaleTensor>()(quantize(x, { groupSize: 2, dtype: "int4" }).scale);
same<ScaleTensor>()(quantize(x, { scale: [1, 2], axis: 0 }).scale);
same<ScaleTensor>()(quantize(x, { scale: tensor([[1], [2]]) }).scale);
same<ScaleTensor>()(quantize(x, { scale: 1, zeroPoint: [0, 1] }).scale);
same<number>()(quantize(x, { axis: 0 }).axis);
same<undefined>()(quantize(x, { axis: 0 }).groupSize);
same<number>()(quantize(x, { groupSize: 2 }).groupSize);
same<undefined>()(quantize(x, { groupSize: 2 }).axis);
same<undefined>()(quantize(x).axis);
same<undefined>()(quantize(x).groupSize);
// Scales given as a tensor have no axis of their own.
same<undefined>()(quantize(x, { scale: tensor([[1], [2]]) }).axis);
same<number>()(quantize(x, { scale: [1, 2], axis: 1 }).axis);
same<Float32Array>()(quantize(x, { axis: 0 }).scale.data);
same<Int32Array>()(quantize(x, { axis: 0 }).zeroPoint.data);

// chooseQParams says the same, and what it returns fits quantize.
same<QParams<"int8", "perTensor">>()(chooseQParams(x));
same<QParams<"uint4", "perChannel">>()(
  chooseQParams(x, { dtype: "uint4", scheme: "affine", axis: 1 }),
);
same<QuantizedTensor<"int8", "perTensor">>()(quantize(x, chooseQParams(x)));
same<QuantizedTensor<"int16", "perChannel">>()(
  quantize(x, chooseQParams(x, { dtype: "int16", axis: 0 })),
);
same<QuantizedTensor<"int8", "perGroup">>()(quantize(x, chooseQParams(x, { groupSize: 2 })));
same<number>()(chooseQParams(x, { axis: 1 }).axis);
same<number>()(chooseQParams(x, { groupSize: 2 }).groupSize);
same<undefined>()(chooseQParams(x).axis);

// Values that are known only at run time keep every possibility.
declare const dtype: DType;
declare const axis: number | undefined;
declare const options: QuantizeOptions;
same<Codes>()(quantize(x, { dtype }).data);
same<number | ScaleTensor>()(quantize(x, { axis }).scale);
same<number | undefined>()(quantize(x, { axis }).axis);
const anything: QuantizedTensor = quantize(x, options);
function inGroups<D extends DType>(options: QuantizeOptions<D> & { dtype: D }): QuantizedTensor<D> {
  return quantize(x, { ...options, groupSize: 2 });
}
same<QuantizedTensor<"int4">>()(inGroups({ dtype: "int4" }));
// Options that may omit the dtype may give int8 codes.
declare const mayBeInt4: QuantizeOptions<"int4">;
declare const mayChooseInt4: ChooseQParamsOptions<"int4">;
declare const isInt4: QuantizeOptions<"int4"> & { dtype: "int4" };
declare const mayBeUint4: { dtype?: "uint4" };
declare const mayBeInt8: { dtype?: "int4" | "int8" };
same<DType>()(quantize(x, mayBeInt4).dtype);
same<DType>()(chooseQParams(x, mayChooseInt4).dtype);
same<"int4">()(quantize(x, isInt4).dtype);
same<"int4">()(quantize(x, { ...isInt4, axis: 0 }).dtype);
same<"int4" | "int8">()(quantize(x, mayBeInt8).dtype);
// @ts-expect-error
quantize(x, mayBeUint4);
// @ts-expect-error
chooseQParams(x, mayBeUint4);
const wider: QuantizedTensor<DType, Granularity> = quantize(x, { dtype: "uint8", scale: 1 });

// Quantized tensors go on to everything else.
same<Tensor>()(dequantize(anything));
same<Tensor>()(dequantize(structuredCloneOf(wider)));
// Half floats say which of the two types they are.
quantize({ data: new Uint16Array(2), shape: [2], dtype: "bfloat16" });
quantize({ data: new Uint16Array(2), dims: [2], type: "float16" });
// @ts-expect-error: no such element type
quantize({ data: new Uint16Array(2), shape: [2], dtype: "half" });
same<Tensor>()(fakeQuantize(x, { dtype: "int4", groupSize: 2 }));
same<Tensor>()(fakeQuantize(x, quantize(x, { axis: 0 })));
function restored<D extends DType, G extends Granularity>(q: QuantizedTensor<D, G>): Tensor {
  const bytes = pack(q);
  return dequantize(unpack(bytes, q));
}
same<Tensor>()(restored(quantize(x, { axis: 0 })));
// Qparams written by hand, as from a file, leave out fields that do not apply.
const byHand: QuantizedTensor<"int8"> = {
  data: new Int8Array(4),
  shape: [2, 2],
  dtype: "int8",
  scheme: "symmetric",
  scale: 1,
  zeroPoint: 0,
};
same<Tensor>()(dequantize(byHand));
same<Uint8Array>()(pack(quantize(x)));
const packed = quantize(x, { dtype: "int4", axis: 0 });
same<QuantizedTensor<"int4", "perChannel">>()(unpack(pack(packed), packed));
const { data: _codes, ...meta } = packed;
same<QuantizedTensor<"int4">>()(unpack(new Uint8Array(2), meta));
same<Int8Array>()(
  unpack(new Uint8Array(1), { shape: [1], dtype: "int2", scale: 1, zeroPoint: 0 }).data,
);
declare function structuredCloneOf<T>(value: T): T;

// Tensors come in many forms.
const forms: TensorInput[] = [
  x,
  { data: new Float32Array(2), shape: [2] },
  { data: new Float64Array(2), dims: [1, 2] },
  { data: [1, 2], shape: new Uint32Array([2]) },
  new Int16Array(2),
];
same<number>()(quantizationError(forms[0], x, "sqnr"));
same<Tensor>()(quantizationError(x, x, undefined, { axis: 0 }));
same<Tensor>()(quantizationError(x, x, "sqnr", { groupSize: 2 }));
chooseQParams(x, { range: "mse" });
chooseQParams(x, { range: { percentile: 99.9 } });
same<Tensor>()(linear(x, x, new Float32Array(2), { accumulate: "float32" }));
same<Tensor>()(linear(x, packed));
tensor(1);
tensor([[[1]], [[2]]]);
tensor([new Float32Array(2), new Float32Array(2)]);
tensor(new Uint8Array(4), [2, 2]);

// Real offsets.
const withOffset = quantize(x, { dtype: "uint3", axis: 0, zeroPoint: "float" });
same<OffsetQuantizedTensor<"uint3", "perChannel">>()(withOffset);
same<OffsetTensor>()(withOffset.offset);
same<number>()(chooseQParams(x, { zeroPoint: "float" }).offset);
same<Tensor>()(dequantize(withOffset));
same<Tensor>()(linear(x, withOffset));
same<OffsetQuantizedTensor<"uint3", "perChannel">>()(unpack(pack(withOffset), withOffset));
// @ts-expect-error an offset takes the place of the zero point
same<number>()(withOffset.zeroPoint);
// @ts-expect-error the symmetric scheme has none
quantize(x, { zeroPoint: "float", scheme: "symmetric" });

// Layers.
const layer = new QuantizedLinear(x, { dtype: "int4", groupSize: 2, bias: new Float32Array(2) });
same<Tensor>()(layer.forward(x));
same<Tensor>()(layer.forward(x, new Float32Array(4)));
same<number>()(layer.inFeatures);
same<AnyQParams>()(layer.qparams);
{
  using scoped = new QuantizedLinear(packed);
  scoped.forward(x);
}

// Starting, and instances.
same<Promise<{ readonly build: "baseline" | "relaxed"; readonly threads: number }>>()(
  init({ build: "auto", threads: 1 }) as Promise<{
    readonly build: "baseline" | "relaxed";
    readonly threads: number;
  }>,
);
const instance: Zeropoint = await create();
same<Uint8Array>()(instance.quantize(x, { dtype: "uint8", scale: 1 }).data);
const own: QuantizedLinear = new instance.QuantizedLinear(x);
own.dispose();

// Errors.
declare const error: ZeropointError;
same<ErrorCode>()(error.code);
const metric: Metric = "mse";
quantizationError(x, x, metric);

// Mistakes.
// @ts-expect-error a misspelt option
quantize(x, { group_size: 2 });
// @ts-expect-error a misspelt option beside others
quantize(x, { dtype: "int4", groupsize: 2 });
// @ts-expect-error a dtype that there is not
quantize(x, { dtype: "int9" });
// @ts-expect-error options are for the dtype that they name
quantize(x, { dtype: "uint8", scale: 1 } satisfies QuantizeOptions<"int4">);
// @ts-expect-error options are for the dtype that they name
chooseQParams(x, { dtype: "int8" } satisfies ChooseQParamsOptions<"int4">);
// @ts-expect-error a scheme that there is not
quantize(x, { scheme: "asymmetric" });
// @ts-expect-error the default scheme takes a signed dtype
quantize(x, { dtype: "uint8" });
// @ts-expect-error the symmetric scheme takes a signed dtype
quantize(x, { dtype: "uint4", scheme: "symmetric" });
// @ts-expect-error the default scheme takes a signed dtype
chooseQParams(x, { dtype: "uint16", axis: 0 });
// @ts-expect-error one scale per channel, or one per group
quantize(x, { axis: 0, groupSize: 2 });
// @ts-expect-error one scale per channel, or one per group
chooseQParams(x, { axis: 0, groupSize: 2 });
// @ts-expect-error one scale per channel, or one per group
fakeQuantize(x, { axis: 0, groupSize: 2 });
// @ts-expect-error the default scheme takes a signed dtype
fakeQuantize(x, { dtype: "uint4" });
// @ts-expect-error the symmetric scheme takes a signed dtype
fakeQuantize(x, { dtype: "uint4", scheme: "symmetric" });
fakeQuantize(x, { dtype: "uint4", zeroPoint: "float" });
fakeQuantize(x, options);
fakeQuantize(x, anything);
// @ts-expect-error layers take 1 to 8 bits
new QuantizedLinear(x, { dtype: "int16" });
// @ts-expect-error one scale per channel, or one per group
new QuantizedLinear(x, { axis: 0, groupSize: 2 });
// @ts-expect-error the default scheme takes a signed dtype
new QuantizedLinear(x, { dtype: "uint8" });
// @ts-expect-error the symmetric scheme takes a signed dtype
new QuantizedLinear(x, { dtype: "uint8", scheme: "symmetric", axis: 0 });
new QuantizedLinear(x, { dtype: "uint8", scale: 1, zeroPoint: 3 });
new QuantizedLinear(x, { dtype: "uint3", zeroPoint: "float", axis });
new QuantizedLinear(x, chooseQParams(x, { dtype: "int4", groupSize: 2 }));
declare const linearOptions: QuantizedLinearOptions;
new QuantizedLinear(x, linearOptions);
// @ts-expect-error one scale per channel, or one per group
new WeightOnlyQConfig({ dtype: "int4", axis: 0, groupSize: 2 });
// @ts-expect-error the default scheme takes a signed dtype
new WeightOnlyQConfig({ dtype: "uint4", groupSize: 32 });
// @ts-expect-error the scale is chosen
new WeightOnlyQConfig({ dtype: "uint4", scale: 1 });
new WeightOnlyQConfig({ dtype: "uint4", scheme: "affine", groupSize: 32 });
new WeightOnlyQConfig(new WeightOnlyQConfig({ bits: 3, axis: 0 }).options);
new QuantizedLinear(x, { dtype: "uint4", scheme: "affine", groupSize: 2 }).append(x, { bias: x });
// @ts-expect-error the other options are those of the layer
new QuantizedLinear(x).append(x, { axis: 0 });
new QuantizedLinear(x, { activations: "dynamic", axis: 0, reduceRange: false, bias: x });
new QuantizedLinear(x, { activations: "dynamic", dtype: "int4", range: "mse" });
new QuantizedLinear(x, { activations: "dynamic", groupSize: 2, dtype: "int8", range: "hqq" });
declare const eitherKind: "float32" | "dynamic";
new QuantizedLinear(x, { activations: eitherKind, axis: 0 });
// @ts-expect-error the range of float32 activations is not reduced
new QuantizedLinear(x, { reduceRange: true });
// @ts-expect-error dynamic activations take a symmetric weight
new QuantizedLinear(x, { activations: "dynamic", scheme: "affine" });
// @ts-expect-error dynamic activations take a signed weight
new QuantizedLinear(x, { activations: "dynamic", dtype: "uint4" });
// @ts-expect-error integer sums are exact
new QuantizedLinear(x, { activations: "dynamic", accumulate: "float32" });
// @ts-expect-error dynamic activations take no offsets
new QuantizedLinear(x, { activations: "dynamic", dtype: "int4", zeroPoint: "float" });
// @ts-expect-error codes go to the dtype's array
quantize(x, { dtype: "uint8", scheme: "affine", out: new Int8Array(4) });
// @ts-expect-error an array is not a tensor
quantize([1, 2]);
// @ts-expect-error BigInts are not numbers
quantize(new BigInt64Array(2));
// @ts-expect-error a DataView is not a tensor
quantize(new DataView(new ArrayBuffer(4)));
// @ts-expect-error codes are not real values
quantize(quantize(x));
// @ts-expect-error codes are not real values
quantizationError(x, quantize(x));
// @ts-expect-error values are not codes
dequantize(x);
// @ts-expect-error chooseQParams chooses the scale
chooseQParams(x, { scale: 1 });
// @ts-expect-error a metric that there is not
quantizationError(x, x, "rmse");
// @ts-expect-error a range that there is not
quantize(x, { range: "max" });
// @ts-expect-error axis and groupSize exclude each other
quantizationError(x, x, "mse", { axis: 0, groupSize: 2 });
// @ts-expect-error there is no such kind of activations
new QuantizedLinear(x, { activations: "static" });
// @ts-expect-error text is not a number
tensor([1, "2"]);
// @ts-expect-error the weight comes second
linear(x);
// @ts-expect-error results are not written to
quantize(x).scale = 1;

// ---- PyTorch's functions, observers and models

// The dtype says which array the codes are in; per tensor qparams are numbers, per channel tensors.
const perTensor = quantizePerTensor(x, 0.1, 0, "quint8");
same<Uint8Array>()(perTensor.data);
same<number>()(perTensor.scale);
same<number>()(perTensor.zeroPoint);
same<"quint8">()(perTensor.dtype);
const perChannel = quantizePerChannel(x, [1, 1], new Int32Array(2), 0, "qint32");
same<Int32Array>()(perChannel.data);
same<Float32Array | Float64Array>()(perChannel.scale.data);
same<number>()(perChannel.axis);
same<undefined>()(perTensor.axis);
same<Tensor>()(dequantize(perTensor));
same<Int8Array>()(intRepr(quantizePerTensorDynamic(x, "qint8")).data);
same<Tensor>()(fakeQuantizePerTensor(x, tensor(0.1), tensor([0]), 0, 255));
same<Tensor>()(linear(x, quantizePerTensor(x, 1, 0, "qint8")));
new QuantizedLinear(quantizePerTensor(x, 1, 0, "qint8"), { activations: "dynamic" });

// Observers give back what they look at, whatever its type.
const observer = new MinMaxObserver({ dtype: "qint8", qscheme: "per_tensor_symmetric" });
same<Tensor>()(observer.observe(x));
same<Float32Array>()(observer.observe(x.data));
same<Tensor>()(observer.calculateQParams().scale);
same<Tensor>()(new HistogramObserver({ bins: 8 }).histogram);

// Factories know what they make, and which options that takes.
const factory = HistogramObserver.withArgs({ bins: 8 }).withArgs({ dtype: "qint8" });
same<HistogramObserver>()(factory());
same<HistogramObserver>()(HistogramObserver.fromJSON(factory().toJSON()));
const qconfig = new QConfig({ activation: factory, weight: MinMaxObserver });
// The types of a QConfig's factories do not tell their options.
const { activation } = qconfig;
if (activation !== null && "args" in activation) same<unknown>()(activation.args.isDynamic);

// Models.
const model = new Sequential({ fc: new Linear(x), mine: (y: Tensor) => y.data });
same<Tensor>()(model.forward(x));
const prepared: PreparedModel = prepare(model, predefinedQConfigs.default_qconfig).calibrate([x]);
const quantizedModel: QuantizedModel = convert(prepared);
same<number | undefined>()(quantizedModel.report([x]).layers[0].outputSqnr);
quantizeDynamic(model, new QConfigMapping().setObjectType(Linear, new WeightOnlyQConfig()));

// @ts-expect-error a dtype of the other family
quantizePerTensor(x, 1, 0, "int8");
// @ts-expect-error no codes of 32 bits are chosen on the fly
quantizePerTensorDynamic(x, "qint32");
// @ts-expect-error a weight of another dtype
linear(x, perTensor);
// @ts-expect-error MinMaxObserver counts nothing
new MinMaxObserver({ bins: 8 });
// @ts-expect-error what it is to give always
new FixedQParamsObserver();
// @ts-expect-error nor does a QConfig know
new QConfig({ activation: FixedQParamsObserver, weight: null });
// Of a factory each call may give some of the options.
const fixed = FixedQParamsObserver.withArgs({ scale: 0.5 });
same<FixedQParamsObserver>()(fixed.withArgs({ zeroPoint: 3 })({ quantMax: 100 }));
// @ts-expect-error nor do the observers that its factory makes
MinMaxObserver.withArgs({ bins: 8 });
// @ts-expect-error a factory, not an observer
new QConfig({ activation: observer, weight: null });
// @ts-expect-error a layer, not its class
new Sequential([Linear]);

same<QConfig>()(predefinedQConfigs.default_qconfig);
// @ts-expect-error: no such name
predefinedQConfigs.default_qconfi;
// @ts-expect-error: a qscheme of the other observers
new MinMaxObserver({ qscheme: "per_channel_affine" });
// @ts-expect-error: and the other way round
PerChannelMinMaxObserver.withArgs({ qscheme: "per_tensor_symmetric" });
class Scale {
  readonly typeName = "Scale";
  readonly sizeInBytes = 4;
  forward(input: TensorInput): Tensor {
    return dequantize(quantize(input));
  }
}
// @ts-expect-error: looks like a layer and is none
new Sequential({ scale: new Scale() });
