// Files for Jupyter: a notebook of code and prose.

/** @param {string} text */
const linesOf = (text) => text.split(/(?<=\n)/);

/**
 * @param {string} id
 * @param {string} source
 */
export const codeCell = (id, source) => ({
  cell_type: "code",
  id,
  metadata: {},
  execution_count: null,
  outputs: /** @type {object[]} */ ([]),
  source: linesOf(source),
});

/**
 * @param {string} id
 * @param {string} text  Markdown
 */
export const proseCell = (id, text) => ({
  cell_type: "markdown",
  id,
  metadata: {},
  source: linesOf(text),
});

/**
 * What a cell printed.
 * @param {string} text
 */
export const printed = (text) => ({
  output_type: "stream",
  name: "stdout",
  text: linesOf(`${text}\n`),
});

/**
 * @param {object[]} cells
 * @param {{ name: string, display_name: string, language: string }} kernelspec
 */
export const jupyterNotebook = (cells, kernelspec) => ({
  cells,
  metadata: { kernelspec, language_info: { name: kernelspec.language } },
  nbformat: 4,
  nbformat_minor: 5,
});
