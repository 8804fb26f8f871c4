// Small tensors that tell how others are read, such as shapes and descriptions: neighbours in a file are read at once.

import type { Budget } from "../../formats/budget.js";
import { type FileTensor, joinBytes, readBytes, type Source } from "../../formats/source.js";

/** Bytes between two tensors that are read with them rather than one by one. */
const MOST_BETWEEN = 2 ** 16;

/** The largest of these tensors, in bytes. */
const LARGEST = 2 ** 16;

/** Bytes that are read at once, at most. */
const MOST_AT_ONCE = 2 ** 20;

/** Reads tensors whole. Those that are too large for what they tell are left out. */
export async function readSmall(
  tensors: readonly FileTensor[],
  budget: Budget,
): Promise<Map<FileTensor, Uint8Array>> {
  const read = new Map<FileTensor, Uint8Array>();
  const small = tensors.filter(({ byteLength }) => byteLength <= LARGEST);
  for (const { byteLength, name } of small) budget.spend(`openModel: ${name}`, 0, byteLength + 200);
  const placed = small.flatMap((tensor) =>
    tensor.span ? [{ tensor, source: tensor.span.source, offset: tensor.span.offset }] : [],
  );
  placed.sort((a, b) => a.offset - b.offset);
  for (const source of new Set(placed.map((each) => each.source))) {
    const own = placed.filter((each) => each.source === source);
    const endOf = ({ offset, tensor }: (typeof own)[number]): number => offset + tensor.byteLength;
    for (let first = 0; first < own.length; ) {
      let end = first + 1;
      const begin = own[first].offset;
      while (
        end < own.length &&
        own[end].offset - endOf(own[end - 1]) <= MOST_BETWEEN &&
        endOf(own[end]) - begin <= MOST_AT_ONCE
      ) {
        end++;
      }
      const length = endOf(own[end - 1]) - begin;
      const bytes = await readBytes("openModel", source as Source, begin, length);
      for (const each of own.slice(first, end)) {
        read.set(each.tensor, bytes.slice(each.offset - begin, endOf(each) - begin));
      }
      first = end;
    }
  }
  for (const tensor of small) {
    if (tensor.span !== undefined) continue;
    const chunks: Uint8Array[] = [];
    for await (const chunk of tensor.bytes()) chunks.push(chunk.slice());
    read.set(tensor, joinBytes(chunks));
  }
  return read;
}
