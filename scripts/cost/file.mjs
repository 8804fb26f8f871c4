// The file that the command measures and the page loads: held-out digits, calibration digits and the trained
// network. Gzip; inside, without padding:
//
//   held-out digits     2000 x 784 codes of 4 bits, as pack() packs them; 2000 labels of a byte
//   calibration digits  200 x 784 codes of 4 bits
//   for each layer      weight, then bias: float32, little-endian

import { dequantize, pack, tensor, unpack } from "zeropoint";

const HELD_OUT = 2000;
const CALIBRATION = 200;
const SIZES = [784, 64, 10];

/** The value of a pixel's code: 0 to 15 represent 0 to 1. */
export const GREY = /** @type {const} */ ({ dtype: "uint4", scale: 1 / 15, zeroPoint: 0 });

/**
 * @typedef {import("zeropoint").Tensor} Tensor
 * @typedef {object} Digits
 * @property {{ images: Tensor, labels: Uint8Array }} heldOut  images of shape [2000, 784], from 0 to 1
 * @property {{ images: Tensor }} calibration                  [200, 784]
 * @property {{ weight: Tensor, bias: Tensor }[]} layers       weights of shape [outputs, inputs]
 */

/**
 * @param {{ codes: Uint8Array, labels: Uint8Array }} heldOut
 * @param {{ codes: Uint8Array }} calibration
 * @param {{ weight: Float32Array, bias: Float32Array }[]} layers
 * @returns {Promise<Uint8Array>}
 */
export function encode(heldOut, calibration, layers) {
  const parts = [
    packed(heldOut.codes, HELD_OUT),
    heldOut.labels,
    packed(calibration.codes, CALIBRATION),
    ...layers.flatMap(({ weight, bias }) => [weight, bias]),
  ];
  return through(new CompressionStream("gzip"), new Blob(/** @type {BlobPart[]} */ (parts)));
}

/**
 * @param {Uint8Array} codes
 * @param {number} count
 */
function packed(codes, count) {
  return pack({ ...GREY, data: codes, shape: [count, SIZES[0]] });
}

/**
 * @param {CompressionStream | DecompressionStream} stream
 * @param {Blob} blob
 */
async function through(stream, blob) {
  return new Uint8Array(await new Response(blob.stream().pipeThrough(stream)).arrayBuffer());
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {Promise<Digits>}
 */
export async function decode(bytes) {
  const { buffer } = await through(new DecompressionStream("gzip"), new Blob([bytes]));
  let at = 0;
  const take = (/** @type {number} */ length) => {
    at += length;
    return buffer.slice(at - length, at);
  };
  const images = (/** @type {number} */ count) =>
    dequantize(
      unpack(new Uint8Array(take((count * SIZES[0]) / 2)), { ...GREY, shape: [count, SIZES[0]] }),
    );
  const floats = (/** @type {number[]} */ ...shape) =>
    tensor(new Float32Array(take(4 * shape.reduce((a, b) => a * b))), shape);

  const heldOut = { images: images(HELD_OUT), labels: new Uint8Array(take(HELD_OUT)) };
  const calibration = { images: images(CALIBRATION) };
  const layers = SIZES.slice(1).map((outputs, i) => ({
    weight: floats(outputs, SIZES[i]),
    bias: floats(outputs),
  }));
  if (at !== buffer.byteLength) throw new RangeError("the file of digits is not of this version");
  return { heldOut, calibration, layers };
}
