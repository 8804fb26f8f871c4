// Hooks of Node's module loader: compiles TypeScript, whose imports name the .js files of other TypeScript files.

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";

/** The address of the TypeScript file that a specifier such as "./a.js" means, if there is one. */
function sourceOf(specifier, parent) {
  if (!/^(\.|file:).*\.js$/.test(specifier)) return undefined;
  return [".ts", ".tsx"]
    .map((ending) => new URL(specifier.replace(/\.js$/, ending), parent))
    .find((url) => existsSync(url))?.href;
}

export function resolve(specifier, context, next) {
  const url = sourceOf(specifier, context.parentURL);
  return url ? { url, format: "module", shortCircuit: true } : next(specifier, context);
}

export function load(url, context, next) {
  const loader = /\.(tsx?)$/.exec(url)?.[1];
  if (!loader) return next(url, context);
  const sourcefile = fileURLToPath(url);
  const text = readFileSync(sourcefile, "utf8");
  const { code } = transformSync(text, {
    loader,
    jsx: "automatic",
    jsxImportSource: "preact",
    sourcefile,
    sourcemap: "inline",
  });
  return { format: "module", source: code, shortCircuit: true };
}
