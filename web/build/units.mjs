// A number and its unit stay on one line.

const UNIT = /(\d) (?=(?:%|dB|kB|bits?|bytes?)(?!\w))/g;

/**
 * Has prose keep numbers and units together, in which a line may end otherwise.
 * @param {InstanceType<import("markdown-it").default>} markdown
 */
export function keepUnits(markdown) {
  const rules = markdown.renderer.rules;
  const text = /** @type {NonNullable<typeof rules.text>} */ (rules.text);
  rules.text = (...context) => text(...context).replace(UNIT, "$1\u00a0");
}
