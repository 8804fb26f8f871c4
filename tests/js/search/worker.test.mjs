// Handles of indexes: the same results, in a worker and on this thread.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { VectorIndex } from "zeropoint/search";
import { connect } from "zeropoint/worker";
import { Random, rejects, sameFloats } from "../support/asserts.mjs";
import { bytesOf } from "../support/files/saved.mjs";

await init();

const random = new Random(395);
const D = 32;
const flat = random.normal(9000 * D);
const rowOf = (id) => flat.subarray(id * D, (id + 1) * D);
const query = random.normal(D);
const index = new VectorIndex({ dimensions: D, metric: "euclidean" });
index.add(flat);

for (const [place, options] of [
  ["a worker", {}],
  ["this thread", { worker: false }],
]) {
  describe(`an index on a connection to ${place}`, () => {
    it("gives the results of an index here", async () => {
      const zp = await connect({ entries: ["search"], ...options });
      try {
        const handle = await zp.vectorIndex({ dimensions: D, metric: "euclidean" });
        assert.equal((await handle.add(flat)).length, 9000);
        assert.equal(await handle.size, 9000);
        assert.equal(await handle.metric, "euclidean");
        assert.equal(await handle.groupSize, undefined);
        const result = await handle.search(query);
        assert.deepEqual(result, index.search(query));
        const batch = [query, random.normal(D)];
        assert.deepEqual(await handle.search(batch, { k: 3 }), index.search(batch, { k: 3 }));
        const filter = (id) => id % 3 === 1;
        const ids = new Set([5, 6, 7]);
        for (const own of [filter, ids, [1, 2]]) {
          assert.deepEqual(
            await handle.search(query, { k: 4, filter: own }),
            index.search(query, { k: 4, filter: own }),
          );
        }
        const read = async (some) => some.map(rowOf);
        const expected = await index.rescore(index.search(query), read);
        const rescored = await handle.rescore(result, read);
        assert.deepEqual(rescored, expected);
        assert.equal(await handle.rescore(rescored, read), rescored);
        sameFloats(await handle.vector(17), index.vector(17));
        assert.deepEqual((await handle.export("int8")).data, index.export("int8").data);
        await rejects(
          handle.rescore({}, read),
          TypeError,
          "ZP_INVALID_OPTION",
          /a result of search/,
        );
        await rejects(handle.search(query, { k: 0 }), RangeError, "ZP_INVALID_OPTION", /options.k/);
        assert.equal(await handle.remove([1, 2, -1]), 2);
        const signal = AbortSignal.abort();
        await assert.rejects(handle.search(query, { k: 3, signal }), /abort/i);
        handle.dispose();
        await rejects(handle.search(query), TypeError, "ZP_DISPOSED", /disposed/);
      } finally {
        zp.dispose();
      }
    });

    it("comes back from a file as a handle", async () => {
      const zp = await connect({ entries: ["search"], ...options });
      try {
        const handle = await zp.load(await bytesOf(index));
        assert.deepEqual(await handle.search(query), index.search(query));
      } finally {
        zp.dispose();
      }
    });
  });
}
