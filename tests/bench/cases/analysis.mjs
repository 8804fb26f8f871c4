// Analysis of a weight by twelve schemes beside its kernels on data in the cache, and a plan of many tensors.

import { normalValues } from "../random.mjs";
import { wrong } from "../reference.mjs";

const LINEAR = [
  ...["int8-tensor", "int8-channel", "int8-g128", "int8-g32", "int4-channel", "int4-g128"],
  ...["int4-g32", "int4-g32-affine", "int2-g16"],
];
const BLOCKS = ["q8_0", "q4_0", "q6_k"];

/** Values that the kernels work on: they stay in the second-level cache. */
const CACHED_ROWS = 16;

/** @returns {Promise<{ entries: any[], skipped: any[], dispose: () => void }>} */
export async function analysisEntries({ rows, columns, tensors }, { heaps, zeropoint, models }) {
  const { init, tensor } = zeropoint;
  const { build } = await init();
  const x = normalValues(rows * columns, 51);
  const schemes = [...LINEAR, ...BLOCKS];
  const work = x.length * schemes.length * 4;
  const entries = [];
  const add = (entry) =>
    entries.push({ contestant: "zeropoint", build, threads: 1, format: "float32", ...entry });
  const bytes = await new Response(models.save({ w: tensor(x, [rows, columns]) })).arrayBuffer();
  const model = await models.openModel(new Uint8Array(bytes));
  const analyze = async () => {
    const found = [];
    for await (const row of models.analyze(model, { schemes })) found.push(row);
    return found;
  };
  add({
    operation: "analyze",
    title: "analyze, 12 schemes",
    name: `zeropoint ${build}: analyze, 12 schemes`,
    unit: "GB/s",
    work,
    isAsync: true,
    run: analyze,
    judge: (found) => {
      const kept = found.filter(({ scheme, sqnr }) => scheme === "keep" || !(sqnr > 0));
      return kept.length === 0 ? { worst: 0 } : wrong(`${kept[0].scheme} has no error`);
    },
  });
  const disposals = [];
  for (const heap of heaps) {
    const { core } = heap;
    const size = CACHED_ROWS * columns;
    const at = core.allocate(4 * size);
    const out = core.allocate(48 * CACHED_ROWS);
    const settings = core.allocate(16 * schemes.length);
    disposals.push(() => [at, out, settings].forEach((place) => void core.release(place)));
    new Float32Array(core.HEAPU8.buffer, at, size).set(x.subarray(0, size));
    const runs = schemes.map((name, i) =>
      runOf(core, name, { at, columns, out, own: settings + 16 * i }),
    );
    add({
      build: heap.build,
      place: "heap",
      operation: "row errors",
      title: "its kernels on data in the cache",
      name: `zeropoint ${heap.build}, in its heap: row errors, 12 schemes`,
      unit: "GB/s",
      work: size * schemes.length * 4,
      run: () => runs.map((run) => run()),
      judge: (statuses) =>
        statuses.every((status) => status === "kOk") ? { worst: 0 } : wrong(`${statuses}`),
    });
  }
  const rowsToPlan = planRows(tensors);
  add({
    operation: "plan",
    title: `plan, ${tensors} tensors of 10 schemes`,
    name: `zeropoint: plan, ${tensors} tensors of 10 schemes`,
    unit: "µs",
    work: 1,
    run: () => models.plan(rowsToPlan, { bitsPerWeight: 4.5 }),
    judge: ({ gap }) => (gap < 2e-4 ? { worst: 0 } : wrong(`a gap of ${gap}`)),
  });
  return { entries, skipped: [], dispose: () => disposals.forEach((dispose) => void dispose()) };
}

/** The call that measures the rows in the heap with a scheme; own: 16 bytes for its group's size, run and range. */
function runOf(core, name, { at, columns, out, own }) {
  if (BLOCKS.includes(name)) {
    return () => core.blockRowErrors(at, CACHED_ROWS, columns, name, 0, 0, out);
  }
  const [, dtype, unit, size, affine] = /^(\w+)-(tensor|channel|g(\d+))(-affine)?$/.exec(name);
  const group = unit === "tensor" ? 0 : unit === "channel" ? columns : Number(size);
  const scheme = affine ? "affine" : "symmetric";
  new Uint32Array(core.HEAPU8.buffer, own, 2).set([group, columns]);
  new Float32Array(core.HEAPU8.buffer, own + 8, 2).set([-4, 4]);
  const given = [at, CACHED_ROWS, columns, dtype, scheme, own, false, own + 8, 0, 0, out];
  return () => core.rowErrors(...given);
}

/** Rows of an analysis of tensors of many sizes and distributions. */
function planRows(tensors) {
  const random = normalValues(2 * tensors, 52).map(Math.abs);
  return Array.from({ length: tensors }, (_, i) => {
    const parameters = 32 * (32 + Math.floor(1000 * random[2 * i]));
    return Array.from({ length: 10 }, (_, bits) => ({
      name: `layers.${i}.weight`,
      scheme: `s${bits}`,
      parameters,
      bytes: (parameters * (bits + 1)) / 8 + parameters / 16,
      relative: (0.5 + random[2 * i + 1]) * 4 ** -bits,
    }));
  }).flat();
}
