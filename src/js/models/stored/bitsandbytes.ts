// Weights of bitsandbytes: 4 bits by a table of values, and int8 with a scale for each row.

import { recordOf } from "../../base/fields.js";
import type { FileDType } from "../../formats/dtypes.js";
import {
  blockRanges,
  blockStateOf,
  blockValues,
  isRowsOfBytes,
  rowValues,
} from "../../formats/layouts/checkpoints/bitsandbytes.js";
import { partOf } from "../../formats/layouts/unpack.js";
import type { FileTensor } from "../../formats/source.js";
import { sizeOf } from "../../tensor/shape.js";
import { quantizedTensorOf } from "./quantized.js";
import { type LoadBytes, notExpressible, type StoredWeight } from "./weight.js";

type Files = ReadonlyMap<string, FileTensor>;
type Names = Readonly<Record<string, string>>;

const infoOf = (parts: Names, files: Files): Readonly<Record<string, FileTensor>> =>
  recordOf(Object.entries(parts).map(([role, part]) => [role, files.get(part) as FileTensor]));

/**
 * A weight of 4 bits.
 * @param text  the JSON of its state
 * @returns undefined if its tensors do not fit each other
 */
export function blocksOf(
  name: string,
  parts: Names,
  files: Files,
  text: Uint8Array | undefined,
): StoredWeight | undefined {
  const state = text && blockStateOf(infoOf(parts, files), text);
  if (state === undefined) return undefined;
  const { shape, blockSize, type } = state;
  const size = sizeOf(shape);
  const none = new Uint8Array(0);
  const read = async (load: LoadBytes, first: number, out: Float32Array): Promise<Float32Array> => {
    const ranges = blockRanges(state, first, first + out.length);
    const whole = async (part: string | undefined): Promise<Uint8Array> =>
      part === undefined ? none : await load(part, 0, (files.get(part) as FileTensor).byteLength);
    const run = async (role: keyof typeof ranges): Promise<Uint8Array> =>
      parts[role] === undefined ? none : await load(parts[role], ...ranges[role]);
    const bytes = {
      codes: await run("codes"),
      absmax: await run("absmax"),
      map: await whole(parts.map),
      nestedAbsmax: await run("nestedAbsmax"),
      nestedMap: await whole(parts.nestedMap),
    };
    return blockValues(state, bytes, first, out);
  };
  return {
    ...{ name, shape, parts, layout: `bitsandbytes ${type}` },
    dtype: "uint4" as FileDType,
    window: {
      unit: blockSize,
      async read(load, first, out) {
        await read(load, first, out);
      },
    },
    async read(load) {
      const loaded = await load(parts);
      const byName = new Map(Object.values(loaded).map((part) => [part.name, part.bytes]));
      const slice: LoadBytes = async (part, begin, end) =>
        (byName.get(part) as Uint8Array).subarray(begin, end);
      return await read(slice, 0, new Float32Array(size));
    },
    async readQuantized() {
      throw notExpressible(name, `has codes of ${type}`);
    },
  };
}

/** A weight of int8 with a scale for each row. @returns undefined if its tensors do not fit each other */
export function rowsOfBytes(name: string, parts: Names, files: Files): StoredWeight | undefined {
  const info = infoOf(parts, files);
  if (!isRowsOfBytes(info)) return undefined;
  const { codes, scale, order } = info;
  const { shape } = codes;
  const [, columns] = shape;
  return {
    ...{ name, shape, parts, layout: "bitsandbytes int8" },
    dtype: "int8",
    ...(columns > 0 && {
      window: {
        unit: columns,
        async read(load, first, out) {
          const [begin, end] = [first / columns, (first + out.length) / columns];
          const own = {
            codes: partOf(codes, await load(codes.name, first, first + out.length), [
              end - begin,
              columns,
            ]),
            scale: partOf(scale, await load(scale.name, 4 * begin, 4 * end), [end - begin]),
          };
          if (order === undefined) rowValues(own, out);
          else rowValues({ ...own, order: partOf(order, await load(order.name, 0, 1)) }, out);
        },
      },
    }),
    async read(load) {
      return rowValues(await load(parts));
    },
    async readQuantized(load) {
      const loaded = await load(parts);
      // The check of the order of rows is that of the values.
      rowValues(loaded);
      const scales = new Float32Array(loaded.scale.bytes.slice().buffer);
      const own = {
        ...{ shape, axis: 0, blockSize: undefined, valueDtype: "float32" as const },
        codes: new Int8Array(loaded.codes.bytes.slice().buffer),
        scale: scales.map((each) => each / 127),
      };
      return quantizedTensorOf(name, own, "int8", 8);
    },
  };
}
