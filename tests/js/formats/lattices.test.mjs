// ggml's lattice types: blocks whose values are points of a grid.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, quantizeBlocks } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { layoutGGUF, writeGGUF } from "../../internal/formats.mjs";
import { rejects } from "../support/asserts.mjs";
import { collect, fromBase64 } from "../support/files/formats.mjs";
import { crc32, readVectors } from "../support/vectors.mjs";

await init();

const { cases, grids } = readVectors("lattices");

/** Opens a GGUF file with one tensor for each of some byte arrays. */
async function open(type, blocks) {
  const blockBytes = SIZES[type];
  const tensors = blocks.map((bytes, i) => ({
    name: `blk.${i}.ffn_up.weight`,
    dtype: type,
    shape: [bytes.length / blockBytes, 256],
    bytes: () => [bytes],
  }));
  return await openModel(await collect(writeGGUF(layoutGGUF(tensors, new Map()))));
}

const SIZES = { iq1_s: 50, iq1_m: 56, iq2_xxs: 66, iq2_xs: 74, iq2_s: 82, iq3_xxs: 98, iq3_s: 110 };

const halves = { one: 0x3c00, eight: 0x4800, four: 0x4400 };

/** Blocks of each type that hold the points [first, first + 32 or 64) of its grid, without signs, times 1. */
const EVERY_POINT = {
  iq1_s(view, first) {
    view.setUint16(0, halves.one, true);
    for (let i = 0; i < 32; i++) {
      view.setUint8(2 + i, (first + i) & 255);
      const at = 34 + 2 * (i >> 2);
      view.setUint16(at, view.getUint16(at, true) | (((first + i) >> 8) << (3 * (i & 3))), true);
    }
  },
  iq1_m(view, first) {
    // The half 3c00 is in the high bits of four words.
    for (const [i, digit] of [0, 0, 12, 3].entries()) view.setUint16(48 + 2 * i, digit << 12, true);
    for (let i = 0; i < 32; i++) {
      view.setUint8(i, (first + i) & 255);
      const at = 32 + (i >> 1);
      view.setUint8(at, view.getUint8(at) | (((first + i) >> 8) << (4 * (i & 1))));
    }
  },
  iq2_xxs(view, first) {
    view.setUint16(0, halves.eight, true);
    for (let i = 0; i < 32; i++) view.setUint8(2 + 8 * (i >> 2) + (i & 3), first + i);
  },
  iq2_xs(view, first) {
    view.setUint16(0, halves.eight, true);
    for (let i = 0; i < 32; i++) view.setUint16(2 + 2 * i, first + i, true);
  },
  iq2_s(view, first) {
    view.setUint16(0, halves.eight, true);
    for (let i = 0; i < 32; i++) {
      view.setUint8(2 + i, (first + i) & 255);
      const at = 66 + (i >> 2);
      view.setUint8(at, view.getUint8(at) | (((first + i) >> 8) << (2 * (i & 3))));
    }
  },
  iq3_xxs(view, first) {
    view.setUint16(0, halves.four, true);
    for (let i = 0; i < 64; i++) view.setUint8(2 + i, first + i);
  },
  iq3_s(view, first) {
    view.setUint16(0, halves.one, true);
    for (let i = 0; i < 64; i++) {
      view.setUint8(2 + i, (first + i) & 255);
      const at = 66 + (i >> 3);
      view.setUint8(at, view.getUint8(at) | (((first + i) >> 8) << (i & 7)));
    }
  },
};

describe("lattice types", () => {
  for (const type of Object.keys(SIZES)) {
    it(`${type} has ggml's values, random bytes included`, async () => {
      const own = cases.filter((each) => each.type === type);
      assert.ok(own.length >= 9);
      const model = await open(
        type,
        own.map(({ q }) => fromBase64(q)),
      );
      for (const [i, { id, y_crc32 }] of own.entries()) {
        const { data } = await model.read(`blk.${i}.ffn_up.weight`);
        assert.equal(crc32(data), y_crc32, id);
      }
    });

    it(`${type} has every point of ggml's grid`, async () => {
      const { points, crc32: sum, name } = grids.find(({ types }) => types.includes(type));
      const perBlock = name.startsWith("iq3") ? 64 : 32;
      const bytes = new Uint8Array((points / perBlock) * SIZES[type]);
      for (let first = 0, at = 0; first < points; first += perBlock, at += SIZES[type]) {
        EVERY_POINT[type](new DataView(bytes.buffer, at), first);
      }
      const model = await open(type, [bytes]);
      const { data } = await model.read("blk.0.ffn_up.weight");
      const offset = name === "iq1" ? 0.125 : 0;
      assert.equal(crc32(Int8Array.from(data, (value) => value - offset)), sum);
    });
  }

  it("are quantized again when asked, and refused by name as a type to write", async () => {
    const { q, id } = cases.find((each) => each.type === "iq2_xs" && each.id.endsWith("decode0"));
    const model = await open("iq2_xs", [fromBase64(q)]);
    const [name] = model.tensors.keys();
    const values = await model.read(name);
    const { files } = await quantizeModel(model, "q8_0", { requantize: true });
    const again = await openModel(await collect(files[0].stream()));
    assert.deepEqual(await again.readBytes(name), quantizeBlocks(values, "q8_0"), id);
    const asNpz = await quantizeModel(model, "keep", { format: "npz" });
    const plain = await openModel(await collect(asNpz.files[0].stream()));
    assert.deepEqual((await plain.read(name)).data, values.data);
    for (const scheme of ["iq2_xs", "IQ2_XS"]) {
      await rejects(quantizeModel(model, scheme), RangeError, "ZP_INVALID_SCHEME", /lattice/);
    }
  });
});
