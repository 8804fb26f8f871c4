// The text of --help.

import { COMMANDS, COMMON_OPTIONS, type CommandOption } from "./commands.js";
import { COMMAND_NAMES, type CommandName } from "./names.js";
import { wrap as wrapAt } from "./output/terminal.js";

/** Width of the text in columns: the terminal's, at most 100. */
const WIDTH = Math.min(100, Math.max(40, (process.stdout.columns ?? 80) - 1));

const wrap = (text: string, indent: number, first = indent): string =>
  wrapAt(text, WIDTH, indent, first);

/** Entries in two columns. */
function list(entries: readonly (readonly [left: string, right: string])[]): string {
  const most = Math.min(26, Math.max(...entries.map(([left]) => left.length)));
  const indent = WIDTH < 60 ? 6 : most + 4;
  return entries
    .map(([left, right]) => {
      const gap =
        left.length + 4 > indent ? `\n${" ".repeat(indent)}` : " ".repeat(indent - 2 - left.length);
      return `  ${left}${gap}${wrap(right, indent)}\n`;
    })
    .join("");
}

const optionEntry = ({ name, short, value, text }: CommandOption): readonly [string, string] => {
  const names = short === undefined ? `--${name}` : `-${short}, --${name}`;
  return [value === undefined ? names : `${names} ${value}`, text];
};

/** The help of a command, or of the program. */
export function helpText(name?: CommandName): string {
  return name === undefined ? programHelp() : commandHelp(name);
}

function programHelp(): string {
  const commands = COMMAND_NAMES.map((name) => [name, COMMANDS[name].summary] as const);
  return `zeropoint: see what quantization costs a model, choose, and write it

usage: zeropoint COMMAND …

${list(commands)}
${wrap("zeropoint COMMAND --help says what a command takes, with examples; zeropoint --version prints the version.", 0)}

${wrap("Results go to standard output, progress and remarks to standard error. NO_COLOR=1 turns styles off.", 0)}

exit codes
${list([
  ["0", "done"],
  ["1", "compare, verify, finish, --verify: not what it should be"],
  ["2", "wrong arguments"],
  ["3", "a file cannot be read, or is damaged"],
  ["4", "a file cannot be written, exists already, or has no room"],
  ["5", "verify: equal, but for ties of rounding"],
  ["70", "a bug of this program"],
  ["130, 143", "interrupted: no unfinished file is left under its final name"],
])}`;
}

function commandHelp(name: CommandName): string {
  const { summary, operands, options, notes, examples } = COMMANDS[name];
  const entries = [...options, ...COMMON_OPTIONS].map(optionEntry);
  const usage = ["usage: zeropoint", name, ...operands, "[options]"].join(" ");
  const paragraphs = notes.map((note) => `${wrap(note, 0)}\n\n`).join("");
  const shown = examples.map(({ command, text }) => `  # ${wrap(text, 4)}\n  ${command}\n`);
  return `zeropoint ${name}: ${wrap(summary, 0, name.length + 12)}

${usage}

${list(entries)}
${paragraphs}examples
${shown.join("\n")}`;
}
