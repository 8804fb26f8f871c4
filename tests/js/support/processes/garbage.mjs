// Measures the garbage that a layer in a loop makes with every call. Run by soak.test.mjs with
// --expose-gc, and with enough room for young objects that no collection runs meanwhile:
//
//   node --expose-gc --min-semi-space-size=64 --max-semi-space-size=64 tests/js/support/processes/garbage.mjs <build>

import { init, QuantizedLinear, tensor } from "zeropoint";
import { Random } from "../asserts.mjs";

await init({ build: process.argv[2] });
const random = new Random(8);
const layer = new QuantizedLinear(tensor(random.normal(64 * 64), [64, 64]), { axis: 0 });
const x = tensor(random.normal(2 * 64), [2, 64]);
const out = tensor(new Float32Array(2 * 64), [2, 64]);

/** In a function of its own, which the engine compiles before it is measured. */
function run(calls) {
  for (let i = 0; i < calls; i++) layer.forward(x, out);
}

const CALLS = 20_000;
for (let round = 0; round < 5; round++) run(CALLS);
globalThis.gc();
const before = process.memoryUsage().heapUsed;
run(CALLS);
const after = process.memoryUsage().heapUsed;
console.log(JSON.stringify({ bytesOfACall: (after - before) / CALLS }));
