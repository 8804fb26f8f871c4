// Independent instances: all functions and classes, each bound to a core of its own.

import {
  chooseQParamsAsync,
  dequantizeAsync,
  fakeQuantizeAsync,
  linearAsync,
  quantizationErrorAsync,
  quantizeAsync,
} from "./async.js";
import type { Build, Chunks, Core } from "./build.js";
import { dequantize, fakeQuantize } from "./dequantize.js";
import { quantizationError } from "./error.js";
import { HistogramObserver } from "./histogram.js";
import { describeCore, type InitOptions, type InitResult, loadCore, runOn } from "./init.js";
import { linear } from "./linear.js";
import { Embedding, LayerNorm, Linear, ReLU, Sigmoid, Softmax, Tanh } from "./model/layer.js";
import { Sequential } from "./model/sequential.js";
import { convert, prepare, quantizeDynamic } from "./model/workflow.js";
import {
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  MovingAveragePerChannelMinMaxObserver,
  PerChannelMinMaxObserver,
} from "./observer.js";
import { pack, unpack } from "./pack.js";
import {
  FixedQParamsObserver,
  NoopObserver,
  PlaceholderObserver,
  RecordingObserver,
  ReuseInputObserver,
} from "./passive.js";
import * as qconfigs from "./qconfig.js";
import { QConfigMapping, WeightOnlyQConfig } from "./qconfig-mapping.js";
import { chooseQParams } from "./qparams.js";
import { quantize } from "./quantize.js";
import { QuantizedLinear } from "./quantized-linear.js";
import { tensor } from "./tensor.js";
import {
  fakeQuantizePerChannel,
  fakeQuantizePerTensor,
  intRepr,
  quantizePerChannel,
  quantizePerTensor,
  quantizePerTensorDynamic,
} from "./torch.js";

/** The QConfigs and all around them: data, the same in every instance. */
type QConfigs = typeof qconfigs;

/** An instance of the library, with a core and memory of its own. */
export interface Zeropoint extends QConfigs, InitResult {
  /** The build that it runs. */
  readonly build: Build;
  /** The threads that it runs on. */
  readonly threads: number;
  /**
   * Ends the instance and its workers: its functions throw `ZP_DISPOSED` from then on, promises that are
   * pending are rejected with it, and layers that are still there go on with one thread. Harmless when called again. The workers of an instance that
   * nobody holds any more are ended some time later.
   */
  dispose(): void;
  /** `dispose()`, for `using`. There where the engine has `Symbol.dispose`. */
  [Symbol.dispose]: () => void;
  readonly tensor: typeof tensor;
  readonly chooseQParams: typeof chooseQParams;
  readonly quantize: typeof quantize;
  readonly dequantize: typeof dequantize;
  readonly fakeQuantize: typeof fakeQuantize;
  readonly quantizationError: typeof quantizationError;
  readonly pack: typeof pack;
  readonly unpack: typeof unpack;
  readonly linear: typeof linear;
  readonly QuantizedLinear: typeof QuantizedLinear;
  readonly quantizeAsync: typeof quantizeAsync;
  readonly dequantizeAsync: typeof dequantizeAsync;
  readonly fakeQuantizeAsync: typeof fakeQuantizeAsync;
  readonly chooseQParamsAsync: typeof chooseQParamsAsync;
  readonly quantizationErrorAsync: typeof quantizationErrorAsync;
  readonly linearAsync: typeof linearAsync;
  readonly quantizePerTensor: typeof quantizePerTensor;
  readonly quantizePerChannel: typeof quantizePerChannel;
  readonly quantizePerTensorDynamic: typeof quantizePerTensorDynamic;
  readonly intRepr: typeof intRepr;
  readonly fakeQuantizePerTensor: typeof fakeQuantizePerTensor;
  readonly fakeQuantizePerChannel: typeof fakeQuantizePerChannel;
  readonly MinMaxObserver: typeof MinMaxObserver;
  readonly MovingAverageMinMaxObserver: typeof MovingAverageMinMaxObserver;
  readonly PerChannelMinMaxObserver: typeof PerChannelMinMaxObserver;
  readonly MovingAveragePerChannelMinMaxObserver: typeof MovingAveragePerChannelMinMaxObserver;
  readonly HistogramObserver: typeof HistogramObserver;
  readonly PlaceholderObserver: typeof PlaceholderObserver;
  readonly NoopObserver: typeof NoopObserver;
  readonly RecordingObserver: typeof RecordingObserver;
  readonly ReuseInputObserver: typeof ReuseInputObserver;
  readonly FixedQParamsObserver: typeof FixedQParamsObserver;
  readonly Sequential: typeof Sequential;
  readonly Linear: typeof Linear;
  readonly Embedding: typeof Embedding;
  readonly LayerNorm: typeof LayerNorm;
  readonly ReLU: typeof ReLU;
  readonly Sigmoid: typeof Sigmoid;
  readonly Softmax: typeof Softmax;
  readonly Tanh: typeof Tanh;
  readonly QConfigMapping: typeof QConfigMapping;
  readonly WeightOnlyQConfig: typeof WeightOnlyQConfig;
  readonly prepare: typeof prepare;
  readonly convert: typeof convert;
  readonly quantizeDynamic: typeof quantizeDynamic;
}

