// Statements of verify: what they say, that a second run checks them, and that hostile ones are refused.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { init, tensor } from "zeropoint";
import { openModel, quantizeModel, save, verify } from "zeropoint/models";
import { VERSION } from "../../../internal/base.mjs";
import { outputBytes, someValues } from "../../support/files/checkpoints.mjs";
import { collect } from "../../support/files/formats.mjs";

await init();

const big = await collect(
  save({ w: tensor(someValues(32 * 64), [32, 64]), b: tensor(someValues(32, 2)) }),
);
const open = async (bytes, name) => await openModel(new File([bytes], name));
const source = await open(big, "big.safetensors");
const smallBytes = async (scheme) =>
  await outputBytes((await quantizeModel(source, scheme)).files[0]);
const small = await smallBytes("int8-channel-mse");
const hashOf = (bytes) => createHash("sha256").update(bytes).digest("hex");
const { statement } = await verify(await open(small, "small.safetensors"), source);

describe("the statement of verify", () => {
  it("is an in-toto statement: subject and materials by sha256, tool, derivation, result", () => {
    assert.deepEqual(JSON.parse(JSON.stringify(statement)), {
      _type: "https://in-toto.io/Statement/v1",
      subject: [{ name: "small.safetensors", digest: { sha256: hashOf(small) } }],
      predicateType: "https://www.npmjs.com/package/zeropoint/derivation/v1",
      predicate: {
        tool: { name: "zeropoint", version: VERSION },
        materials: [{ name: "big.safetensors", digest: { sha256: hashOf(big) } }],
        derivation: {
          ...{ format: "safetensors", target: "zeropoint", activations: "float32" },
          ...{ requantize: false, schemes: { "int8-channel-mse": 1, keep: 1 } },
        },
        result: { tensors: 3, equal: 3, ties: 0, different: 0, verdict: "equal" },
      },
    });
  });

  it("has the version of the package", () => {
    const own = new URL("../../../../package.json", import.meta.url);
    assert.equal(VERSION, JSON.parse(readFileSync(own)).version);
  });

  it("is checked by another run, whatever the files are called", async () => {
    const again = await verify(await open(small, "other name"), await openModel(big), {
      statement,
    });
    assert.deepEqual(again.different, []);
    assert.deepEqual(again.statement, {
      ...statement,
      subject: [{ ...statement.subject[0], name: "other name" }],
      predicate: {
        ...statement.predicate,
        materials: [{ ...statement.predicate.materials[0], name: "model" }],
      },
    });
  });

  it("is not confirmed by another file, another source, or another result", async () => {
    const namesOf = async (quantized, from, own = statement) => {
      const { different } = await verify(quantized, from, { statement: own });
      return [...new Set(different.map(({ name }) => name))];
    };
    const other = await open(await smallBytes("int4-g32-mse"), "small.safetensors");
    assert.deepEqual(await namesOf(other, source), ["statement subject"]);
    const changed = big.slice();
    changed[changed.length - 1] ^= 1;
    const names = await namesOf(await open(small, "s"), await open(changed, "b"));
    assert.deepEqual(names.slice(-2), ["statement material", "statement result"]);
    const { predicate } = statement;
    const result = { ...predicate.result, verdict: "ties" };
    const lie = { ...statement, predicate: { ...predicate, result } };
    assert.deepEqual(await namesOf(await open(small, "s"), source, lie), ["statement result"]);
  });

  const { subject, predicate } = statement;
  const hostile = {
    "no object": null,
    "a text": "{}",
    "a list": [],
    "nothing in it": {},
    "another type": { ...statement, _type: "https://in-toto.io/Statement/v0.1" },
    "another predicate": { ...statement, predicateType: "https://slsa.dev/provenance/v1" },
    "no subject": { ...statement, subject: [] },
    "a million subjects": { ...statement, subject: new Array(1e6).fill(subject[0]) },
    "a subject twice": { ...statement, subject: [...subject, ...subject] },
    "a hole among subjects": { ...statement, subject: new Array(1) },
    "a short hash": { ...statement, subject: [{ name: "a", digest: { sha256: "abc" } }] },
    "a hash by another algorithm": {
      ...statement,
      subject: [{ name: "a", digest: { md5: "abc" } }],
    },
    "a hash in capitals": {
      ...statement,
      subject: [{ name: "a", digest: { sha256: "A".repeat(64) } }],
    },
    "a name that is none": { ...statement, subject: [{ ...subject[0], name: { toString: 1 } }] },
    "no predicate": { ...statement, predicate: undefined },
    "no materials": { ...statement, predicate: { ...predicate, materials: undefined } },
    "no result": { ...statement, predicate: { ...predicate, result: [] } },
    "another verdict": { ...statement, predicate: { ...predicate, result: { verdict: "fine" } } },
    "a prototype": JSON.parse('{"__proto__":{"_type":"https://in-toto.io/Statement/v1"}}'),
  };
  for (const [title, given] of Object.entries(hostile)) {
    it(`is refused if it has ${title}`, async () => {
      await assert.rejects(verify(await open(small, "s"), source, { statement: given }), {
        code: "ZP_INVALID_OPTION",
        message: /^verify: options\.statement/,
      });
    });
  }
});
