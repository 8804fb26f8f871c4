// ONNX's own models and test data, of Debian's libonnx-testdata: each model is converted to safetensors, npz and GGUF, or
// refused with a reason; each file of a tensor opens.

import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { isDebian } from "../../scripts/process/run.mjs";
import { cacheFolder } from "../../scripts/toolchain/cache.mjs";
import { unpackDebian } from "../../scripts/toolchain/debian.mjs";
import { outputBytes } from "../js/support/files/checkpoints.mjs";

await init();

const SUITE = "sid";
const folder = join(cacheFolder(), `onnx-testdata-debian-${SUITE}`);
const complete = join(folder, ".zeropoint-complete");

/** Unpacks the package, the first time. @returns the paths of its files; undefined where there is no Debian */
async function provideFiles() {
  if (!isDebian()) return undefined;
  if (!existsSync(complete)) {
    rmSync(folder, { recursive: true, force: true });
    const downloads = join(folder, "apt");
    await unpackDebian(SUITE, ["libonnx-testdata"], downloads, folder);
    rmSync(downloads, { recursive: true });
    writeFileSync(complete, "");
  }
  const found = [];
  const visit = (path) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory()) visit(join(path, entry.name));
      else if (entry.isFile()) found.push(join(path, entry.name));
    }
  };
  visit(join(folder, "usr", "share", "libonnx-testdata"));
  return found.sort();
}

const files = await provideFiles();
const skip = files === undefined && "needs Debian's packages";

/** The reasons for which GGUF takes no model: its limits of names, axes and dtypes. */
const REASONS =
  /must have a name of at most 63 bytes|must have at most 4 axes|which GGUF does not have|has no float32 values/;

for (const format of ["safetensors", "npz", "gguf"]) {
  it(`every model is written as ${format} with its names and values, or refused`, {
    skip,
  }, async (t) => {
    const models = files.filter((path) => path.endsWith(".onnx"));
    assert.ok(models.length > 1000, `${models.length} models`);
    let written = 0;
    const refused = new Map();
    for (const path of models) {
      const model = await openModel(path);
      try {
        const { files: output } = await quantizeModel(model, "keep", { format });
        const again = await openModel(await outputBytes(output[0]));
        assert.deepEqual([...again.tensors.keys()].sort(), [...model.tensors.keys()].sort(), path);
        for (const name of again.tensors.keys()) {
          assert.notEqual(name, "", path);
          assert.deepEqual((await again.read(name)).data, (await model.read(name)).data, path);
        }
        written++;
      } catch (error) {
        assert.match(error.code ?? String(error), /^ZP_/, path);
        assert.match(error.message, REASONS, path);
        const reason = error.message.match(REASONS)[0];
        refused.set(reason, (refused.get(reason) ?? 0) + 1);
      } finally {
        await model.close();
      }
    }
    for (const [reason, count] of refused) t.diagnostic(`${count} refused: ${reason}`);
    t.diagnostic(`${written} of ${models.length} written`);
    assert.ok(written > models.length * 0.85);
  });
}

it("every file of a tensor opens, and sequences are refused", { skip }, async (t) => {
  const counts = new Map();
  for (const path of files.filter((each) => each.endsWith(".pb"))) {
    let result;
    try {
      const model = await openModel(path);
      const [name] = model.tensors.keys();
      if (name !== undefined) await model.read(name);
      result = name === undefined ? "of text" : "read";
      await model.close();
    } catch (error) {
      assert.match(error.code ?? String(error), /^ZP_(INVALID_FILE|UNSUPPORTED_DTYPE)$/, path);
      assert.ok(/seq|opt|complex|loop|if_|dft|stft|map/.test(path), `${path}: ${error.message}`);
      result = error.message.replace(/^openModel: (at byte \d+: )?/, "").slice(0, 60);
    }
    counts.set(result, (counts.get(result) ?? 0) + 1);
  }
  for (const [result, count] of counts) t.diagnostic(`${count}: ${result}`);
  assert.ok(counts.get("read") > 3000);
});
