// Makes the pages of the API reference with TypeDoc, from the comments in src/js, and those of docs.

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  Application,
  Converter,
  PageEvent,
  ReflectionKind,
  RendererEvent,
  TSConfigReader,
} from "typedoc";

/** @param {string} path */
const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The entries of the package, and the files that export them. */
const ENTRIES = {
  zeropoint: at("../../src/js/index.ts"),
  "zeropoint/torch": at("../../src/js/torch.ts"),
  "zeropoint/models": at("../../src/js/models/index.ts"),
  "zeropoint/search": at("../../src/js/search.ts"),
  "zeropoint/notebook": at("../../src/js/notebook/index.ts"),
  "zeropoint/worker": at("../../src/js/worker/index.ts"),
  "zeropoint/slim": at("../../src/js/slim.ts"),
};

/** The documents for users, in the order of README's table. Its other ones are about changing the package. */
const DOCUMENTS = [
  ...["quantize", "layers", "torch", "files", "formats", "choosing", "command-line", "search"],
  ...["running", "numerics", "sizes", "speed"],
];

/** A link of Markdown to a file of the repository: its text, path and anchor. */
const FILE_LINK = /\[([^\]]+)\]\((?!https?:)([\w./-]+)(#[\w-]+)?\)/g;

/** Pages of the site for files that documents name. */
const PAGES = {
  "../tests/bench/RESULTS.md": "measure",
  "../web/pages/digit-planes.md": "digit-planes",
  "../web/pages/many-machines.md": "many-machines",
  "../web/pages/measure.md": "measure",
};

/**
 * A document for TypeDoc: its title as front matter; links to files that are a page of the site lead there, and
 * those to other files of the repository are their text.
 * @param {string} name
 * @param {string} text
 */
export function documentPage(name, text) {
  const [, title] = /^# (.+)\n/.exec(text) ?? [];
  if (!title) throw new Error(`docs/${name}.md does not begin with a title`);
  const linked = text.replace(FILE_LINK, (link, label, path) => {
    if (DOCUMENTS.includes(path.replace(/\.md$/, ""))) return link;
    // Names of files would become links to domains.
    const shown = /^[\w.-]+\.\w+$/.test(label) ? `<code>${label}</code>` : label;
    const page = PAGES[/** @type {keyof typeof PAGES} */ (path)];
    return page ? `<a href="../../index.html#${page}">${shown}</a>` : shown;
  });
  return `---\ntitle: "${title}"\n---\n\n${linked}`;
}

/** Writes the documents for TypeDoc. @param {string} folder @returns their paths */
function writeDocuments(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return DOCUMENTS.map((name) => {
    const path = join(folder, `${name}.md`);
    writeFileSync(path, documentPage(name, readFileSync(at(`../../docs/${name}.md`), "utf8")));
    return path;
  });
}

/** The policy of the other pages; nothing here starts a core. */
const POLICY = `<meta http-equiv="Content-Security-Policy" content="default-src 'self'"/>`;

/** The one script that TypeDoc writes into its pages; theme.js does its work. */
const INLINE_SCRIPT = /<script>document\.documentElement\.dataset\.theme = [^<]*<\/script>/;

/** TypeDoc's text about a page, between the contents and the settings. */
const MAIN_PART = /<div( class="col-content">.*)<\/div>\n?(<div class="col-sidebar">)/s;

/** Where the description of a signature begins. */
const SIGNATURE = /(?=<div class="tsd-signature)/;

/** An option without a type, which TypeDoc writes once for each part of an intersection of types. */
const OPTION =
  /<li class="tsd-parameter">\s*<h5><span>[^<]*<\/span><\/h5>\s*<div class="tsd-comment tsd-typography">(?:(?!<\/div>).)*<\/div>\s*<\/li>/gs;

/** Titles that open and close their sections have a link inside, and no screen reader can reach it. */
const LINK_IN_SUMMARY =
  /(<summary\b(?:(?!<\/summary>).)*?)<a href="#[^"]*" aria-label="Permalink".*?<\/a>/gs;

/** Titles of the start page: as written by TypeDoc, and its replacement. */
const [START_TITLE, API_TITLE] = ["zeropoint", "API reference · zeropoint"].map(
  (title) => `<title>${title}</title>`,
);

/** Landmark roles for the parts around the page's text, for screen readers. */
const LANDMARKS = [
  [
    '<div class="page-menu">',
    '<div class="page-menu" role="complementary" aria-label="This page">',
  ],
  ['<nav id="tsd-sidebar-links"', '$& aria-label="Links"'],
];

/** The element that TypeDoc writes rules into, which the policy forbids, and a sheet that it allows. */
const STYLE_ELEMENT = 'document.head.appendChild(document.createElement("style"))';
const STYLE_SHEET = `(() => {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  let text = "";
  return {
    dataset: {},
    get innerHTML() { return text; },
    set innerHTML(rules) { text = rules; sheet.replaceSync(rules); },
  };
})()`;

/**
 * A branch of the tree of pages, which has its link inside of what opens and closes it, where no screen
 * reader can reach it, and the same with the link before it.
 */
const LINK_IN_BRANCH = "De(t,o);let a=";
const LINK_BEFORE_BRANCH = `t.path
  ? (De(t, r), r.prepend(r.lastChild), r.className = "branch", o.ariaLabel = t.text)
  : De(t, o);
let a=`;

/** The names of the other pages' colours in tokens.css, and TypeDoc's colours of the same. */
const CODE_COLORS = {
  ink: ["#000000", "#D4D4D4", "#808080", "#001080", "#9CDCFE", "#267F99", "#4EC9B0"],
  well: ["#FFFFFF", "#1E1E1E"],
  "token-keyword": ["#AF00DB", "#C586C0", "#0000FF", "#569CD6", "#800000"],
  "token-string": ["#A31515", "#CE9178", "#EE0000", "#D7BA7D", "#811F3F", "#D16969"],
  "token-number": ["#098658", "#B5CEA8"],
  "token-comment": ["#008000", "#6A9955"],
  "token-definition": ["#0070C1", "#4FC1FF", "#E50000"],
  "token-call": ["#795E26", "#DCDCAA"],
};

/**
 * The style sheet of the code colours, with the colours of the other pages.
 * @param {string} sheet
 */
function withOwnColors(sheet) {
  const style = readFileSync(at("../styles/tokens.css"), "utf8");
  const names = Object.entries(CODE_COLORS);
  return sheet.replace(/(--(light|dark)-[\w-]+: )(#\w+)/g, (_, property, theme, color) => {
    // Some tokens have their colour with an alpha value, which is 1.
    const opaque = color.length === 9 ? color.replace(/FF$/i, "") : color;
    const [name] = names.find(([, colors]) => colors.includes(opaque)) ?? [];
    const [, light, dark] =
      new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(style) ?? [];
    if (!light) throw new Error(`TypeDoc's highlight.css has a colour that is not known: ${color}`);
    return property + (theme === "light" ? light : dark);
  });
}

/**
 * Replaces what must be there: another version of TypeDoc may have it otherwise.
 * @param {string} name
 * @param {string} text
 * @param {string | RegExp} what
 * @param {string} by
 */
function replaced(name, text, what, by) {
  const result = text.replace(what, () => by);
  if (result === text) throw new Error(`TypeDoc's ${name} has not what is to be replaced: ${what}`);
  return result;
}

/**
 * Tells the level of each heading below the one that it belongs to: TypeDoc leaves levels out.
 * @param {string} html
 */
function withLevels(html) {
  /** @type {number[]} */
  const above = [];
  return html.replace(/<h([1-6])\b/g, (tag, digit) => {
    while (above.length > 0 && above[above.length - 1] >= Number(digit)) above.pop();
    above.push(Number(digit));
    return above.length === Number(digit) ? tag : `${tag} aria-level="${above.length}"`;
  });
}

/** Leaves out options that were described before. @param {string} signature  with its description */
function withoutRepetition(signature) {
  const seen = new Set();
  return signature.replace(OPTION, (option) => {
    if (seen.has(option)) return "";
    seen.add(option);
    return option;
  });
}

/** @param {string} folder  where the pages go */
export async function buildApi(folder) {
  const application = await Application.bootstrap(
    {
      name: "zeropoint",
      entryPoints: Object.values(ENTRIES),
      tsconfig: at("../../tsconfig.json"),
      readme: at("../api/index.md"),
      projectDocuments: writeDocuments(`${folder}-documents`),
      excludeInternal: true,
      excludePrivate: true,
      excludeProtected: true,
      disableSources: true,
      githubPages: false,
      hideGenerator: true,
      navigationLinks: { Notebooks: "../index.html" },
      // zeropoint/notebook is an entry point separate from zeropoint.
      navigation: { includeFolders: false },
      customCss: at("../api/style.css"),
      favicon: at("../public/icon.svg"),
      // A symbol that occurs only in a signature needs no page, and parameters of functions that take their
      // arguments in several forms are described once.
      validation: { notExported: false, invalidLink: true, notDocumented: false },
      logLevel: "None",
    },
    [new TSConfigReader()],
  );
  // Modules are called as they are imported.
  application.converter.on(Converter.EVENT_CREATE_DECLARATION, (_, reflection) => {
    if (!reflection.kindOf(ReflectionKind.Module)) return;
    const entry = `zeropoint/${reflection.name}`;
    if (reflection.name === "index") reflection.name = "zeropoint";
    else if (entry in ENTRIES) reflection.name = entry;
  });
  application.renderer.on(PageEvent.END, (page) => {
    if (!page.contents || !page.url.endsWith(".html")) return;
    const assets = `${"../".repeat(page.url.split("/").length - 1)}assets/`;
    const script = `<script src="${assets}theme.js"></script>`;
    const head = `<head><meta charset="utf-8"/>${POLICY}${script}`;
    const bare = replaced(page.url, page.contents, INLINE_SCRIPT, "");
    const started = replaced(page.url, bare, '<head><meta charset="utf-8"/>', head);
    const [, inner, rest] = MAIN_PART.exec(started) ?? [];
    const inMain = replaced(page.url, started, MAIN_PART, `<main${inner}</main>${rest}`);
    const marked = LANDMARKS.reduce((text, [what, by]) => text.replace(what, by), inMain);
    const once = marked.split(SIGNATURE).map(withoutRepetition).join("");
    page.contents = withLevels(once.replace(LINK_IN_SUMMARY, "$1"));
    if (page.url !== "index.html") return;
    page.contents = replaced(page.url, page.contents, START_TITLE, API_TITLE);
  });
  application.renderer.on(RendererEvent.END, ({ outputDirectory }) => {
    const assets = join(outputDirectory, "assets");
    copyFileSync(at("../api/theme.js"), join(assets, "theme.js"));
    const colors = join(assets, "highlight.css");
    writeFileSync(colors, withOwnColors(readFileSync(colors, "utf8")));
    const main = readFileSync(join(assets, "main.js"), "utf8");
    const styled = replaced("main.js", main, STYLE_ELEMENT, STYLE_SHEET);
    writeFileSync(
      join(assets, "main.js"),
      replaced("main.js", styled, LINK_IN_BRANCH, LINK_BEFORE_BRANCH),
    );
  });

  const project = await application.convert();
  if (!project) throw new Error("TypeDoc could not read the sources");
  application.validate(project);
  await application.generateDocs(project, folder);
  if (application.logger.hasErrors()) throw new Error("TypeDoc met errors");
}
