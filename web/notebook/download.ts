// Downloads a notebook with the reader's changes: as an ES module, or for Jupyter with Deno's kernel.

import type { Cell } from "./cell/cell.js";
import { importsReplaced, usesDigits } from "./digits-code.js";
import { codeCell, jupyterNotebook, proseCell } from "./jupyter.js";
import type { Notebook } from "./notebook.js";

export async function download(notebook: Notebook, format: "mjs" | "ipynb") {
  const title = notebook.element.querySelector("h1")?.textContent ?? "";
  const needsDigits = notebook.cells.some(({ source }) => usesDigits(source));
  const library = format === "mjs" ? "zeropoint" : "npm:zeropoint";
  const digits = needsDigits
    ? await (await import("./digits-file.js")).digitsOf(library)
    : undefined;
  const text =
    format === "mjs"
      ? [importsReplaced(await notebook.toModule(title)), digits].filter(Boolean).join("\n")
      : JSON.stringify(toJupyter(notebook.element, notebook.cells, digits), null, 1);
  const type = format === "mjs" ? "text/javascript" : "application/x-ipynb+json";
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${notebook.element.id}.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  notebook.announce(`${link.download} was made.`);
}

const SETUP = [
  "// Names that every cell of the page has.",
  'import { float, init, int, print, round } from "npm:zeropoint/notebook";',
  "await init();",
  "const plotLines = ({ title, series }) => print(title, series);",
].join("\n");

/**
 * @param element  of the notebook
 * @param digits  the code of the digits, if the cells use them
 */
function toJupyter(element: HTMLElement, cells: Cell[], digits: string | undefined) {
  const parts: any[] = [codeCell("setup", SETUP)];
  if (digits !== undefined) parts.push(codeCell("digits", digits));
  let prose: string[] = [];
  const endProse = () => {
    if (prose.length > 0) parts.push(proseCell(`prose-${parts.length}`, prose.join("\n\n")));
    prose = [];
  };
  for (const child of element.children) {
    const cell = cells.find((each) => each.element === child);
    if (cell) {
      endProse();
      parts.push(codeCell(child.getAttribute("data-cell") ?? "", forDeno(cell.source)));
    } else if (child.matches("h1, h2, h3, h4, p:not(.kicker), ul, ol, .note")) {
      prose.push(markdownOf(child));
    }
  }
  endProse();
  const kernel = { name: "deno", display_name: "Deno", language: "typescript" };
  return jupyterNotebook(parts, kernel);
}

const forDeno = (source: string) =>
  importsReplaced(source).replace(/(from\s*["'])(zeropoint[/"'])/g, "$1npm:$2");

/** Prose as Markdown: the elements that notebooks have. */
function markdownOf(node: Node): string {
  if (node.nodeType === Node.TEXT_NODE) return (node.textContent ?? "").replace(/\s+/g, " ");
  if (!(node instanceof Element)) return "";
  const inner = () => Array.from(node.childNodes, markdownOf).join("");
  switch (node.localName) {
    case "h1":
    case "h2":
    case "h3":
    case "h4":
      return `${"#".repeat(Number(node.localName[1]))} ${inner()}`;
    case "code":
      return `\`${node.textContent}\``;
    case "strong":
      return `**${inner()}**`;
    case "em":
      return `*${inner()}*`;
    case "a":
      return `[${inner()}](${new URL(node.getAttribute("href") ?? "", document.baseURI)})`;
    case "ul":
    case "ol":
      return Array.from(node.children, (item, i) => {
        const mark = node.localName === "ol" ? `${i + 1}.` : "-";
        return `${mark} ${markdownOf(item).trim()}`;
      }).join("\n");
    case "div":
      return inner().trim().replace(/^/gm, "> ");
    default:
      return inner();
  }
}
