// A small tensor for the tests of quantize.

import { init, tensor } from "zeropoint";

await init();

export const x = tensor([
  [191.6, -13.5, 728.6],
  [92.14, 295.5, -184],
  [0, 684.6, 245.5],
]);
