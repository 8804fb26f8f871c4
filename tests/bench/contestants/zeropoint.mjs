// zeropoint: every build and thread count that `create` accepts, and the build and kernels it chooses by default.

const WANTED = [
  { build: "auto", threads: 1 },
  { build: "auto", threads: 2 },
  { build: "baseline", threads: 1 },
  { build: "relaxed", threads: 1 },
  { build: "baseline", threads: 2 },
  { build: "relaxed", threads: 2 },
];

/** @param {{ build: string, threads: number }} variant */
const variantName = ({ build, threads }) =>
  threads === 1 ? build : `${build}, ${threads} threads`;

/**
 * @param {any} module  the package, as imported
 * @param {any} torch  zeropoint/torch
 * @param {number} [onlyThreads]  leaves out other numbers of threads
 * @returns {Promise<{ instances: { name: string, build: string, threads: number, chosen: string,
 *   kernels: string, zp: any }[],
 *   unavailable: { name: string, reason: string }[] }>}
 */
export async function zeropointInstances(module, torch, onlyThreads) {
  const instances = [];
  const unavailable = [];
  for (const variant of WANTED) {
    if (onlyThreads !== undefined && variant.threads !== onlyThreads) continue;
    const name = variantName(variant);
    try {
      const zp = await module.create(variant, torch);
      // Check that the requested build is the measured one.
      const isBuild = variant.build === "auto" || zp.build === variant.build;
      if (!isBuild || zp.threads !== variant.threads) {
        throw new Error(`create gave ${variantName(zp)}${zp.reason ? `: ${zp.reason}` : ""}`);
      }
      instances.push({ name, ...variant, chosen: zp.build, kernels: zp.kernels ?? "baseline", zp });
    } catch (error) {
      unavailable.push({ name: `zeropoint ${name}`, reason: error.message });
    }
  }
  if (instances.length === 0) throw new Error(`zeropoint has no build: ${unavailable[0].reason}`);
  return { instances, unavailable };
}

/**
 * The values of a quantized weight's rows, in double precision.
 * @param {any} q  of shape [n, k]
 */
export function weightsOf(q) {
  const [, k] = q.shape;
  const at = (values, index) => (typeof values === "number" ? values : values.data[index]);
  const count = typeof q.scale === "number" ? 1 : q.scale.data.length;
  const perSlice = q.data.length / count;
  return {
    row: (row) =>
      Float64Array.from({ length: k }, (_, i) => {
        const slice = Math.floor((row * k + i) / perSlice);
        return at(q.scale, slice) * (q.data[row * k + i] - at(q.zeroPoint, slice));
      }),
  };
}
