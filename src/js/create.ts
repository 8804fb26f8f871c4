// Independent instances: all functions and classes, each bound to a core of its own.

import type { Build, Core } from "./build.js";
import { dequantize, fakeQuantize } from "./dequantize.js";
import { quantizationError } from "./error.js";
import { type InitOptions, loadCore, runOn } from "./init.js";
import { linear, QuantizedLinear } from "./linear.js";
import { pack, unpack } from "./pack.js";
import { chooseQParams } from "./qparams.js";
import { quantize } from "./quantize.js";
import { tensor } from "./tensor.js";

/** An instance of the library, with a core and memory of its own. */
export interface Zeropoint {
  /** The build that it runs. */
  readonly build: Build;
  /** The threads that it runs on. */
  readonly threads: number;
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
}

/**
 * Makes an instance of the library that is independent of the default one and of all others: the
 * same functions and classes, on a core of its own. Tensors pass freely between instances.
 *
 * @param options  those of `init`
 * @throws {Error|RangeError|TypeError} what `init` throws, but never `ZP_ALREADY_INITIALIZED`
 * @example const { quantize, tensor } = await create({ build: "baseline" });
 */
export async function create(options?: InitOptions): Promise<Zeropoint> {
  const core = await loadCore("create", options);
  return {
    build: core.build,
    threads: core.threads,
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
  };
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
