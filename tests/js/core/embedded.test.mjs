// Binaries as text in string literals: scripts/build/text.mjs writes them, dist/embedded.js reads them.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { transformSync } from "esbuild";
import fc from "fast-check";
import { ALPHABET, toText } from "../../../scripts/build/text.mjs";
import { toBytes } from "../../internal/core.mjs";
import { sameDeep } from "../support/asserts.mjs";

const bytes = (values) => Uint8Array.from(values);
const backAndForth = (binary) => sameDeep(toBytes(toText(binary)), binary);

describe("a binary as text", () => {
  it("comes back with every byte value, and without any byte", () => {
    const all = Array.from({ length: 256 }, (_, i) => i);
    backAndForth(bytes(all));
    backAndForth(bytes(all.toReversed()));
    backAndForth(bytes([]));
    for (const byte of all) backAndForth(bytes([byte, byte]));
  });

  it("comes back from bytes that are text with a meaning in scripts and pages", () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: one of the texts with a meaning
    const hostile = "\"'`\\${x}</script><!--]]>\u2028\u2029\r\n\0*/ // \\u0000 %20 &amp;";
    backAndForth(new TextEncoder().encode(hostile));
  });

  it("comes back for any frequencies of bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 2000 }), backAndForth));
    const skewed = fc.array(
      fc.nat(6).map((power) => 2 ** power),
      { maxLength: 2000 },
    );
    fc.assert(fc.property(skewed.map(bytes), backAndForth));
  });

  it("is one character for each of the 90 most frequent bytes, two for each of the others", () => {
    const counted = Array.from({ length: 256 }, (_, byte) => Array(byte < 166 ? 1 : 2).fill(byte));
    const [frequent, characters] = toText(bytes(counted.flat()));
    const expected = Array.from({ length: 90 }, (_, i) => (166 + i).toString(16));
    assert.equal(frequent, expected.join(""));
    assert.equal(characters.length, 2 * 166 + 2 * 90);
    assert.equal(toText(bytes([7, 7, 1]))[1].length, 3);
  });

  it("has no character that a minifier escapes, in any charset", () => {
    assert.equal(ALPHABET.length, 92);
    const source = `export default ${JSON.stringify(ALPHABET)};`;
    for (const charset of ["ascii", "utf8"]) {
      const { code } = transformSync(source, { charset, minify: true, target: "es2022" });
      assert.ok(code.includes(ALPHABET), code);
    }
    assert.match(ALPHABET, /^[ !#-;=-[\]-~]+$/);
  });
});
