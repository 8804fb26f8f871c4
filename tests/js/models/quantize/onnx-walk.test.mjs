// The README's recipe of ONNX for the browser, as it is printed, on a small model.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { constant, normals, onnxModel } from "../../support/onnx/models.mjs";

const readme = readFileSync(new URL("../../../../README.md", import.meta.url), "utf8");
const [, recipe] = /### ONNX for the browser[\s\S]*?```js\n([\s\S]*?)```/.exec(readme);

const folder = mkdtempSync(join(tmpdir(), "zeropoint-onnx-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Two layers of 64, 128 and 16 values. */
const network = () =>
  onnxModel({
    inputs: [{ name: "x", shape: ["batch", 64] }],
    outputs: [{ name: "y", shape: ["batch", 16] }],
    nodes: [
      {
        ...{ opType: "Gemm", inputs: ["x", "fc1.weight", "fc1.bias"], outputs: ["h"] },
        attributes: { transB: { int: 1 } },
      },
      { opType: "Relu", inputs: ["h"], outputs: ["r"] },
      {
        ...{ opType: "Gemm", inputs: ["r", "fc2.weight", "fc2.bias"], outputs: ["y"] },
        attributes: { transB: { int: 1 } },
      },
    ],
    initializers: [
      constant("fc1.weight", [128, 64], normals(128 * 64, 1)),
      constant("fc1.bias", [128], normals(128, 2)),
      constant("fc2.weight", [16, 128], normals(16 * 128, 3)),
      constant("fc2.bias", [16], normals(16, 4)),
    ],
  });

it("The recipe of ONNX for the browser prints what its comments say", async () => {
  writeFileSync(join(folder, "model.onnx"), await network());
  const places = ["zeropoint/models", "zeropoint", "onnxruntime-web"].map((name) => [
    `from "${name}"`,
    `from ${JSON.stringify(import.meta.resolve(name))}`,
  ]);
  const text = places.reduce((all, [from, to]) => all.replace(from, to), recipe);
  writeFileSync(join(folder, "walk.mjs"), text);
  const { stdout, stderr } = spawnSync(process.execPath, [join(folder, "walk.mjs")], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(stderr, "");
  const promised = [...recipe.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(
    ([, line]) => line,
  );
  assert.ok(promised.length >= 3);
  assert.deepEqual(stdout.trimEnd().split("\n"), promised);
  assert.ok(readFileSync(join(folder, "int4-model.onnx")).length < 10_000);
});
