// Types of model files, checked by the compiler alone: nothing here runs. Each @ts-expect-error is a mistake that must
// not compile.

import { type Tensor, tensor } from "zeropoint";
import {
  type AnalysisRow,
  analyze,
  type CompareRow,
  compare,
  load,
  type Model,
  type OutputVerification,
  openModel,
  type Plan,
  plan,
  quantizeModel,
  save,
  verifyOutput,
} from "zeropoint/models";
import type { Sequential } from "zeropoint/torch";

/** Takes only what has exactly this type. */
declare function same<T>(): <U>(
  value: U &
    ((<V>() => V extends T ? 1 : 2) extends <V>() => V extends U ? 1 : 2 ? unknown : never),
) => void;

const model: Model = await openModel("model.gguf", { format: "gguf" });
for (const [name, { shape, byteLength }] of model.tensors) {
  same<string>()(name);
  same<readonly number[]>()(shape);
  same<number>()(byteLength);
}
same<Promise<Tensor>>()(model.read("w"));
same<Promise<Uint8Array>>()(model.readBytes("w"));

const rows: AnalysisRow[] = [];
for await (const row of analyze(model, { schemes: ["int8-channel"], sample: 4096 })) rows.push(row);
const best: Plan = plan(rows, { bitsPerWeight: 4.5 });
const result = await quantizeModel(model, best);
for (const file of result.files) {
  same<string>()(file.name);
  same<number>()(file.size);
  for await (const chunk of file.stream()) void chunk;
}
await quantizeModel(model, ({ name }) => (name.includes("head") ? "keep" : "int4-g32"));
same<Promise<OutputVerification>>()(verifyOutput(model, result));
for await (const row of compare(model, model)) same<CompareRow>()(row);

// What a file holds is known to its reader alone.
const restored = await load<Sequential>(save({ w: tensor([1]) }));
same<Tensor>()(restored.forward(tensor([1])));
save(await load("model.safetensors"));

// @ts-expect-error no such format
openModel("model.bin", { format: "pickle" });
// @ts-expect-error a path, not a number
openModel(5);
// @ts-expect-error no such option
analyze(model, { scheme: "int8-channel" });
// @ts-expect-error no such budget
plan(rows, { size: 4.5 });
// @ts-expect-error a function cannot be saved by itself
save(() => 1);
// @ts-expect-error no file holds a number
load<number>("model.safetensors");
