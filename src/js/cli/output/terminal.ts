// The terminal: its width and its styles.

/** A stream that may be a terminal. */
export type Output = NodeJS.WriteStream;

/** Columns of a terminal; undefined for a pipe or a file, whose lines have any length. */
export const widthOf = (stream: Output): number | undefined =>
  stream.isTTY ? Math.max(20, stream.columns || 80) : undefined;

/** Whether lines may have styles: on a terminal that knows them, unless NO_COLOR is set. */
const hasStyles = (stream: Output): boolean =>
  stream.isTTY && !process.env.NO_COLOR && process.env.TERM !== "dumb";

/** Styles of a text, or nothing. */
export interface Styles {
  bold(text: string): string;
  dim(text: string): string;
}

/** The styles of a stream. */
export function stylesOf(stream: Output): Styles {
  const style = (on: number, off: number) => (text: string) =>
    hasStyles(stream) && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  return { bold: style(1, 22), dim: style(2, 22) };
}

/** Characters that control a terminal or the direction of text: C0, DEL, C1, line separators, marks, overrides and isolates. */
const CONTROL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are replaced
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** A text from a file, without characters that control a terminal. */
export const printable = (text: string): string => text.replaceAll(CONTROL, "\ufffd");

/** A text of several lines, each of them printable. */
export const printableLines = (text: string): string => text.split("\n").map(printable).join("\n");

/** JSON whose strings have these characters as escapes; line feeds between values stay. */
export const escapedJson = (json: string): string =>
  json.replaceAll(CONTROL, (each) =>
    each === "\n" ? each : `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/**
 * Breaks a text at spaces into lines of a width, all as far to the right as the text itself.
 * @param indent  columns before every line but the first
 * @param first  columns before the first line
 */
export function wrap(text: string, width: number, indent: number, first = indent): string {
  const [own] = /^ */.exec(text) as RegExpExecArray;
  const under = indent + own.length;
  const lines: string[] = [];
  let line = "";
  let used = first + own.length;
  for (const word of text.slice(own.length).split(" ")) {
    if (line !== "" && used + 1 + word.length > width) {
      lines.push(line);
      line = word;
      used = under + word.length;
    } else {
      used += line === "" ? word.length : 1 + word.length;
      line += line === "" ? word : ` ${word}`;
    }
  }
  lines.push(line);
  return own + lines.join(`\n${" ".repeat(under)}`);
}

/** Names without their common beginning and end, cut at dots and slashes. */
export function distinct(names: readonly string[]): string[] {
  const [first, ...rest] = names;
  if (rest.length === 0) return [...names];
  let [start, end] = [first.length, first.length];
  for (const name of rest) {
    let i = 0;
    while (i < start && name[i] === first[i]) i++;
    start = i;
    i = 0;
    while (i < end && name[name.length - 1 - i] === first[first.length - 1 - i]) i++;
    end = i;
  }
  start = Math.max(0, ...[".", "/"].map((mark) => first.lastIndexOf(mark, start - 1) + 1));
  const tail = first.slice(first.length - end);
  const at = Math.min(...[".", "/"].map((mark) => tail.indexOf(mark)).filter((i) => i >= 0));
  end = Number.isFinite(at) ? end - at : 0;
  return names.map((name) => {
    const middle = name.slice(start, name.length - end);
    return middle === "" ? name : `${start > 0 ? "…" : ""}${middle}${end > 0 ? "…" : ""}`;
  });
}

/** A text of at most this many characters: the middle is left out, because names differ at their ends. */
export function shorten(text: string, width: number): string {
  if (text.length <= width) return text;
  if (width <= 1) return "…".slice(0, width);
  const end = Math.ceil((width - 1) / 2);
  return `${text.slice(0, width - 1 - end)}…${text.slice(text.length - end)}`;
}
