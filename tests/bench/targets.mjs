// The library's performance targets, each a ratio to another measurement of the same run.

const LINEAR = (m, k, n) => `linear, M = ${m}, K = ${k}, N = ${n}`;
const ONE_ROW = LINEAR(1, 4096, 4096);
const MANY_ROWS = [LINEAR(16, 1024, 1024), LINEAR(128, 1024, 1024), LINEAR(512, 768, 3072)];
const IN_HEAP = {
  minmax: 0.9,
  error: 0.9,
  quantize: 0.8,
  dequantize: 0.9,
  fakeQuantize: 0.9,
};

/**
 * @typedef {object} Target
 * @property {string} title
 * @property {number} needed       minimum; for a cost, maximum
 * @property {boolean} [isCost]
 * @property {number} measured     by medians
 * @property {number} [fastest]    by the fastest samples
 */

/**
 * The targets covered by a run.
 * @param {{ results: any[] }} engine
 * @returns {Target[]}
 */
export function targetsOf({ results }) {
  const targets = [];
  const find = (wanted) =>
    results.find((result) =>
      Object.entries(wanted).every(([name, value]) => result[name] === value),
    );
  const zeropoint = (build, wanted) =>
    find({ contestant: "zeropoint", build, threads: 1, ...wanted });
  const add = (title, needed, measured, fastest, isCost = false) => {
    if (measured === undefined) return;
    targets.push({ title, needed, measured, fastest, isCost });
  };
  const toLimit = (title, needed, result) =>
    add(`${title}: of ${result?.limit}`, needed, result?.ratio, result?.bestRatio);
  const quickest = ({ timing }) => Math.min(...timing.samples);
  const against = (title, needed, result, other) => {
    if (!result?.timing || !other?.timing) return;
    const work = result.work / other.work;
    add(
      title,
      needed,
      (work * other.timing.median) / result.timing.median,
      (work * quickest(other)) / quickest(result),
    );
  };

  for (const auto of results.filter(({ build }) => build === "auto")) {
    const { case: title, format, threads, isCold } = auto;
    const same = (build) =>
      find({ contestant: "zeropoint", build, case: title, format, threads, isCold });
    const built = ["relaxed", "baseline"].map(same).filter((result) => result?.timing);
    const [better] = built.sort((a, b) => a.timing.median - b.timing.median);
    against(
      `auto, ${format}, ${title}, threads ${threads}: of the better build`,
      0.97,
      auto,
      better,
    );
  }
  for (const build of ["relaxed", "baseline"]) {
    const at = (title, format) => zeropoint(build, { case: title, format });
    for (const format of ["w8a32-channel", "w8a32-tensor"]) {
      const name = `${build}, ${format}`;
      toLimit(`${name}, ${ONE_ROW}`, build === "relaxed" ? 0.75 : 0.65, at(ONE_ROW, format));
      for (const shape of MANY_ROWS) {
        toLimit(`${name}, ${shape}`, build === "relaxed" ? 0.75 : 0.8, at(shape, format));
      }
    }
    for (const shape of MANY_ROWS) {
      const dynamic = at(shape, "w8a8-dynamic");
      toLimit(`${build}, w8a8-dynamic, ${shape}`, build === "relaxed" ? 0.8 : 0.75, dynamic);
      if (build !== "relaxed") continue;
      toLimit(`${build}, w8a32-float32, ${shape}`, 0.97, at(shape, "w8a32-float32"));
    }
    for (const shape of [ONE_ROW, ...MANY_ROWS]) {
      for (const [format, needed] of [
        ["w8a32-affine", 0.85],
        ["w8a32-group128", 0.85],
        ["w8a32-group32", 0.6],
        ["w4a32-channel", 0.95],
        ["w2a32-channel", 0.95],
      ]) {
        const title = `${build}, ${format}, ${shape}: of W8A32 per channel`;
        against(title, needed, at(shape, format), at(shape, "w8a32-channel"));
      }
    }
    for (const operation of ["quantizeBlocks", "dequantizeBlocks"]) {
      for (const type of ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1"]) {
        const needed = operation === "quantizeBlocks" ? 0.5 : 0.7;
        const found = zeropoint(build, { operation, format: type });
        toLimit(`${build}, ${operation} ${type}`, needed, found);
      }
    }
    for (const shape of [ONE_ROW, ...MANY_ROWS]) {
      for (const format of ["w8a32-group32", "w4a32-group32"]) {
        const nBits = find({ contestant: "onnxruntime-web", case: shape, format });
        against(`${build}, ${format}, ${shape}: of MatMulNBits`, 1.5, at(shape, format), nBits);
      }
      const title = `${build}, float32, ${shape}: of accumulate: "float32"`;
      against(title, 0.6, at(shape, "float32"), at(shape, "float32-fast"));
    }
    const cold = (format) => zeropoint(build, { isCold: true, format });
    for (const format of ["w4a32-channel", "w2a32-channel"]) {
      const title = `${build}, ${format}, cold: of W8A32 cold`;
      against(title, 1, cold(format), cold("w8a32-channel"));
    }
    for (const [format, needed] of [
      ["w8a32-channel", 1.85],
      ["w8a8-dynamic", 1.85],
    ]) {
      for (const shape of MANY_ROWS) {
        const two = find({ contestant: "zeropoint", build, threads: 2, case: shape, format });
        against(
          `${build}, ${format}, ${shape}: two threads of one`,
          needed,
          two,
          at(shape, format),
        );
      }
    }
    for (const two of results) {
      const { contestant, place, operation, title } = two;
      if (contestant !== "zeropoint" || two.build !== build || two.threads !== 2) continue;
      if (place !== "arrays") continue;
      const one = zeropoint(build, { place, operation, title, case: two.case });
      against(`${build}, ${title}: two threads of one`, 1, two, one);
    }
    const analysis = zeropoint(build, { operation: "analyze" });
    const kernels = zeropoint(build, { operation: "row errors" });
    if (analysis?.timing && kernels?.timing) {
      add(
        `${build}, ${analysis.title}: time of its kernels in the cache`,
        1.25,
        kernels.value / analysis.value,
        (kernels.work * quickest(analysis)) / (analysis.work * quickest(kernels)),
        true,
      );
    }
    const planned = zeropoint(build, { operation: "plan" });
    if (planned?.timing) {
      add(`${build}, ${planned.title}: µs`, 2e6, planned.value, 1000 * quickest(planned), true);
    }
    for (const [rows, most] of [
      [1, 0.95],
      [64, 0.9],
    ]) {
      const model = (format) =>
        zeropoint(build, {
          case: `model of two 1024 × 1024 layers, ${rows} rows`,
          operation: "model",
          format,
        });
      const [fixed, dynamic] = ["static", "dynamic"].map(model);
      if (!fixed?.timing || !dynamic?.timing) continue;
      add(
        `${build}, static model, ${rows} rows: time of the dynamic one`,
        most,
        fixed.timing.median / dynamic.timing.median,
        quickest(fixed) / quickest(dynamic),
        true,
      );
    }
    const small = { case: "small calls", operation: "linear64" };
    against(
      `${build}, 64 × 64 layer: two threads of one`,
      0.95,
      find({ contestant: "zeropoint", build, threads: 2, ...small }),
      zeropoint(build, small),
    );
    for (const operation of ["quantize16", "linear64"]) {
      const result = zeropoint(build, { case: "small calls", operation });
      if (!result?.timing) continue;
      add(`${build}, ${result.title}: µs`, 1.2, result.value, 1000 * quickest(result), true);
    }
    for (const [operation, needed] of Object.entries(IN_HEAP)) {
      for (const result of results) {
        const isIt =
          result.contestant === "zeropoint" &&
          result.build === build &&
          result.place === "heap" &&
          result.operation === operation;
        if (isIt) toLimit(`${build}, in its heap, ${result.title}`, needed, result);
      }
      const who = { place: "arrays", operation };
      for (const other of results.filter(
        (result) => result.contestant === "onnxruntime-web" && result.place === "arrays",
      )) {
        if (other.operation !== operation) continue;
        const ours = zeropoint(build, { ...who, title: other.title });
        against(`${build}, ${other.title}, from and to arrays: of onnxruntime-web`, 3, ours, other);
      }
    }
    const start = find({ operation: "start", contestant: "zeropoint", build });
    const bare = find({ operation: "start", contestant: "bare module" });
    if (start && bare) {
      const fastest = quickest(start) / quickest(bare);
      add(`${build}, start to first result: of a bare module`, 1.3, start.ratio, fastest, true);
    }
  }
  return targets;
}

/** @param {Target} target */
export const isMet = ({ needed, measured, isCost }) =>
  isCost ? measured <= needed : measured >= needed;
