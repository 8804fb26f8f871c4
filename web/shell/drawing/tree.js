// A drawing as a plain tree, so that the same code draws at build time and in the browser.

/**
 * @typedef {{ tag: string, attributes: Record<string, Attribute>, children: Child[] }} Tree
 * @typedef {string | number | boolean | null | undefined} Attribute
 * @typedef {Tree | string | number} Child
 */

/** @typedef {Child | null | undefined | false | "" | NestedList} Nested */
/** @typedef {{ [index: number]: Nested, length: number } & Iterable<any>} NestedList */

const SVG = "http://www.w3.org/2000/svg";
const EMPTY_TAGS = new Set(["br", "hr", "img", "input", "wbr"]);

/**
 * One element. Attributes that are null, undefined or false are left out; true gives an empty one.
 * @param {string} tag
 * @param {Record<string, Attribute>} [attributes]
 * @param {...Nested} children
 * @returns {Tree}
 */
export function h(tag, attributes = {}, ...children) {
  return { tag, attributes, children: flat(children) };
}

/**
 * @param {Nested[]} children
 * @returns {Child[]}
 */
function flat(children) {
  return children.flatMap((child) => {
    if (Array.isArray(child)) return flat(child);
    const isNothing = child === null || child === undefined || child === false || child === "";
    return isNothing ? [] : [/** @type {Child} */ (child)];
  });
}

/** @param {string} text */
export function escapeHtml(text) {
  return text.replace(
    /[&<>"]/g,
    (c) => `&${{ "&": "amp", "<": "lt", ">": "gt", '"': "quot" }[c]};`,
  );
}

/**
 * @param {Child} node
 * @returns {string}
 */
export function toHtml(node) {
  if (typeof node !== "object") return escapeHtml(String(node));
  const attributes = Object.entries(node.attributes)
    .filter(([, value]) => isPresent(value))
    .map(([name, value]) => ` ${name}="${value === true ? "" : escapeHtml(String(value))}"`)
    .join("");
  if (EMPTY_TAGS.has(node.tag)) return `<${node.tag}${attributes}>`;
  return `<${node.tag}${attributes}>${node.children.map(toHtml).join("")}</${node.tag}>`;
}

/**
 * @param {Tree} node
 * @returns {Element}
 */
export function toDom(node, insideSvg = false) {
  const isSvg = insideSvg || node.tag === "svg";
  const element = isSvg
    ? document.createElementNS(SVG, node.tag)
    : document.createElement(node.tag);
  for (const [name, value] of Object.entries(node.attributes)) {
    if (isPresent(value)) element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of node.children) {
    element.append(typeof child === "object" ? toDom(child, isSvg) : String(child));
  }
  return element;
}

/** @param {Attribute} value */
function isPresent(value) {
  return value !== null && value !== undefined && value !== false;
}
