// Models of two layers with a ReLU between them: static activations beside dynamic ones.

import { normalValues } from "../random.mjs";
import { wrong } from "../reference.mjs";
import { disposeAll } from "./dispose.mjs";

/** Least ratio of signal and noise of 8-bit activations and weights, in dB. */
const LEAST_SQNR = 20;

/** @returns {Promise<{ entries: any[], skipped: any[], dispose: () => void }>} */
export async function modelEntries({ rows, features }, { zeropoint }) {
  const entries = [];
  const disposals = [];
  const weight = (seed) => ({
    data: normalValues(features * features, seed).map((value) => value / Math.sqrt(features)),
    shape: [features, features],
  });
  const [first, second] = [weight(21), weight(22)];
  const bias = normalValues(features, 23);
  const x = { data: normalValues(rows * features, 24), shape: [rows, features] };
  const bits = {};
  let expected;
  for (const { name, build, threads, zp } of zeropoint) {
    const model = new zp.Sequential({
      fc1: new zp.Linear(first, { bias }),
      relu: new zp.ReLU(),
      fc2: new zp.Linear(second, { bias }),
    });
    expected ??= model.forward(x);
    const prepared = zp.prepare(model, zp.getDefaultQConfig("fbgemm"));
    prepared.forward(x);
    const models = { static: zp.convert(prepared), dynamic: zp.quantizeDynamic(model) };
    for (const [format, quantized] of Object.entries(models)) {
      disposals.push(() => quantized.dispose());
      entries.push({
        contestant: "zeropoint",
        build,
        threads,
        format,
        operation: "model",
        title: `W8A8 ${format}`,
        name: `zeropoint ${name}: W8A8 ${format}`,
        unit: "GFLOP/s",
        work: 2 * 2 * rows * features * features,
        run: () => quantized.forward(x),
        judge(y) {
          bits[format] ??= y.data;
          if (!y.data.every((value, i) => Object.is(value, bits[format][i]))) {
            return wrong("the bits differ from those of the first build");
          }
          const sqnr = zeropoint[0].zp.quantizationError(expected, y, "sqnr");
          return sqnr >= LEAST_SQNR ? { worst: 0 } : wrong(`${sqnr} dB`);
        },
      });
    }
  }
  return { entries, skipped: [], dispose: disposeAll(disposals) };
}
