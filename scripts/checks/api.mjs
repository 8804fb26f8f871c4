// Writes the public interface, as declared in dist, to tests/package/api: the exports of each entry of the
// package and the declarations they reach. A pull request that changes the interface has to change the report
// too, so the change is visible in review. Each public name needs a comment.
//
//   npm run api                updates the report
//   npm run api -- --check     fails if it is not up to date, or a public name has no comment

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { buildJs } from "../build/build.mjs";
import { Failure, root, runAsScript } from "../process/run.mjs";
import { setUp } from "../toolchain/setup.mjs";

const reports = join(root, "tests", "package", "api");

/** Whether an export of package.json is a module with types; others are binaries and the script of a worker. */
const isModule = (target) => target.types !== undefined && target.default.endsWith(".js");

/** The public interface of the built package: a text for each entry, and names without comments. */
export async function readApi(folder = root) {
  // Imported late: an earlier step installs it.
  const { default: ts } = await import("typescript");
  const { name, exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const entries = Object.entries(exports).filter(([, target]) => isModule(target));
  // The compiler's own declarations: rolled up, they name the modules that they came from no more.
  const files = entries.map(([, target]) => join(folder, target.default.replace(/\.js$/, ".d.ts")));
  const program = ts.createProgram(files, {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ["lib.es2022.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"],
    types: [],
    strict: true,
  });
  const checker = program.getTypeChecker();
  const printer = ts.createPrinter({ removeComments: true });

  const resolve = (symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const isOurs = (declaration) => {
    const path = relative(folder, declaration.getSourceFile().fileName);
    return !path.startsWith("..") && !path.includes("node_modules");
  };
  const declarationsOf = (symbol) => (symbol.declarations ?? []).filter(isOurs);

  const has = (member, keyword) =>
    ts.canHaveModifiers(member) && ts.getModifiers(member)?.some(({ kind }) => kind === keyword);
  const isHidden = (member) =>
    (member.name && ts.isPrivateIdentifier(member.name)) ||
    has(member, ts.SyntaxKind.PrivateKeyword);

  /** A declaration without its invisible parts: comments, private members, `declare`. */
  function print(declaration) {
    const statement = ts.isVariableDeclaration(declaration)
      ? declaration.parent.parent
      : declaration;
    const unseen = [ts.SyntaxKind.ExportKeyword, ts.SyntaxKind.DeclareKeyword];
    const clean = (context) => (node) => {
      const visit = (child) => {
        if (ts.isClassElement(child) && isHidden(child)) return undefined;
        if (ts.isModifier(child) && unseen.includes(child.kind)) return undefined;
        return ts.visitEachChild(child, visit, context);
      };
      return ts.visitNode(node, visit);
    };
    const { transformed } = ts.transform(statement, [clean]);
    return printer.printNode(ts.EmitHint.Unspecified, transformed[0], statement.getSourceFile());
  }

  /** The symbols that a declaration names. */
  function* namedBy(node) {
    if (ts.isIdentifier(node)) {
      const symbol = checker.getSymbolAtLocation(node);
      if (symbol) yield resolve(symbol);
    }
    for (const child of node.getChildren()) {
      if (ts.isClassElement(child) && isHidden(child)) continue;
      if (child.kind !== ts.SyntaxKind.JSDoc) yield* namedBy(child);
    }
  }

  const isStatement = (declaration) =>
    ts.isVariableDeclaration(declaration) ||
    (declaration.parent && ts.isSourceFile(declaration.parent));

  /** All symbols reachable from the given ones through their declarations. */
  function reachedFrom(symbols) {
    const reached = new Set(symbols);
    for (const symbol of reached) {
      for (const declaration of declarationsOf(symbol).filter((one) => !ts.isSourceFile(one))) {
        for (const named of namedBy(declaration)) {
          if (declarationsOf(named).some(isStatement)) reached.add(named);
        }
      }
    }
    return reached;
  }

  const isDocumented = (symbol) =>
    ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim() !== "";

  /** The names without a comment: a symbol and its members. */
  function* undocumentedIn(symbol, path) {
    if (!isDocumented(symbol)) yield path;
    for (const declaration of declarationsOf(symbol)) {
      if (!ts.isClassDeclaration(declaration) && !ts.isInterfaceDeclaration(declaration)) continue;
      for (const member of declaration.members) {
        if (isHidden(member) || has(member, ts.SyntaxKind.ProtectedKeyword)) continue;
        // An alias is documented at its target; a member named by a symbol belongs to JavaScript.
        if (!member.name || ts.isComputedPropertyName(member.name)) continue;
        if (member.type && ts.isTypeQueryNode(member.type)) continue;
        const own = checker.getSymbolAtLocation(member.name);
        if (own && !isDocumented(own)) yield `${path}.${member.name.getText()}`;
      }
    }
  }

  const texts = new Map();
  const undocumented = new Set();
  for (const [index, [entry]] of entries.entries()) {
    const file = program.getSourceFile(files[index]);
    if (!file)
      throw new Failure(`${relative(root, files[index])} is missing: npm run build makes it`);
    const title = entry.replace(/^\./, name);
    const exported = new Map(
      checker
        .getExportsOfModule(checker.getSymbolAtLocation(file))
        .map((symbol) => [symbol.name, resolve(symbol)])
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
    const known = new Set(exported.values());
    const others = [...reachedFrom(known)].filter((symbol) => !known.has(symbol));
    const named = [...exported, ...others.map((symbol) => [symbol.name, symbol])];
    for (const [alias, symbol] of named) {
      for (const path of undocumentedIn(symbol, `${title}: ${alias}`)) undocumented.add(path);
    }
    const block = (name, symbol) => {
      const lines = declarationsOf(symbol).map((one) =>
        ts.isSourceFile(one) ? `namespace ${relative(folder, one.fileName)}` : print(one),
      );
      const renamed = name === symbol.name || symbol.name.startsWith('"') ? [] : [`// as ${name}`];
      return [...renamed, ...lines].join("\n");
    };
    const sorted = others.map((symbol) => block(symbol.name, symbol)).sort();
    texts.set(
      `${title.replaceAll("/", "-")}.md`,
      [
        `# ${title}`,
        "",
        "The public interface, written by `npm run api`. Not for editing.",
        "",
        "```ts",
        [...exported].map(([alias, symbol]) => block(alias, symbol)).join("\n\n"),
        "```",
        ...(sorted.length > 0
          ? [
              "",
              "Named above, and not exported from here:",
              "",
              "```ts",
              sorted.join("\n\n"),
              "```",
            ]
          : []),
        "",
      ].join("\n"),
    );
  }
  return { texts, undocumented: [...undocumented] };
}

/** The first line in which two texts differ, and its number. */
function firstDifference(expected, actual) {
  const [was, is] = [expected.split("\n"), actual.split("\n")];
  const line = is.findIndex((text, i) => text !== was[i]);
  const at = line === -1 ? is.length : line;
  return `line ${at + 1} says "${was[at] ?? ""}", the package "${is[at] ?? ""}"`;
}

/** Differences from the committed report: one line each. */
export function problemsOf({ texts, undocumented }, folder = reports) {
  const problems = undocumented.map((path) => `${path} has no comment`);
  const there = existsSync(folder) ? readdirSync(folder) : [];
  for (const [file, text] of texts) {
    const checkedIn = there.includes(file) ? readFileSync(join(folder, file), "utf8") : "";
    if (checkedIn === text) continue;
    problems.push(`${file}: ${firstDifference(checkedIn, text)}`);
  }
  for (const file of there.filter((file) => !texts.has(file)))
    problems.push(`${file} is left over`);
  return problems;
}

await runAsScript(import.meta.url, async (args) => {
  if (args.some((arg) => arg !== "--check")) throw new Failure("api takes --check or nothing");
  await setUp([]);
  await buildJs();
  const api = await readApi();
  if (!args.includes("--check")) {
    rmSync(reports, { recursive: true, force: true });
    mkdirSync(reports, { recursive: true });
    for (const [file, text] of api.texts) writeFileSync(join(reports, file), text);
  }
  const problems = problemsOf(api);
  for (const problem of problems) console.log(problem);
  if (problems.length > 0) {
    throw new Failure(
      `the public interface has changed or lacks comments (npm run api updates it)`,
    );
  }
});
