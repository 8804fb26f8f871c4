// Reads one file of 30 MiB made of the smallest possible entries, and prints the outcome.
// Run by tests/js/formats/memory.test.mjs, in a process whose heap is limited.

import { openModel } from "zeropoint/models";
import {
  Budget,
  bytesSource,
  readGGUF,
  readJson,
  readOnnx,
  readSafetensors,
} from "../../../internal/formats.mjs";
import { emptyObjects, escapedText, ggufArrays, ggufTexts } from "../files/costly-files.mjs";

const SIZE = 30 * 2 ** 20;
/** Memory that may be made of it. */
const MOST = SIZE + 48 * 2 ** 20;
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

const readStructure = (source, where, budget) => readOnnx(source, {}, where, budget);

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
    return readStructure;
  },
  "integers of an ONNX attribute": () => {
    fill(nest(0x3a, 0x0a, 0x2a), [0x40, 1]);
    return readStructure;
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

/** Files of MADE, and how they are opened. */
const MADE = {
  "arrays of GGUF": [ggufArrays, (file) => openModel(file, { maxBytes: MOST })],
  "texts of GGUF, which are not asked for": [ggufTexts, (file) => openModel(file)],
  "a text of escapes in safetensors": [escapedText, (file) => openModel(file)],
  "objects of JSON": [
    emptyObjects,
    async (file) =>
      readJson("config.json", new Uint8Array(await file.arrayBuffer()), new Budget(MOST)),
  ],
};

const kind = process.argv[2];
try {
  if (Object.hasOwn(MADE, kind)) {
    const [make, open] = MADE[kind];
    await open(make(SIZE));
  } else await FILES[kind]()(bytesSource(bytes), "read", new Budget(MOST));
  console.log("read");
} catch (error) {
  console.log(error.code);
}
