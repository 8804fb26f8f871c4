// The Python side of a notebook as a file for Jupyter, with the outputs that PyTorch printed.

import { codeCell, jupyterNotebook, printed, proseCell } from "../../notebook/jupyter.js";
import { pythonOf } from "./to-python.mjs";

/** Outputs that the cell above them prints in PyTorch, to the last digit. */
const PRINTED = ["stored", "torch"];

/** A fenced block of a notebook: what it is, and its text. */
const BLOCK = /^```(\S.*)\n([\s\S]*?)\n```$/gm;

const PLOT = `import matplotlib.pyplot as plt

def plot_quantization_errors(original_tensor, quantized_tensor, dequantized_tensor, dtype=torch.int8, n_bits=8):
    errors = dequantized_tensor - original_tensor
    shown = {
        "Original Tensor": original_tensor,
        f"{n_bits}-bit Linear Quantized Tensor": quantized_tensor,
        "Dequantized Tensor": dequantized_tensor,
        "Quantization Error": errors,
    }
    figure, axes = plt.subplots(1, len(shown), figsize=(4 * len(shown), 4))
    for ax, (title, tensor) in zip(axes, shown.items()):
        ax.set_title(title)
        ax.set_axis_off()
        ax.imshow(tensor.tolist())
        for row, values in enumerate(tensor.tolist()):
            for column, value in enumerate(values):
                ax.text(column, row, f"{value:.6g}", ha="center", va="center", color="white")
    plt.show()`;

const ABOUT =
  "*The steps of a notebook of zeropoint, in PyTorch. The page has them in JavaScript, with illustrations and exercises.*";

/**
 * Functions by name, in Python: those of the course's own module, and those that notebooks define.
 * @returns {Map<string, string>}
 */
export const courseFunctions = () => new Map([["plot_quantization_errors", PLOT]]);

/**
 * @param {string} text  the notebook as Markdown
 * @param {Map<string, string>} functions  those of earlier notebooks, to which this one's are added
 * @returns {string | undefined} undefined if most of its steps have no counterpart
 */
export function pythonNotebook(text, functions) {
  /** @type {any[]} */
  const cells = [];
  /** @type {Set<string>} */
  const called = new Set();
  /** @type {Set<string>} */
  const defined = new Set();
  let all = 0;
  let translated = 0;
  let isOpen = false; // whether an output may follow the last cell
  let end = 0;
  const [course] = text.split(/^## Exercises$/m);
  for (const { 0: block, 1: info, 2: content, index } of text.matchAll(BLOCK)) {
    const [kind, name = "", ...tags] = info.split(/\s+/);
    const isCode = kind === "js" || kind === "solution";
    const python = isCode ? pythonOf(content) : undefined;
    const isWhole = !name.startsWith("exercise-") && !tags.includes("skeleton");
    const own = python && isWhole ? definedIn(python) : [];
    // The solution of an exercise takes the place of a function that has no counterpart.
    for (const each of own) if (!functions.has(each)) functions.set(each, python ?? "");
    if (index >= course.length) continue;
    addProse(cells, text.slice(end, index));
    end = index + block.length;
    if (kind === "js") {
      all++;
      isOpen = python !== undefined;
      if (python !== undefined) {
        translated++;
        for (const each of own) defined.add(each);
        for (const each of calledIn(python)) called.add(each);
        cells.push(codeCell(name, python));
      } else {
        const note = "This step has no counterpart in PyTorch. In JavaScript:";
        cells.push(proseCell(name, `${note}\n\n\`\`\`js\n${content}\n\`\`\``));
      }
    } else if (kind === "output" && isOpen && PRINTED.includes(name)) {
      cells.at(-1).outputs.push(printed(content));
    } else if (kind === "output" && isOpen && name === "rounded") {
      // The original's numbers had more digits than this cell's.
      const text = `The original printed:\n\n\`\`\`text\n${content}\n\`\`\``;
      cells.push(proseCell(`${cells.at(-1).id}-original`, text));
    }
  }
  addProse(cells, course.slice(end));
  if (2 * translated <= all) return undefined;
  cells.splice(1, 0, proseCell("about", ABOUT));
  const setup = definitions(
    [...called].filter((name) => !defined.has(name)),
    functions,
  );
  if (setup.length > 0) {
    const code = ["import torch", "# Functions that the page has from elsewhere.", ...setup].join(
      "\n\n",
    );
    cells.splice(2, 0, codeCell("functions", code));
  }
  const kernel = { name: "python3", display_name: "Python 3", language: "python" };
  const notebook = jupyterNotebook(cells, kernel);
  return `${JSON.stringify(notebook, null, 1)}\n`;
}

/** @param {string} code  Python */
const definedIn = (code) => Array.from(code.matchAll(/^def (\w+)\(/gm), ([, name]) => name);

/** @param {string} code  Python */
const calledIn = (code) => Array.from(code.matchAll(/(?<![\w.])(\w+)\(/g), ([, name]) => name);

/**
 * The functions of these names, and those that they call.
 * @param {string[]} names
 * @param {Map<string, string>} functions
 */
function definitions(names, functions) {
  /** @type {Set<string>} */
  const found = new Set();
  /** @param {string} name */
  const add = (name) => {
    const code = functions.get(name);
    if (code === undefined || found.has(code)) return;
    // A function may call one that is defined below it: Python looks names up when it runs.
    found.add(code);
    for (const called of calledIn(code)) add(called);
  };
  for (const name of names) add(name);
  return [...found];
}

/**
 * @param {any[]} cells
 * @param {string} text  Markdown
 */
function addProse(cells, text) {
  // Links to places of the page lead nowhere else.
  const prose = text.replace(/\[([^\]]+)\]\(#[^)]*\)/g, "$1").trim();
  if (prose !== "") cells.push(proseCell(`prose-${cells.length}`, prose));
}
