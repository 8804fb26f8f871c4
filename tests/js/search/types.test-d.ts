// Types of indexes, checked by the compiler alone: nothing here runs. Each @ts-expect-error is a mistake that must
// not compile.

import { create } from "zeropoint";
import { load, save } from "zeropoint/models";
import * as search from "zeropoint/search";
import { VectorIndex } from "zeropoint/search";

/** Takes only what has exactly this type. */
declare function same<T>(): <U>(
  value: U &
    ((<V>() => V extends T ? 1 : 2) extends <V>() => V extends U ? 1 : 2 ? unknown : never),
) => void;

const index = new VectorIndex({ dimensions: 2 });
same<number>()(index.search([1, 2]).hits[0].score);
same<number>()(index.search(new Float32Array(2)).hits[0].score);
same<search.VectorId>()(index.search([1, 2]).hits[0].id);
// @ts-expect-error: hits of cosines have no distance
index.search([1, 2]).hits[0].distance;
// @ts-expect-error: no such metric
new VectorIndex({ dimensions: 2, metric: "l2" });
// @ts-expect-error: the length of vectors is missing
new VectorIndex({ metric: "dot" });

const far = new VectorIndex<string, "euclidean">({ dimensions: 2, metric: "euclidean" });
same<string[]>()(far.add([[1, 2]], ["a"]));
same<number>()(far.search([[1, 2]])[0].hits[0].distance);
same<string>()(far.search([1, 2], { filter: (id) => id.length > 1 }).hits[0].id);
// @ts-expect-error: ids are strings
far.add([1, 2], 1);
const batch = { data: new Float32Array(4), dims: [2, 2] };
same<number>()(far.search<search.SearchResult<string, "euclidean">[]>(batch)[0].hits[0].distance);
same<number>()(far.search(batch).hits[0].distance);
same<string>()((await far.rescore(far.search([1, 2]), (ids) => ids.map(() => [1, 2]))).hits[0].id);

const loaded = await load<VectorIndex<string, "euclidean">>(save(far));
same<number>()(loaded.search([1, 2]).hits[0].distance);
same<number>()((await load<VectorIndex>(save(index))).search([1, 2]).hits[0].score);
const zp = await create({}, search);
same<number>()(new zp.VectorIndex({ dimensions: 2, metric: "dot" }).search([1, 2]).hits[0].score);
