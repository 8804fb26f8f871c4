// A page that uses the package as in its README; policy.test.mjs serves it under the strict policy.

import {
  create,
  dequantize,
  init,
  QuantizedLinear,
  quantizationError,
  quantize,
  tensor,
} from "zeropoint";
import { init as initNotebook, linear_q_symmetric, torch } from "zeropoint/notebook";

async function use() {
  const { build } = await init();
  const x = tensor([
    [191.6, -13.5, 728.6],
    [92.14, 295.5, -184],
    [0, 684.6, 245.5],
  ]);
  const q = quantize(x, { axis: 0 });
  const layer = new QuantizedLinear(q, { bias: tensor([1, 2, 3]) });
  const y = String(layer.forward(tensor([1, 2, 3])));
  layer.dispose();

  const other = await create({ build: "baseline", threads: 2 });
  await initNotebook();
  const [, scale] = linear_q_symmetric(torch.tensor([[191.6, -13.5]]), { dtype: torch.int8 });
  return {
    build,
    codes: Array.from(q.data),
    error: quantizationError(x, dequantize(q)),
    y,
    other: [other.build, other.threads, ...other.quantize(x).data],
    scale: Number(scale),
  };
}

globalThis.finished = use().catch((error) => ({ error: `${error}\n${error.stack}` }));
