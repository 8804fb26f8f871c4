// Scheme names.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { schemeOptions } from "zeropoint/models";
import { parseScheme } from "../../internal/models.mjs";

const parse = (name) => parseScheme("quantizeModel", "scheme", name);

describe("parseScheme", () => {
  it("reads dtype, granularity, scheme and search of a linear scheme", () => {
    const shared = { kind: "linear", isAffine: false, search: "minmax" };
    assert.deepEqual(parse("int8-channel"), {
      ...shared,
      name: "int8-channel",
      dtype: "int8",
      granularity: "channel",
      groupSize: undefined,
    });
    assert.deepEqual(parse("uint4-g64-affine-mse"), {
      kind: "linear",
      name: "uint4-g64-affine-mse",
      dtype: "uint4",
      granularity: "group",
      groupSize: 64,
      isAffine: true,
      search: "mse",
    });
    assert.equal(parse("int4-g32-hqq").search, "hqq");
    assert.equal(parse("int8-tensor").granularity, "tensor");
  });

  it("reads block types, half floats and keep, in upper and lower case", () => {
    assert.deepEqual(parse("Q4_K"), { kind: "block", name: "q4_k" });
    assert.deepEqual(parse("BFloat16"), { kind: "half", name: "bfloat16" });
    assert.deepEqual(parse("keep"), { kind: "keep", name: "keep" });
    assert.equal(parse("INT4-G32").name, "int4-g32");
  });

  it("refuses other kinds of values with a TypeError", () => {
    assert.throws(() => parse(4), { name: "TypeError", code: "ZP_INVALID_SCHEME" });
  });

  for (const name of [
    "",
    "int4",
    "int9-tensor",
    "int4-g0",
    "int4-g32-mse-affine",
    "q9_k",
    "int4-row",
  ]) {
    it(`refuses ${JSON.stringify(name)}`, () => {
      assert.throws(() => parse(name), { name: "RangeError", code: "ZP_INVALID_SCHEME" });
    });
  }

  it("says that a dtype alone does not name what shares a scale", () => {
    assert.throws(
      () => parse("int8"),
      /must say what shares a scale \("int8-channel", "int8-tensor", "int8-g32" …\), got "int8"$/,
    );
    assert.throws(
      () => parse("uint4"),
      /"uint4-channel-affine", "uint4-tensor-affine", "uint4-g32-affine"/,
    );
    assert.throws(() => parse("int16"), /must be <dtype>-tensor/);
  });

  it("says that an unsigned dtype needs -affine", () => {
    assert.throws(() => parse("uint4-g32"), /needs -affine \(uint4-g32-affine\)/);
  });
});

describe("schemeOptions", () => {
  it("gives the options of quantize", () => {
    assert.deepEqual(schemeOptions("INT8-channel"), {
      dtype: "int8",
      scheme: "symmetric",
      axis: 0,
    });
    assert.deepEqual(schemeOptions("uint4-g64-affine-mse"), {
      dtype: "uint4",
      scheme: "affine",
      groupSize: 64,
      range: "mse",
    });
    assert.deepEqual(schemeOptions("int8-tensor"), { dtype: "int8", scheme: "symmetric" });
  });

  it("refuses schemes that quantize does not know", () => {
    for (const name of ["q4_k", "float16", "keep"]) {
      assert.throws(() => schemeOptions(name), { name: "RangeError", code: "ZP_INVALID_SCHEME" });
    }
  });
});
