// zeropoint compare, and --verify of quantize.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import {
  makeFolder,
  safetensors,
  smallModel,
  write,
  zeropoint,
} from "../support/processes/cli.mjs";

const folder = makeFolder();
const compare = (...args) => zeropoint(folder, ["compare", ...args]);

before(async () => {
  const tensors = smallModel();
  const { "head.bias": bias, ...rest } = tensors;
  const changed = { shape: bias.shape, values: bias.values.slice() };
  changed.values[3] += 0.5;
  write(folder, {
    "a.safetensors": await safetensors(tensors),
    "b.safetensors": await safetensors({ ...rest, "head.bias": changed }),
    "less.safetensors": await safetensors(rest),
    "other.safetensors": await safetensors({ other: bias }),
    "shape.safetensors": await safetensors({
      ...rest,
      "head.bias": { shape: [1, ...bias.shape], values: bias.values },
    }),
  });
  const args = ["quantize", "a.safetensors", "int4-g32", "-o", "q.safetensors"];
  assert.equal(zeropoint(folder, args).code, 0);
});

describe("zeropoint compare", () => {
  it("reports equal models as equal", () => {
    const { code, stdout, stderr } = compare("a.safetensors", "a.safetensors", "--tolerance", "0");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^tensors {2}8: 8 equal, 0 different, 0 not comparable$/m);
  });

  it("exits with 1 beyond a largest difference", () => {
    const beyond = compare("a.safetensors", "b.safetensors", "--tolerance", "0.1");
    assert.equal(beyond.code, 1);
    assert.match(beyond.stdout, /^beyond +1 tensor beyond 0\.1: head\.bias$/m);
    assert.match(beyond.stdout, /^head\.bias +float32 +float32 +0\.5 /m);
    assert.equal(compare("a.safetensors", "b.safetensors", "--tolerance", "0.6").code, 0);
    assert.equal(compare("a.safetensors", "b.safetensors").code, 0);
  });

  it("compares quantized tensors by their values, with a least SQNR", () => {
    assert.equal(compare("a.safetensors", "q.safetensors", "--tolerance", "15dB").code, 0);
    const { code, stdout } = compare(
      "a.safetensors",
      "q.safetensors",
      "--tolerance",
      "30dB",
      "--json",
    );
    assert.equal(code, 1);
    const { rows, beyond } = JSON.parse(stdout);
    assert.equal(beyond.length, 5);
    assert.equal(rows.find(({ name }) => name === "head.bias").sqnr, "Infinity");
  });

  for (const [first, second, side] of [
    ["a.safetensors", "less.safetensors", "b"],
    ["less.safetensors", "a.safetensors", "a"],
  ]) {
    it(`exits with 1 while a tensor is missing in ${side}, unless that is allowed`, () => {
      for (const tolerance of [[], ["--tolerance", "1"]]) {
        const { code, stdout } = compare(first, second, ...tolerance);
        assert.equal(code, 1);
        assert.match(stdout, new RegExp(`^head\\.bias .*missing in ${side}$`, "m"));
        assert.match(
          stdout,
          /^missing +1 tensor of one model alone: head\.bias .*--allow-missing/m,
        );
        assert.equal(compare(first, second, ...tolerance, "--allow-missing").code, 0);
        assert.equal(compare(first, second, ...tolerance, "--exclude", "*.bias").code, 0);
      }
      const { code, stderr } = compare(first, second, "--json", "-o", "missing.json", "--force");
      assert.equal(code, 1);
      assert.match(stderr, /1 tensor of one model alone: head\.bias/);
    });
  }

  it("exits with 1 while tensors of one name have different shapes", () => {
    for (const options of [[], ["--allow-missing"], ["--tolerance", "1"]]) {
      const { code, stdout } = compare("a.safetensors", "shape.safetensors", ...options);
      assert.equal(code, 1);
      assert.match(stdout, /^head\.bias .*shape \[\d+\] in a, \[1, \d+\] in b$/m);
    }
    const { code, stderr } = compare("a.safetensors", "shape.safetensors", "--json");
    assert.equal(code, 1);
    assert.match(stderr, /: 1 tensor not compared: head\.bias \(shape .* in b\)\n$/);
  });

  it("exits with 1 for models that have no tensor in common", () => {
    const { code, stdout } = compare("a.safetensors", "other.safetensors");
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^largest +nothing to compare: no tensor of a has its name and shape in b$/m,
    );
  });

  for (const form of ["--json", "--csv", "--html"]) {
    it(`says on standard error why it fails beside ${form}`, () => {
      const none = compare("a.safetensors", "other.safetensors", form);
      assert.equal(none.code, 1);
      assert.equal(
        none.stderr,
        "zeropoint compare: other.safetensors compared with a.safetensors: " +
          "nothing to compare: no tensor of a has its name and shape in b\n",
      );
      const beyond = compare("a.safetensors", "b.safetensors", "--tolerance", "0.1", form);
      assert.equal(beyond.code, 1);
      assert.match(beyond.stderr, /: 1 tensor beyond 0\.1: head\.bias\n$/);
    });
  }

  it("explains the forms of a tolerance after a wrong one", () => {
    const { code, stderr } = compare("a.safetensors", "b.safetensors", "--tolerance", "much");
    assert.equal(code, 2);
    assert.match(
      stderr,
      /--tolerance takes a largest difference \(0\.01\) or a least SQNR \(30dB\)/,
    );
  });
});

describe("zeropoint quantize --verify", () => {
  it("reads the result again", () => {
    const args = ["quantize", "a.safetensors", "int8-g32", "-o", "v.safetensors", "--verify"];
    const { code, stdout, stderr } = zeropoint(folder, args);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(
      stdout,
      /^8 of 8 tensors read again, largest difference \S+, least SQNR 4\d\.\d dB/m,
    );
  });
});
