// The names of the commands.

/** The commands, in the order of a walk. */
export const COMMAND_NAMES = [
  "inspect",
  "analyze",
  "plan",
  "quantize",
  "compare",
  "verify",
  "finish",
] as const;

/** The name of a command. */
export type CommandName = (typeof COMMAND_NAMES)[number];

/** Whether a text is the name of a command. */
export const isCommand = (text: string | undefined): text is CommandName =>
  (COMMAND_NAMES as readonly (string | undefined)[]).includes(text);
