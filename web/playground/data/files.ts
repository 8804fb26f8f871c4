// Reads a dropped file: an array of NumPy, numbers as text, or the brightness of an image.

import { openModel } from "zeropoint/models";
import { LIMIT, parseNumbers, type Values } from "./parse.js";

const IMAGE_SIDE = 512; // pixels; larger images are reduced

export async function readFile(file: File): Promise<Values> {
  if (file.type.startsWith("image/")) return readImage(file);
  if (/\.(npy|npz|safetensors|gguf|onnx)$/i.test(file.name)) return readArray(file);
  if (file.size > 50 * LIMIT) throw new RangeError(`${file.name} is larger than a million values`);
  return parseNumbers(await file.text());
}

async function readArray(file: File) {
  const model = await openModel(file);
  try {
    const names = [...model.tensors.values()].map(({ name }) => name);
    if (names.length !== 1) {
      throw new RangeError(`${file.name} has ${names.length} tensors: the playground takes one`);
    }
    const { shape } = model.tensors.get(names[0]) as { shape: readonly number[] };
    const size = shape.reduce((product, length) => product * length, 1);
    if (size === 0 || size > LIMIT) {
      throw new RangeError(`${file.name} has ${size} values: the playground takes 1 to a million`);
    }
    const { data } = await model.read(names[0]);
    const values = Float32Array.from(data);
    const bad = values.findIndex((value) => !Number.isFinite(value));
    if (bad >= 0)
      throw new RangeError(`value ${bad} of ${file.name} is ${values[bad]}, and no scale fits it`);
    return { values, shape: shape.length === 0 ? [1] : [...shape] };
  } finally {
    await model.close();
  }
}

/** The brightness of each pixel, from 0 to 1. */
async function readImage(file: File) {
  const image = await createImageBitmap(file);
  const factor = Math.min(1, IMAGE_SIDE / Math.max(image.width, image.height));
  const width = Math.max(1, Math.round(image.width * factor));
  const height = Math.max(1, Math.round(image.height * factor));
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d") as OffscreenCanvasRenderingContext2D;
  context.drawImage(image, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const values = new Float32Array(width * height);
  // The weights of ITU-R BT.709.
  for (let i = 0; i < values.length; i++) {
    const [red, green, blue] = data.subarray(4 * i, 4 * i + 3);
    values[i] = (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
  }
  return { values, shape: [height, width] };
}
