// Expressions of Python's re in configurations: what they match, in how much time, and which are refused.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { describeQuantization, expressionOf } from "../../internal/formats.mjs";
import { property } from "../support/files/formats.mjs";

const atoms = ["a", "b", ".", "\\d", "\\w", "\\.", "[ab1]", "[^a]", "[a-c]", "^", "$"];
const quantifiers = ["", "*", "+", "?", "*?", "{2}", "{1,2}", "{1,}"];
const { expression } = fc.letrec((tie) => ({
  expression: fc.array(tie("repeated"), { maxLength: 4 }).map((parts) => parts.join("")),
  repeated: fc.tuple(tie("atom"), fc.constantFrom(...quantifiers)).map(([atom, quantifier]) =>
    // Nothing may be repeated where Python and JavaScript differ.
    "^$".includes(atom) ? atom : atom + quantifier,
  ),
  atom: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(...atoms),
    fc
      .array(tie("expression"), { minLength: 1, maxLength: 3 })
      .map((parts) => `(${parts.join("|")})`),
  ),
}));
const names = fc.stringMatching(/^[abc1.]{0,8}$/);

describe("an expression of a configuration", () => {
  property(it, "matches what JavaScript's own matches", [expression, names], (text, name) => {
    const own = expressionOf(text);
    assert.ok(own !== undefined, text);
    assert.equal(own.test(name), new RegExp(`^(?:${text})`).test(name), `${text} ${name}`);
  });

  for (const [text, name, isMatch] of [
    [".*\\.layers\\.\\d+\\.mlp\\..*_proj", "model.layers.12.mlp.up_proj", true],
    ["model\\.layers\\.(?:1[0-9]|2[0-9])\\..*(gate|up).*", "model.layers.21.mlp.up_proj", true],
    ["model\\.layers\\.(?:1[0-9]|2[0-9])\\..*(gate|up).*", "model.layers.3.mlp.up_proj", false],
    ["lm_head$", "lm_head", true],
    ["lm_head$", "lm_head.x", false],
    ["(?P<layer>\\d{1,2})\\.", "12.", true],
  ]) {
    it(`with any number of repetitions: ${text} and ${name}`, () => {
      assert.equal(expressionOf(text).test(name), isMatch);
    });
  }

  it("takes time proportional to the name, whatever it is", () => {
    const start = performance.now();
    for (const text of ["(a*)*b", "(a|a)*b", "(.*)(.*)(.*)(.*)(.*)b", "(a+)+$", "((a?){20}){9}b"]) {
      assert.equal(expressionOf(text).test(`${"a".repeat(2000)}c`), false, text);
    }
    assert.equal(expressionOf("((((){999}){999}){999}){999}"), undefined);
    assert.ok(performance.now() - start < 5000);
  });

  for (const text of [
    "(?!a)b",
    "(?<=a)b",
    "\\bq",
    "(a)\\1",
    "a**",
    "(a",
    "[a",
    "a{3,1}",
    "(?i)a",
  ]) {
    it(`that is not read refuses the configuration, by its text: ${text}`, () => {
      assert.equal(expressionOf(text), undefined);
      const rules = { quant_method: "gptq", bits: 4, dynamic: { [`-:${text}`]: {} } };
      const lists = { quant_method: "compressed-tensors", ignore: [`re:${text}`] };
      for (const quantization_config of [rules, lists]) {
        const { refused } = describeQuantization({ quantization_config });
        assert.match(refused, /^the expression "/);
        assert.ok(refused.includes(JSON.stringify(text).slice(1, -1)), refused);
      }
    });
  }
});
