// A drawing as a plain tree, so that the same code draws at build time and in the browser.

export interface Tree<Tag extends string = string> {
  tag: Tag;
  attributes: Record<string, Attribute>;
  children: Child[];
}

export type Attribute = string | number | boolean | null | undefined;

export type Child = Tree | string | number;

export type Nested = Child | null | undefined | false | "" | NestedList;
type NestedList = { [index: number]: Nested; length: number } & Iterable<unknown>;

const SVG = "http://www.w3.org/2000/svg";
const EMPTY_TAGS = new Set(["br", "hr", "img", "input", "wbr"]);

/** One element. Attributes that are null, undefined or false are left out; true gives an empty one. */
export function h<Tag extends string>(
  tag: Tag,
  attributes: Record<string, Attribute> = {},
  ...children: Nested[]
): Tree<Tag> {
  return { tag, attributes, children: flat(children) };
}

function flat(children: Nested[]): Child[] {
  return children.flatMap((child) => {
    if (Array.isArray(child)) return flat(child);
    const isNothing = child === null || child === undefined || child === false || child === "";
    return isNothing ? [] : [child as Child];
  });
}

export function escapeHtml(text: string) {
  return text.replace(
    /[&<>"]/g,
    (c) => `&${{ "&": "amp", "<": "lt", ">": "gt", '"': "quot" }[c]};`,
  );
}

export function toHtml(node: Child): string {
  if (typeof node !== "object") return escapeHtml(String(node));
  const attributes = Object.entries(node.attributes)
    .filter(([, value]) => isPresent(value))
    .map(([name, value]) => ` ${name}="${value === true ? "" : escapeHtml(String(value))}"`)
    .join("");
  if (EMPTY_TAGS.has(node.tag)) return `<${node.tag}${attributes}>`;
  return `<${node.tag}${attributes}>${node.children.map(toHtml).join("")}</${node.tag}>`;
}

/** The class of a tag's elements: of HTML, else of SVG. */
type ElementOf<Tag> = Tag extends keyof HTMLElementTagNameMap
  ? HTMLElementTagNameMap[Tag]
  : Tag extends keyof SVGElementTagNameMap
    ? SVGElementTagNameMap[Tag]
    : Element;

export function toDom<Tag extends string>(node: Tree<Tag>, insideSvg = false): ElementOf<Tag> {
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
  return element as ElementOf<Tag>;
}

function isPresent(value: Attribute) {
  return value !== null && value !== undefined && value !== false;
}
