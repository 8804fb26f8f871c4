// The reader's own vectors: a matrix of a file, in an index that keeps the originals.

import { init } from "zeropoint";
import { openModel } from "zeropoint/models";
import { VectorIndex } from "zeropoint/search";
import { pageCore } from "../../shell/core/worker-core.js";

let index: VectorIndex<number> | undefined;

/** The matrices of a file. */
export async function matricesOf({ file }: { file: File }) {
  const model = await openModel(file).catch((error) => {
    throw new Error(`${file.name} cannot be opened: ${error.message}`);
  });
  try {
    const matrices = [...model.tensors.values()].filter(({ shape }) => shape.length === 2);
    if (matrices.length === 0) {
      throw new Error(
        `${file.name} has no matrix: vectors are a tensor of shape [vectors, values]`,
      );
    }
    return matrices.map(({ name, shape, dtype }) => ({ name, shape: [...shape], dtype }));
  } finally {
    await model.close();
  }
}

/**
 * Puts the rows of a matrix into an index, in the place of the one before. Their ids are their numbers.
 * @returns time: milliseconds of adding;
 *   bytes: of codes, scales and errors
 */
export async function indexMatrix({
  file,
  name,
}: {
  file: File;
  name: string;
}): Promise<{ rows: number; values: number; time: number; bytes: number }> {
  const [model] = await Promise.all([openModel(file), init({ wasm: pageCore })]);
  try {
    const matrix = await model.read(name);
    const [rows, values] = matrix.shape;
    index?.dispose();
    index = undefined;
    const next = new VectorIndex({
      dimensions: values,
      originals: "float32",
    }) as VectorIndex<number>;
    const start = performance.now();
    next.add(matrix);
    index = next;
    return { rows, values, time: performance.now() - start, bytes: rows * (values + 8) };
  } finally {
    await model.close();
  }
}

/** The vectors nearest to one of them, itself first. */
export function nearestTo({ id }: { id: number }) {
  if (!index) throw new Error("no vectors are open");
  const vector = index.vector(id);
  if (!vector) throw new Error(`there is no vector ${id}`);
  const start = performance.now();
  const { hits, proven, candidates } = index.search(vector, { k: 11 });
  return { hits, proven, candidates, time: performance.now() - start };
}
