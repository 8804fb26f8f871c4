// What the tests use of src/js/cli beyond the public exports: commands, tables, progress, files.

export { COMMANDS } from "../../dist/cli/commands.js";
export { describe as describeError, EXIT } from "../../dist/cli/failures.js";
export { Journal } from "../../dist/cli/jobs/journal.js";
export { hasFields, parseJson } from "../../dist/cli/jobs/json.js";
export { filesOf, splitFiles } from "../../dist/cli/jobs/split-files.js";
export { COMMAND_NAMES } from "../../dist/cli/names.js";
export * as files from "../../dist/cli/output/files.js";
export { isPartialOf, leftBytes, partialPath, writeError } from "../../dist/cli/output/partial.js";
export { Progress } from "../../dist/cli/output/progress.js";
export { jsonText } from "../../dist/cli/output/report.js";
export { tableText } from "../../dist/cli/output/table.js";
export { distinct, printable, shorten, wrap } from "../../dist/cli/output/terminal.js";
export * as units from "../../dist/cli/units.js";

/** The module of a command. */
export const importCommand = (name) => import(`../../dist/cli/commands/${name}.js`);
export { writeFile } from "../../dist/cli/output/files.js";
