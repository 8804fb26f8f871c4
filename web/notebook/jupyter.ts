// Files for Jupyter: a notebook of code and prose.

const linesOf = (text: string) => text.split(/(?<=\n)/);

export const codeCell = (id: string, source: string) => ({
  cell_type: "code",
  id,
  metadata: {},
  execution_count: null,
  outputs: [] as object[],
  source: linesOf(source),
});

/** @param text  Markdown */
export const proseCell = (id: string, text: string) => ({
  cell_type: "markdown",
  id,
  metadata: {},
  source: linesOf(text),
});

/** What a cell printed. */
export const printed = (text: string) => ({
  output_type: "stream",
  name: "stdout",
  text: linesOf(`${text}\n`),
});

export const jupyterNotebook = (
  cells: object[],
  kernelspec: { name: string; display_name: string; language: string },
) => ({
  cells,
  metadata: { kernelspec, language_info: { name: kernelspec.language } },
  nbformat: 4,
  nbformat_minor: 5,
});
