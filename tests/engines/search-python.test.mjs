// A saved index in Python: the documented lines of NumPy give its values and its nearest rows, and faiss takes its
// exported codes. Run by npm run check:engines.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { init } from "zeropoint";
import { VectorIndex } from "zeropoint/search";
import { Random, sameFloats } from "../js/support/asserts.mjs";
import { bytesOf } from "../js/support/files/saved.mjs";
import { readRecipe } from "../js/support/processes/recipes.mjs";
import { providePython } from "./debian-python.mjs";

await init();
const python = await providePython();
const skip = python === undefined && "needs Debian's packages";
const folder = mkdtempSync(join(tmpdir(), "zeropoint-search-python-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const D = 48;
const random = new Random(397);
const rows = Array.from({ length: 300 }, () => random.normal(D));
const query = random.normal(D);

/** An index whose rows do not lie in their order. */
function indexOf(options, nameOf = (i) => i) {
  const index = new VectorIndex({ dimensions: D, ...options });
  index.add(
    rows,
    rows.map((_, i) => nameOf(i)),
  );
  index.remove([nameOf(3), nameOf(100)]);
  return index;
}

/** Runs a script in the folder, and reads the JSON that it prints. */
function run(script) {
  const { ok, stdout, stderr } = python(script, folder);
  assert.ok(ok, stderr);
  return JSON.parse(stdout);
}

it("NumPy reads a saved index by the documented lines, and finds the same rows", {
  skip,
}, async () => {
  const lines = readRecipe("Searching vectors", "py");
  for (const groupSize of [undefined, 10]) {
    const index = indexOf({ groupSize, metric: "dot" }, (i) => `row ${i}`);
    writeFileSync(join(folder, "index.safetensors"), await bytesOf(index));
    const [ids, vectors, nearest] = run(`${lines}
query = np.array(${JSON.stringify([...query])})
best = np.argsort(-(vectors.astype(float) @ query), kind="stable")[:10]
print(json.dumps([ids, vectors.astype(float).tolist(), [ids[i] for i in best]]))`);
    assert.equal(ids.length, index.size);
    for (const [i, id] of ids.entries()) sameFloats(index.vector(id), vectors[i]);
    // The estimates of the index, whose query is rounded to 15 bits.
    const found = index.search(query).hits.map(({ id }) => id);
    assert.equal(found[0], nearest[0]);
    assert.ok(found.filter((id) => nearest.includes(id)).length >= 9, `${found} ${nearest}`);
  }
});

it("NumPy reads an empty index by the documented lines", { skip }, async () => {
  const lines = readRecipe("Searching vectors", "py");
  for (const groupSize of [undefined, 10]) {
    const index = new VectorIndex({ dimensions: D, groupSize });
    writeFileSync(join(folder, "index.safetensors"), await bytesOf(index));
    const read = run(`${lines}\nprint(json.dumps([ids, list(vectors.shape)]))`);
    assert.deepEqual(read, [[], [0, D]]);
  }
});

it("faiss takes int8 codes of a scalar quantizer, and bits", { skip }, () => {
  const own = indexOf({});
  const { data, ids } = own.export("faiss");
  writeFileSync(join(folder, "codes.bin"), data);
  const single = new VectorIndex({ dimensions: D });
  single.add(query);
  const codes = single.export("int8").data;
  const [decoded, nearest] = run(`import json, numpy as np, faiss
codes = np.fromfile("codes.bin", np.uint8).reshape(-1, ${D})
index = faiss.IndexScalarQuantizer(${D}, faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT)
index.is_trained = True
index.add_sa_codes(codes)
norms = np.linalg.norm(index.reconstruct_n(0, len(codes)), axis=1)
scores, places = index.search(np.array([[${[...codes]}]], np.float32), len(codes))
order = sorted(range(len(codes)), key=lambda i: -scores[0][i] / norms[places[0][i]])
print(json.dumps([index.reconstruct(7).tolist(), [int(places[0][i]) for i in order[:10]]]))`);
  const signed = own.export("int8").data;
  assert.deepEqual(decoded, [...signed.subarray(7 * D, 8 * D)]);
  const expected = own.search(query).hits.map(({ id }) => id);
  const found = nearest.map((place) => ids[place]);
  assert.equal(found[0], expected[0]);
  assert.ok(found.filter((id) => expected.includes(id)).length >= 8, `${found} ${expected}`);

  const binary = indexOf({ dtype: "binary" });
  const bits = binary.export("faiss");
  writeFileSync(join(folder, "bits.bin"), bits.data);
  const signs = new VectorIndex({ dimensions: D, dtype: "binary" });
  signs.add(query);
  const [distances, places] = run(`import json, numpy as np, faiss
bits = np.fromfile("bits.bin", np.uint8).reshape(-1, ${D / 8})
index = faiss.IndexBinaryFlat(${D})
index.add(bits)
distances, places = index.search(np.array([[${[...signs.export("faiss").data]}]], np.uint8), 10)
print(json.dumps([distances[0].tolist(), places[0].tolist()]))`);
  const differing = (row) => row.filter((value, i) => value > 0 !== query[i] > 0).length;
  for (const [i, place] of places.entries()) {
    assert.equal(distances[i], differing(rows[bits.ids[place]]));
  }
});
