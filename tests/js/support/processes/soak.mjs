// Makes and drops tensors, layers and models of changing size, and says what stays in the core's heap.
// Run by soak.test.mjs with --expose-gc:
//
//   node --expose-gc tests/js/support/processes/soak.mjs <build> <threads> <operations>

import { setImmediate as nextTurn } from "node:timers/promises";
import {
  dequantize,
  fakeQuantize,
  init,
  linear,
  pack,
  QuantizedLinear,
  quantizationError,
  quantize,
  tensor,
  unpack,
} from "zeropoint";
import {
  convert,
  HistogramObserver,
  Linear,
  predefinedQConfigs,
  prepare,
  quantizeDynamic,
  quantizePerChannel,
  ReLU,
  Sequential,
} from "zeropoint/torch";
import { activeCore } from "../../../internal/core.mjs";
import { Random } from "../asserts.mjs";

const [build, threads, count] = process.argv.slice(2);
await init({ build, threads: Number(threads) });
const core = activeCore("soak");

/** Bytes of every block that the package has from the core's allocator at present. */
const blocks = new Map();
const { allocate, release } = core.module;
core.module.allocate = (bytes) => {
  const address = allocate(bytes);
  if (address !== 0) blocks.set(address, bytes);
  return address;
};
/** Whether the scratch block is still the one that loading made, before anything was counted. */
let scratchIsOld = core.memory.capacity > 0;
core.module.release = (address) => {
  if (!blocks.delete(address)) {
    if (!scratchIsOld) throw new Error(`released twice, or never allocated: ${address}`);
    scratchIsOld = false;
  }
  release(address);
};

/** Bytes in use, without the scratch block, which stays from call to call. */
function bytesInUse() {
  let sum = 0;
  for (const bytes of blocks.values()) sum += bytes;
  const { capacity } = core.memory;
  return capacity === 0 || scratchIsOld ? sum : sum - capacity;
}

/** Collects garbage and lets finalizers run until all is given back, or it is hopeless. */
async function settle() {
  for (let round = 0; round < 100; round++) {
    globalThis.gc();
    await nextTurn();
    if (bytesInUse() === 0) return;
  }
}

const random = new Random(7);
const noise = random.normal(20_000);

/** Values of a tensor, taken from anywhere in the noise. */
function values(size) {
  const start = random.integer(0, noise.length - size);
  return noise.subarray(start, start + size);
}

function randomLayer() {
  const n = random.integer(1, 40);
  const k = 4 * random.integer(1, 40);
  const weight = tensor(values(n * k), [n, k]);
  const bias = random.pick([undefined, tensor(values(n))]);
  const options = random.pick([
    {},
    { axis: 0 },
    { axis: 1, dtype: "uint8", scheme: "affine" },
    { dtype: "int4", groupSize: 4 },
    { dtype: "uint2", scheme: "affine", groupSize: k },
    { activations: "dynamic" },
    { activations: "dynamic", axis: 0, reduceRange: false },
  ]);
  return new QuantizedLinear(weight, { ...options, bias });
}

function useTensors() {
  const shape = [random.integer(1, 30), 4 * random.integer(1, 60)];
  const x = tensor(values(shape[0] * shape[1]), shape);
  const q = quantize(x, random.pick([{}, { axis: 0 }, { dtype: "int4", groupSize: 4 }]));
  const y = dequantize(unpack(pack(q), q));
  quantizationError(x, y, random.pick(["mse", "max", "cosine"]));
  fakeQuantize(x, q);
  linear(x, q);
  quantizePerChannel(x, new Array(shape[0]).fill(0.1), new Array(shape[0]).fill(0), 0, "qint8");
  const observer = new HistogramObserver({ bins: 64 });
  observer.observe(x);
  observer.calculateQParams();
}

/** Calls that throw must free the memory that they have allocated. */
function fail() {
  const w = tensor([1, 2, 3, 4], [2, 2]);
  const attempts = [
    () => new QuantizedLinear(w, { bias: tensor([1, 2, 3]) }),
    () => new QuantizedLinear(tensor([1, Number.NaN], [1, 2])),
    () => new QuantizedLinear(tensor([1, Number.NaN], [1, 2]), { activations: "dynamic" }),
    () => new QuantizedLinear(w, { groupSize: 3 }),
    () => randomLayer().forward(tensor([1, 2, 3, 4, 5])),
    () => quantize(tensor([Number.POSITIVE_INFINITY, 1])),
    () => linear(w, quantize(tensor([1, 2, 3], [1, 3]))),
  ];
  try {
    random.pick(attempts)();
  } catch (error) {
    if (!error.code?.startsWith("ZP_")) throw error;
  }
}

function useModel() {
  const model = new Sequential([
    new Linear(tensor(values(24), [6, 4])),
    new ReLU(),
    new Linear(tensor(values(12), [2, 6])),
  ]);
  const x = tensor(values(12), [3, 4]);
  if (random.integer(0, 1) === 0) {
    return quantizeDynamic(model, predefinedQConfigs.per_channel_dynamic_qconfig);
  }
  const prepared = prepare(model, predefinedQConfigs.default_qconfig);
  prepared.forward(x);
  return convert(prepared);
}

const live = [];
let made = 0;
let forwards = 0;

/** A layer or model leaves: by dispose(), once or twice, by the end of a `using` block, or forgotten. */
function drop(layer) {
  const before = blocks.size;
  switch (random.integer(0, 3)) {
    case 0:
      layer.dispose();
      break;
    case 1:
      layer.dispose();
      layer.dispose();
      break;
    case 2:
      layer[Symbol.dispose]();
      break;
    default:
      return;
  }
  if (blocks.size >= before) throw new Error("dispose() gave nothing back");
}

/** One operation. A function of its own, so that nothing of it is left on the stack. */
function operate() {
  const choice = random.integer(0, 99);
  if (choice < 80) live.push(randomLayer());
  else if (choice < 90) useTensors();
  else if (choice < 97) fail();
  else live.push(useModel());
  made++;
  if (live.length > 20) drop(live.splice(random.integer(0, live.length - 1), 1)[0]);
  const some = live[random.integer(0, live.length - 1)];
  if (some instanceof QuantizedLinear && random.integer(0, 3) === 0) {
    const rows = random.integer(1, 3);
    some.forward(tensor(values(rows * some.inFeatures), [rows, some.inFeatures]));
    forwards++;
  }
}

async function soak(operations) {
  for (let i = 0; i < operations; i++) {
    operate();
    // Forgotten layers wait for the collector, which knows nothing of the core's heap.
    if (i % 2000 === 1999) {
      globalThis.gc();
      await nextTurn();
    }
  }
  live.length = 0;
  await settle();
  return core.module.HEAPU8.length;
}

const before = bytesInUse();
const heapAfterWarmUp = await soak(Number(count) / 4);
const heapAtEnd = await soak((3 * Number(count)) / 4);
console.log(
  JSON.stringify({
    build: core.build,
    threads: core.threads,
    made,
    forwards,
    before,
    after: bytesInUse(),
    heapAfterWarmUp,
    heapAtEnd,
  }),
);
process.exit();
