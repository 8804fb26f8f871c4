// Types of connections, checked by the compiler alone: nothing here runs. Each @ts-expect-error is a
// mistake that must not compile.

import type { QuantizedLinear, QuantizedTensor, Tensor } from "zeropoint";
import {
  type ObservedQParams,
  type PreparedModel,
  predefinedQConfigs,
  type QuantizedModel,
  type Sequential,
  type TorchQuantizedTensor,
} from "zeropoint/torch";
import {
  type AbortSignalLike,
  type Connection,
  connect,
  type Handle,
  type Progress,
} from "zeropoint/worker";

/** Takes only what has exactly this type. */
declare function same<T>(): <U>(
  value: U &
    ((<V>() => V extends T ? 1 : 2) extends <V>() => V extends U ? 1 : 2 ? unknown : never),
) => void;

declare const x: Tensor;
declare const model: Sequential;
declare const signal: AbortSignalLike;

const zp: Connection<"torch"> = await connect({
  threads: 2,
  build: "relaxed",
  worker: "/w.js",
  entries: ["torch"],
});
const plain: Connection = await connect();
// @ts-expect-error: an entry that was not asked for
plain.quantizePerTensor(x, 1, 0, "qint8");
// @ts-expect-error: no such entry
connect({ entries: ["torches"] });
same<boolean>()(zp.offThread);
same<string | undefined>()(zp.reason);
zp.dispose();

// Signatures follow those of the library.
same<Promise<QuantizedTensor<"int8", "perTensor">>>()(zp.quantize(x));
same<Promise<QuantizedTensor<"uint4", "perGroup">>>()(
  zp.quantize(x, { dtype: "uint4", scheme: "affine", groupSize: 32 }, { signal, transfer: true }),
);
same<Promise<QuantizedTensor<"int8", "perChannel">>>()(zp.quantize(x, { axis: 0, signal }));
same<Promise<TorchQuantizedTensor<"qint8", "perTensor">>>()(zp.quantizePerTensor(x, 1, 0, "qint8"));
const q = await zp.quantize(x);
same<Promise<Tensor>>()(zp.dequantize(q, { signal }));
same<Promise<Tensor>>()(zp.linear(x, q, null, undefined, { transfer: [x.data] }));
const onProgress = (progress: Progress): void => same<number>()(progress.done);
zp.pack(q, { onProgress });

// Classes have factories, objects have handles.
const layer = await zp.quantizedLinear(x, { axis: 0 }, { signal });
same<Handle<QuantizedLinear>>()(layer);
same<Promise<Tensor>>()(layer.forward(x, undefined, { signal }));
same<Promise<Tensor>>()(layer.forward(x, { signal }));
same<Promise<number>>()(layer.inFeatures);
layer.dispose();
const observer = await zp.histogramObserver({ bins: 8 });
same<Promise<ObservedQParams>>()(observer.calculateQParams());
same<Promise<Tensor>>()(observer.minVal);
const prepared = await zp.prepare(model, predefinedQConfigs.default_qconfig);
same<Handle<PreparedModel>>()(prepared);
same<Handle<QuantizedModel>>()(await zp.convert(prepared));
same<Promise<Tensor>>()((await zp.linearLayer(x)).forward(x));
zp.save({ layer, list: [observer, x, model] }, { signal });

// @ts-expect-error no such option
zp.quantize(x, { axes: 0 });
// @ts-expect-error the default scheme takes a signed dtype
zp.quantize(x, { dtype: "uint4", groupSize: 32 });
// @ts-expect-error one scale per channel, or one per group
zp.chooseQParams(x, { axis: 0, groupSize: 32 });
// @ts-expect-error the default scheme takes a signed dtype
zp.fakeQuantize(x, { dtype: "uint8", signal });
// @ts-expect-error one scale per channel, or one per group
zp.quantizedLinear(x, { axis: 0, groupSize: 32 });
same<Promise<Tensor>>()(zp.fakeQuantize(x, { dtype: "uint8", scheme: "affine" }, { signal }));
// @ts-expect-error no such option of a call
zp.pack(q, { timeout: 3 });
// @ts-expect-error a dtype of the other family
zp.quantizePerTensor(x, 1, 0, "int8");
// @ts-expect-error a tensor is no handle
zp.convert(x);
// @ts-expect-error no method of a layer
layer.backward(x);
// @ts-expect-error pure data needs no worker
zp.tensor([1]);
// @ts-expect-error nothing that a file holds
zp.save(zp);
// @ts-expect-error no address
connect({ worker: 3 });

// Indexes of vectors.

const withSearch = await connect({ entries: ["search"] });
// @ts-expect-error: an entry that was not asked for
plain.vectorIndex({ dimensions: 2 });
const index = await withSearch.vectorIndex<string>({ dimensions: 2 });
same<number>()(await index.size);
same<string[]>()(await index.add(x, ["a"], { signal }));
same<string[]>()(await index.ids());
const result = await index.search(x, { k: 3, filter: (id) => id.length > 1, signal });
same<number>()(result.hits[0].score);
same<string>()(result.hits[0].id);
// @ts-expect-error: hits of cosines have no distance
result.hits[0].distance;
const far = await withSearch.vectorIndex({ dimensions: 2, metric: "euclidean" });
same<number>()((await far.search([[1, 2]]))[0].hits[0].distance);
same<number>()((await far.search([1, 2])).hits[0].distance);
await index.rescore(result, async (ids: string[]) => ids.map(() => [1, 2]));
// @ts-expect-error: no such metric
await withSearch.vectorIndex({ dimensions: 2, metric: "l2" });
index.dispose();

// Model files.

// @ts-expect-error: an entry that was not asked for
plain.openModel("model.gguf");
const withModels = await connect({ entries: ["models", "torch"] });
const file = await withModels.openModel("model.gguf", { signal, externalData: (path) => path });
// @ts-expect-error an open file is copied by quantizeModel, not by save
withModels.save(file);
// @ts-expect-error moments are no part of a file
withModels.save({ moments: await withModels.inputMoments(2) });
same<"safetensors" | "gguf" | "onnx" | "npy" | "npz" | "tfjs" | "pb">()(await file.format);
same<number | undefined>()((await file.tensors).get("w")?.byteLength);
same<Tensor>()(await file.read("w", { signal }));
same<Uint8Array>()(await file.readBytes("w"));
const moments = await withModels.inputMoments(4);
await moments.add(x, { signal });
for await (const row of withModels.analyze(file, { signal, activations: { w: moments } })) {
  same<string>()(row.scheme);
}
for await (const row of withModels.compare(file, file, { rename: (name) => name })) {
  same<boolean>()(row.equal);
}
const plan = await withModels.plan([], { bytes: 5 }, { signal });
const written = await withModels.quantizeModel(file, plan, { signal });
same<number>()(written.files[0].size);
await withModels.quantizeModel(file, ({ name }) => (name === "w" ? "int4-g32" : undefined));
same<number>()((await withModels.verify(file, file, { signal })).equal);
// @ts-expect-error: runs an engine of the caller's own
withModels.recordOnnxInputs(file, () => {}, []);
// @ts-expect-error: a source is no file
withModels.analyze("model.gguf");
file.dispose();