/** `create`, with the chunks to load from. */
export async function createFrom(
  chunks: Chunks,
  options: InitOptions | undefined,
): Promise<Zeropoint> {
  const core = await loadCore("create", chunks, options);
  const dispose = (): void => core.dispose();
  const instance: Omit<Zeropoint, typeof Symbol.dispose> = {
    ...describeCore(core),
    dispose,
    tensor: bind(core, tensor),
    chooseQParams: bind(core, chooseQParams),
    quantize: bind(core, quantize),
    dequantize: bind(core, dequantize),
    fakeQuantize: bind(core, fakeQuantize),
    quantizationError: bind(core, quantizationError),
    pack: bind(core, pack),
    unpack: bind(core, unpack),
    linear: bind(core, linear),
    QuantizedLinear: bind(core, QuantizedLinear),
    quantizeAsync: bindAsync(core, quantizeAsync),
    dequantizeAsync: bindAsync(core, dequantizeAsync),
    fakeQuantizeAsync: bindAsync(core, fakeQuantizeAsync),
    chooseQParamsAsync: bindAsync(core, chooseQParamsAsync),
    quantizationErrorAsync: bindAsync(core, quantizationErrorAsync),
    linearAsync: bindAsync(core, linearAsync),
    quantizePerTensor: bind(core, quantizePerTensor),
    quantizePerChannel: bind(core, quantizePerChannel),
    quantizePerTensorDynamic: bind(core, quantizePerTensorDynamic),
    intRepr: bind(core, intRepr),
    fakeQuantizePerTensor: bind(core, fakeQuantizePerTensor),
    fakeQuantizePerChannel: bind(core, fakeQuantizePerChannel),
    MinMaxObserver: bind(core, MinMaxObserver),
    MovingAverageMinMaxObserver: bind(core, MovingAverageMinMaxObserver),
    PerChannelMinMaxObserver: bind(core, PerChannelMinMaxObserver),
    MovingAveragePerChannelMinMaxObserver: bind(core, MovingAveragePerChannelMinMaxObserver),
    HistogramObserver: bind(core, HistogramObserver),
    PlaceholderObserver: bind(core, PlaceholderObserver),
    NoopObserver: bind(core, NoopObserver),
    RecordingObserver: bind(core, RecordingObserver),
    ReuseInputObserver: bind(core, ReuseInputObserver),
    FixedQParamsObserver: bind(core, FixedQParamsObserver),
    Sequential: bind(core, Sequential),
    Linear: bind(core, Linear),
    Embedding: bind(core, Embedding),
    LayerNorm: bind(core, LayerNorm),
    ReLU: bind(core, ReLU),
    Sigmoid: bind(core, Sigmoid),
    Softmax: bind(core, Softmax),
    Tanh: bind(core, Tanh),
    QConfigMapping,
    WeightOnlyQConfig,
    prepare: bind(core, prepare),
    convert: bind(core, convert),
    quantizeDynamic: bind(core, quantizeDynamic),
    ...qconfigs,
  };
  const symbols = typeof Symbol.dispose === "symbol" ? { [Symbol.dispose]: dispose } : {};
  return Object.assign(instance, symbols) as Zeropoint;
}

/** A function or class that runs on a core of its own, the same in everything else. */
// biome-ignore lint/complexity/noBannedTypes: any function or class will do
function bind<F extends Function>(core: Core, target: F): F {
  return new Proxy(target, {
    apply: (callee, self, args) => runOn(core, () => Reflect.apply(callee, self, args)),
    construct: (callee, args, newTarget) =>
      runOn(core, () => Reflect.construct(callee, args, newTarget)),
  });
}

/** The same of an asynchronous function, which throws nothing by itself. */
function bindAsync<A extends unknown[], R>(
  core: Core,
  target: (...args: A) => Promise<R>,
): typeof target {
  return new Proxy(target, {
    apply: async (callee, self, args) => runOn(core, () => Reflect.apply(callee, self, args)),
  });
}
