// A drawing as a part of a view that Preact renders.

import { type ComponentChild, createElement } from "preact";
import type { Child } from "./tree.js";

/** The elements of trees, which Preact compares with those that are there. */
export function Drawn({ trees }: { trees: Child | readonly Child[] }) {
  return <>{Array.isArray(trees) ? trees.map(toVirtual) : toVirtual(trees as Child)}</>;
}

/** An attribute that is false is left out, as in the document of a tree. */
function toVirtual(node: Child): ComponentChild {
  if (typeof node !== "object") return node;
  const attributes = Object.fromEntries(
    Object.entries(node.attributes).filter(([, value]) => value !== false),
  );
  return createElement(node.tag, attributes, ...node.children.map(toVirtual));
}
