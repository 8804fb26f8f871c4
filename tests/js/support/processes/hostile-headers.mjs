// Reads one file of 30 MiB made of the smallest possible entries, and prints the outcome.
// Run by tests/js/formats/memory.test.mjs, in a process whose heap is limited.

import { bytesSource, readGGUF, readOnnx, readSafetensors } from "../../../internal/formats.mjs";

const SIZE = 30 * 2 ** 20;
const bytes = new Uint8Array(SIZE);
const view = new DataView(bytes.buffer);

/** Fields of length-delimited type around the rest of the file. @returns where the rest begins */
function nest(...tags) {
  bytes.set([0x08, 8, 0x42, 2, 0x10, 17]);
  let at = 6;
  for (const tag of tags) {
    const length = SIZE - at - 5;
    const groups = [0, 7, 14].map((shift) => ((length >> shift) & 127) | 128);
    bytes.set([tag, ...groups, length >> 21], at);
    at += 5;
  }
  return at;
}

/** Fills the file from `at` on with copies. */
function fill(at, copy) {
  for (let i = at; i + copy.length <= SIZE; i += copy.length) bytes.set(copy, i);
}

const FILES = {
  "keys of GGUF": () => {
    const count = Math.floor((SIZE - 24) / 17);
    bytes.set([0x47, 0x47, 0x55, 0x46, 3]);
    view.setBigUint64(16, BigInt(count), true);
    for (let i = 0, at = 24; i < count; i++, at += 17) {
      bytes[at] = 4;
      bytes.set(
        [0, 6, 12, 18].map((shift) => 48 + ((i >> shift) & 63)),
        at + 8,
      );
    }
    return readGGUF;
  },
  "nodes of ONNX": () => {
    fill(nest(0x3a), [0x0a, 3, 0x22, 1, 65]);
    return readOnnx;
  },
  "integers of an ONNX attribute": () => {
    fill(nest(0x3a, 0x0a, 0x2a), [0x40, 1]);
    return readOnnx;
  },
  "tensors of safetensors": () => {
    const encoder = new TextEncoder();
    bytes.fill(0x20);
    view.setBigUint64(0, BigInt(SIZE - 8), true);
    let at = 8;
    for (let i = 0; at < SIZE - 80; i++) {
      const entry = `${i === 0 ? "{" : ","}"${i}":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`;
      at += encoder.encodeInto(entry, bytes.subarray(at)).written;
    }
    bytes[at] = 0x7d;
    return readSafetensors;
  },
};

const read = FILES[process.argv[2]]();
try {
  await read(bytesSource(bytes));
  console.log("read");
} catch (error) {
  console.log(error.code);
}
