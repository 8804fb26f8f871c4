// The lab's comparison of written files with their model.

import assert from "node:assert/strict";
import { it } from "node:test";
import { init, tensor } from "zeropoint";
import { save } from "zeropoint/models";
import { connect } from "zeropoint/worker";
import { fromPage } from "../from-page.mjs";

const { verify } = await fromPage("lab/model/verify.js");

await init();

const fileOf = async (tensors) =>
  new File([await new Response(save(tensors)).blob()], "a.safetensors");

const RUN = {
  signal: new AbortController().signal,
  pause: { ready: async () => {} },
  onProgress() {},
};

it("reports the largest difference, kept tensors that differ, and missing tensors", async () => {
  const zp = await connect({ entries: ["models"] });
  const source = await zp.openModel(
    save({ bias: tensor([1, 2]), equal: tensor([3]), weight: tensor([1, 2]), gone: tensor([1]) }),
  );
  const written = await fileOf({
    ...{ bias: tensor([1, 2.5]), equal: tensor([3]), weight: tensor([1, 2.25]) },
  });
  const rows = Object.entries({ bias: "keep", equal: "keep", weight: "int8-tensor", gone: "keep" });
  const { tensors, largest, problems } = await verify(
    zp,
    source,
    [written],
    rows.map(([name, scheme]) => ({ name, scheme })),
    RUN,
  );
  assert.deepEqual({ tensors, largest }, { tensors: 4, largest: 0.25 });
  assert.deepEqual(problems, ["bias: kept, but it differs", "gone: missing in b"]);
  zp.dispose();
});
