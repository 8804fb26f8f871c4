// A number and its unit stay on one line, and so do a product of two letters and a short piece of code.

const UNIT = /(\d) (?=(?:%|dB|[kMG]B|bits?|bytes?)(?!\w))/g;

/** A product of two letters, such as d · q. */
const PRODUCT = /(?<!\p{L})(\p{L}) · (?=\p{L}(?!\p{L}))/gu;

/** Letters of code that any screen has room for. */
const SHORT = 18;

/**
 * Has prose keep numbers and units together, in which a line may end otherwise.
 * @param {InstanceType<import("markdown-it").default>} markdown
 */
export function keepUnits(markdown) {
  const rules = markdown.renderer.rules;
  const text = /** @type {NonNullable<typeof rules.text>} */ (rules.text);
  rules.text = (...context) =>
    text(...context)
      .replace(UNIT, "$1\u00a0")
      .replace(PRODUCT, "$1\u00a0·\u00a0");
  const code = /** @type {NonNullable<typeof rules.code_inline>} */ (rules.code_inline);
  rules.code_inline = (tokens, i, ...rest) => {
    if (tokens[i].content.length <= SHORT) tokens[i].attrSet("class", "unbroken");
    return code(tokens, i, ...rest);
  };
}
