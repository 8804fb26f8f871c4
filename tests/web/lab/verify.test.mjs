// The lab's comparison of written files with their model.

import assert from "node:assert/strict";
import { it } from "node:test";
import { init, tensor } from "zeropoint";
import { openModel, save } from "zeropoint/models";
import { verify } from "../../../web/lab/worker/verify.js";

await init();

const fileOf = async (tensors) =>
  new File([await new Response(save(tensors)).blob()], "a.safetensors");

const CONTEXT = {
  signal: new AbortController().signal,
  emit() {},
  report() {},
  ready: async () => {},
};

it("reports the largest difference, kept tensors that differ, and missing tensors", async () => {
  const source = await openModel(
    save({ bias: tensor([1, 2]), equal: tensor([3]), weight: tensor([1, 2]), gone: tensor([1]) }),
  );
  const written = await fileOf({
    ...{ bias: tensor([1, 2.5]), equal: tensor([3]), weight: tensor([1, 2.25]) },
  });
  const rows = Object.entries({ bias: "keep", equal: "keep", weight: "int8-tensor", gone: "keep" });
  const { tensors, largest, problems } = await verify(
    source,
    [written],
    rows.map(([name, scheme]) => ({ name, scheme })),
    CONTEXT,
  );
  assert.deepEqual({ tensors, largest }, { tensors: 4, largest: 0.25 });
  assert.deepEqual(problems, ["bias: kept, but it differs", "gone: missing in b"]);
});
