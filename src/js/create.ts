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
import { disposed } from "./errors.js";
import { HistogramObserver } from "./histogram.js";
import { describeCore, type InitOptions, type InitResult, loadCore, runOn } from "./init.js";
import { linear } from "./linear.js";
import { convert, convertAsync, quantizeDynamic, quantizeDynamicAsync } from "./model/convert.js";
import { Embedding, LayerNorm, Linear, ReLU, Sigmoid, Softmax, Tanh } from "./model/layer.js";
import { prepare } from "./model/prepare.js";
import { Sequential } from "./model/sequential.js";
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
   * pending are rejected with it, and layers, models and observers that are still there go on with one
   * thread. Harmless when called again. The workers of an instance that nobody holds any more are ended
   * some time later.
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
  readonly convertAsync: typeof convertAsync;
  readonly quantizeDynamicAsync: typeof quantizeDynamicAsync;
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
    ...bindAll((name) => runningOn(core, name), {
      tensor,
      chooseQParams,
      quantize,
      dequantize,
      fakeQuantize,
      quantizationError,
      pack,
      unpack,
      linear,
      QuantizedLinear,
      quantizePerTensor,
      quantizePerChannel,
      quantizePerTensorDynamic,
      intRepr,
      fakeQuantizePerTensor,
      fakeQuantizePerChannel,
      MinMaxObserver,
      MovingAverageMinMaxObserver,
      PerChannelMinMaxObserver,
      MovingAveragePerChannelMinMaxObserver,
      HistogramObserver,
      PlaceholderObserver,
      NoopObserver,
      RecordingObserver,
      ReuseInputObserver,
      FixedQParamsObserver,
      Sequential,
      Linear,
      Embedding,
      LayerNorm,
      ReLU,
      Sigmoid,
      Softmax,
      Tanh,
      prepare,
      convert,
      quantizeDynamic,
    }),
    ...bindAll((name) => runningAsyncOn(core, name), {
      quantizeAsync,
      dequantizeAsync,
      fakeQuantizeAsync,
      chooseQParamsAsync,
      quantizationErrorAsync,
      linearAsync,
      convertAsync,
      quantizeDynamicAsync,
    }),
    QConfigMapping,
    WeightOnlyQConfig,
    ...qconfigs,
  };
  const symbols = typeof Symbol.dispose === "symbol" ? { [Symbol.dispose]: dispose } : {};
  return Object.assign(instance, symbols) as Zeropoint;
}

/** Functions and classes that run as a handler for their name says, the same in everything else. */
function bindAll<F extends Readonly<Record<string, AnyFunction>>>(
  handlerFor: (name: string) => ProxyHandler<AnyFunction>,
  targets: F,
): F {
  const bound = Object.entries(targets).map(([name, target]) => [
    name,
    new Proxy(target, handlerFor(name)),
  ]);
  return Object.fromEntries(bound) as F;
}

// biome-ignore lint/complexity/noBannedTypes: any function or class will do
type AnyFunction = Function;

/** Runs a function on a core of its own, as long as the instance is there. */
function runWhileThere<T>(core: Core, name: string, work: () => T): T {
  if (core.isDisposed) throw disposed(name);
  return runOn(core, work);
}

function runningOn(core: Core, name: string): ProxyHandler<AnyFunction> {
  return {
    apply: (callee, self, args) =>
      runWhileThere(core, name, () => Reflect.apply(callee, self, args)),
    construct: (callee, args, newTarget) =>
      runWhileThere(core, name, () => Reflect.construct(callee, args, newTarget)),
  };
}

/** The same of asynchronous functions, which throw nothing by themselves. */
function runningAsyncOn(core: Core, name: string): ProxyHandler<AnyFunction> {
  return {
    apply: async (callee, self, args) =>
      runWhileThere(core, name, () => Reflect.apply(callee, self, args)),
  };
}
