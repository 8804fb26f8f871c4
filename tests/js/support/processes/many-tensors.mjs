// Opens or quantizes a model of many tensors, and prints how many tensors it has. Arguments: the format, their number.

import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { ggufEntry, layoutGGUF, writeGGUF } from "../../../internal/formats.mjs";
import { safetensorsOf } from "../files/checkpoints.mjs";
import { collect } from "../files/formats.mjs";

await init();
const [, , format, number] = process.argv;
const many = (make) => Array.from({ length: Number(number) }, (_, i) => make(i));

/** A GGUF file without the key that says how many layers there are. */
async function gguf() {
  const bytes = new Uint8Array(4 * 2 * 32);
  const tensors = many((i) => {
    const name = `blk.${i}.attn_q.weight`;
    return { name, dtype: "float32", shape: [2, 32], bytes: () => [bytes] };
  });
  const metadata = new Map([["general.architecture", ggufEntry("string", "llama")]]);
  return await collect(writeGGUF(layoutGGUF(tensors, metadata)));
}

/** A checkpoint of weights in float8, each with a scale. */
async function float8() {
  const tensors = many((i) => [
    [`layers.${i}.weight`, ["float8_e4m3fn", [1, 1], new Uint8Array(1)]],
    [`layers.${i}.weight_scale`, ["float32", [1], Float32Array.of(1)]],
  ]);
  return await safetensorsOf(Object.fromEntries(tensors.flat()));
}

if (format === "gguf") {
  const { report } = await quantizeModel(await openModel(await gguf()), "q8_0");
  console.log(report.rows.filter(({ scheme }) => scheme === "q8_0").length);
} else {
  const { tensors } = await openModel(await float8());
  console.log([...tensors.values()].filter(({ isQuantized }) => isQuantized).length);
}
