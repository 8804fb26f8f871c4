// The examples in the documentation of src/js, as programs.

import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const ts = require("typescript");

const folder = new URL("../../../src/js/", import.meta.url);

/** The entries of rooms whose exports are not in zeropoint. */
const ENTRY_OF = {
  models: "models",
  nn: "torch",
  notebook: "notebook",
  observers: "torch",
  search: "search",
  torch: "torch",
};

/** The function whose examples cannot run here: the library starts once, and slim has no files to load. */
const STARTS = "init";

/**
 * All tags in the documentation.
 * @returns {{ title: string, entry: "zeropoint" | "zeropoint/torch" | "zeropoint/notebook" | "zeropoint/models" | "zeropoint/search", tag: string,
 *   text: string, starts: boolean }[]}
 */
export function documentationTags() {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".ts"))
    .sort();
  return files.flatMap((file) => {
    const source = ts.createSourceFile(
      file,
      readFileSync(new URL(file, folder), "utf8"),
      ts.ScriptTarget.Latest,
      true,
    );
    const room = file.split("/")[0];
    const entry = ["zeropoint", ENTRY_OF[room]].filter(Boolean).join("/");
    return tagsIn(source).map(({ tag, name }) => {
      const line = source.getLineAndCharacterOfPosition(tag.pos).line + 1;
      const text = ts.getTextOfJSDocComment(tag.comment) ?? "";
      const title = `${file}:${line} (${name})`;
      return { title, entry, tag: tag.tagName.text, text, starts: name === STARTS };
    });
  });
}

/** The tags below a node, each once, with the name of what they are for. */
function tagsIn(node, found = new Map()) {
  for (const tag of ts.getJSDocTags(node)) {
    if (!found.has(tag.pos)) found.set(tag.pos, { tag, name: node.name?.getText() ?? "" });
  }
  ts.forEachChild(node, (child) => void tagsIn(child, found));
  return [...found.values()];
}

/**
 * An example as a block that calls `sameText(value, promised)` for each expression with a comment
 * behind it, and for the last one with a comment below it: such a comment is what the expression
 * gives. What stands above, or behind a declaration, is prose.
 */
export function program(text) {
  const source = ts.createSourceFile("example.ts", text, ts.ScriptTarget.Latest, true);
  let code = "";
  let at = 0;
  for (const statement of source.statements) {
    const isLast = statement === source.statements.at(-1);
    const end = isLast ? text.length : ts.getTrailingCommentRanges(text, statement.end)?.[0].end;
    const comment = text.slice(statement.end, end ?? statement.end).trim();
    if (!ts.isExpressionStatement(statement) || comment === "") continue;
    const promised = comment.replaceAll(/^\s*\/\/\s?/gm, "");
    const expression = statement.expression.getText();
    code += `${text.slice(at, statement.getStart())}sameText(${expression}, ${JSON.stringify(promised)});`;
    at = end;
  }
  return `{\n${code}${text.slice(at)}\n}`;
}

/** TypeScript as this Node runs it. */
export function javascript(code) {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  return ts.transpileModule(code, { compilerOptions }).outputText;
}

/** A string as examples write it. */
export const quoted = (text) => (text.includes('"') ? `'${text}'` : `"${text}"`);

/** A value as examples write it in JavaScript. */
export function written(value) {
  if (typeof value === "string") return quoted(value);
  if (ArrayBuffer.isView(value)) return `${value.constructor.name} [${[...value].join(", ")}]`;
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (value !== null && Object.getPrototypeOf(Object(value)) === Object.prototype) {
    const fields = Object.entries(value).map(([name, field]) => `${name}: ${written(field)}`);
    return `{ ${fields.join(", ")} }`;
  }
  return Object.is(value, -0) ? "-0" : String(value);
}

/** The text of an example's result for comparison, without parts that depend on the width of lines or the base. */
export function normal(text) {
  return text
    .trim()
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\b0x[\da-f]+\b/gi, (digits) => String(Number(digits)));
}

/** TypeScript's complaints about a module of the folder above, which need not exist. */
export function complaints(name, text) {
  const file = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const options = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2022.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"],
    strict: true,
    allowJs: true,
    noEmit: true,
    // Declarations are checked by types.test.mjs; those of browsers take seconds.
    skipLibCheck: true,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (path) => path === file || fileExists(path);
  host.readFile = (path) => (path === file ? text : readFile(path));
  host.getSourceFile = (path, ...rest) =>
    path === file
      ? ts.createSourceFile(path, text, ts.ScriptTarget.ES2022)
      : getSourceFile(path, ...rest);
  const found = ts.getPreEmitDiagnostics(ts.createProgram([file], options, host));
  return found.map(({ file: at, start, messageText }) => {
    const line = at === undefined ? 0 : at.getLineAndCharacterOfPosition(start).line;
    const code = text.split("\n")[line];
    return `${code}\n${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
  });
}
