// Hooks of Node's module loader: compiles TypeScript, whose imports name the .js files of other TypeScript files.

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";

/** The address of the TypeScript file that a specifier such as "./a.js" means, if there is one. */
function sourceOf(specifier, parent) {
  if (!/^(\.|file:).*\.js$/.test(specifier)) return undefined;
  const url = new URL(specifier.replace(/\.js$/, ".ts"), parent);
  return existsSync(url) ? url.href : undefined;
}

export function resolve(specifier, context, next) {
  const url = sourceOf(specifier, context.parentURL);
  return url ? { url, format: "module", shortCircuit: true } : next(specifier, context);
}

export function load(url, context, next) {
  if (!url.endsWith(".ts")) return next(url, context);
  const sourcefile = fileURLToPath(url);
  const text = readFileSync(sourcefile, "utf8");
  const { code } = transformSync(text, { loader: "ts", sourcefile, sourcemap: "inline" });
  return { format: "module", source: code, shortCircuit: true };
}
