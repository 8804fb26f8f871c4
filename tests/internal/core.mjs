// What the tests use of src/js/core beyond the public exports: the compiled core: builds, loading, memory, threads.

export { instantiate } from "../../dist/core/bindings.js";
export { embedded, toBytes } from "../../dist/core/embedded.js";
export { chooseBuilds, examineEngine, loweringOfDot } from "../../dist/core/features.js";
export { activeCore, checkSame, runOn } from "../../dist/core/init.js";
export { chooseKernels, timeDots } from "../../dist/core/kernels.js";
export { loadBuild } from "../../dist/core/load.js";
export { Memory } from "../../dist/core/memory.js";
export { computesKnownValues } from "../../dist/core/prove.js";
export { Staging } from "../../dist/core/threads/staging.js";
export { afterFreeSeconds } from "../../dist/core/threads/workers.js";
