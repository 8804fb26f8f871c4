// Reads numbers from text: nested lists as JavaScript, Python and NumPy write them, or lines of a CSV file.

export type Values = { values: Float32Array; shape: number[] };

export const LIMIT = 1_000_000; // values

/** An error in a text, with its place: lines and columns count from 1. */
export class ParseError extends Error {
  constructor(problem: string, text: string, at: number) {
    const before = text.slice(0, at);
    const line = before.split("\n").length;
    const column = at - before.lastIndexOf("\n");
    super(`line ${line}, column ${column}: ${problem}`);
    this.name = "ParseError";
    Object.assign(this, { line, column, at });
  }
}

/**
 * Nested lists where the text has a bracket, else lines of numbers.
 * @throws {ParseError} with line and column
 */
export function parseNumbers(text: string): Values {
  if (text.trim() === "") throw new ParseError("there are no numbers", text, 0);
  return text.includes("[") ? new Lists(text).read() : parseLines(text);
}

/** A growing array of at most LIMIT values. */
class Numbers {
  text: string;
  #values = new Float32Array(1024);
  length = 0;

  constructor(text: string) {
    this.text = text;
  }

  add(token: string, at: number) {
    const value = numberOf(token);
    if (value === undefined) {
      throw new ParseError(`${quoted(token)} is not a number`, this.text, at);
    }
    if (!Number.isFinite(Math.fround(value))) {
      const problem = `${quoted(token)} is not a finite float32, and no scale fits it`;
      throw new ParseError(problem, this.text, at);
    }
    if (this.length === LIMIT) {
      throw new ParseError("there are more than a million values", this.text, at);
    }
    if (this.length === this.#values.length) {
      const more = new Float32Array(Math.min(LIMIT, 2 * this.length));
      more.set(this.#values);
      this.#values = more;
    }
    this.#values[this.length++] = value;
  }

  get values() {
    return this.#values.slice(0, this.length);
  }
}

/** Digits with _ between them, as in Python and JavaScript, without a suffix. */
const DECIMAL = /^[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)?$/;
const WORDS = /^[-+]?(nan|inf|infinity)$/i;

function numberOf(token: string) {
  // Most numbers need no regular expression. A letter in second place, other than E, belongs to 0x, 0b, 0o or a word.
  const second = token.charCodeAt(1);
  const isWord = second > 64 && second !== 69 && second !== 101;
  const value = isWord || token === "" ? Number.NaN : Number(token);
  if (Math.abs(value) < Number.POSITIVE_INFINITY) return value;
  if (DECIMAL.test(token)) return Number(token.replaceAll("_", ""));
  // U+2212, the minus sign in the tables of this page and in other documents.
  if (token.includes("−")) return numberOf(token.replaceAll("−", "-"));
  return WORDS.test(token) ? Number.NaN : undefined;
}

const quoted = (text: string) => JSON.stringify(text.length > 24 ? `${text.slice(0, 24)}…` : text);

/** Whether a character separates numbers, within a line or list. */
const isSpace = (c: number) =>
  c === 32 || c === 44 || (c >= 9 && c <= 13) || c === 59 || c === 160 || c === 0xfeff;

/** A parser of one nested list, with anything like `torch.tensor(` before it. */
class Lists {
  text: string;
  #at = 0;
  /** The length of the lists at each depth. */
  #shape: number[] = [];
  #numbers;

  constructor(text: string) {
    this.text = text;
    this.#numbers = new Numbers(text);
  }

  read(): Values {
    this.#at = this.text.indexOf("[");
    this.#readList(0);
    this.#readRest();
    if (this.#numbers.length === 0) this.#fail("the list has no numbers", 0);
    return { values: this.#numbers.values, shape: this.#shape };
  }

  #fail(problem: string, at: number): never {
    throw new ParseError(problem, this.text, at);
  }

  #skip() {
    for (; this.#at < this.text.length; this.#at++) {
      const c = this.text.charCodeAt(this.#at);
      if (c === 35 || (c === 47 && this.text[this.#at + 1] === "/")) {
        const end = this.text.indexOf("\n", this.#at);
        this.#at = end < 0 ? this.text.length : end;
      } else if (!isSpace(c)) return;
    }
  }

  #readList(depth: number) {
    const { text } = this;
    const start = this.#at++;
    let length = 0;
    let hasLists = false;
    let hasNumbers = false;
    for (this.#skip(); text[this.#at] !== "]"; this.#skip()) {
      if (this.#at >= text.length) this.#fail("this list has no end", start);
      const at = this.#at;
      if (text[at] === "[") {
        hasLists = true;
        if (hasNumbers) this.#fail("a list beside numbers", at);
        this.#readList(depth + 1);
      } else {
        hasNumbers = true;
        if (hasLists) this.#fail("a number beside lists", at);
        this.#numbers.add(this.#token(), at);
      }
      length++;
    }
    this.#at++;
    if (hasNumbers && this.#shape.length > depth + 1) {
      this.#fail(`this list has numbers, the ones before it have lists`, start);
    }
    const known = this.#shape[depth];
    if (known !== undefined && known !== length) {
      this.#fail(
        `this list has ${count(length, "entry", "entries")}, the ones before it have ${known}`,
        start,
      );
    }
    this.#shape[depth] = length;
  }

  #token() {
    const start = this.#at;
    for (; this.#at < this.text.length; this.#at++) {
      const c = this.text.charCodeAt(this.#at);
      if (isSpace(c) || c === 91 || c === 93 || c === 35) break; // [ ] #
    }
    // Suffixes such as the n of BigInt and a comment right behind a number stay in the token, and fail.
    if (this.#at === start) this.#at++;
    return this.text.slice(start, this.#at);
  }

  /** Refuses a second list. Ignores all else, such as keywords of a call, its bracket and a semicolon. */
  #readRest() {
    const again = this.text.indexOf("[", this.#at);
    if (again >= 0 && !/^[^\n]*(dtype|shape|size)/.test(this.text.slice(this.#at, again))) {
      this.#fail("a second list: put lists into one", again);
    }
  }
}

const count = (length: number, one: string, several: string) =>
  `${length} ${length === 1 ? one : several}`;

/** Lines of numbers between commas, semicolons, tabs or spaces; a first line without any number is a heading. */
function parseLines(text: string): Values {
  const numbers = new Numbers(text);
  let columns = 0;
  let rows = 0;
  let start = 0;
  let isFirst = true;
  while (start < text.length) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    const tokens = tokensOf(text, start, end);
    const isHeading = isFirst && tokens.every(({ token }) => numberOf(token) === undefined);
    if (tokens.length > 0) isFirst = false;
    if (tokens.length > 0 && !isHeading && !tokens[0].token.startsWith("#")) {
      for (const { token, at } of tokens) numbers.add(token, at);
      if (rows > 0 && tokens.length !== columns) {
        const problem = `this line has ${count(tokens.length, "value", "values")}, the lines before it have ${columns}`;
        throw new ParseError(problem, text, tokens[0].at);
      }
      columns = tokens.length;
      rows++;
    }
    start = end + 1;
  }
  if (rows === 0) throw new ParseError("there are no numbers", text, 0);
  // A single line or column is a list.
  const shape = rows === 1 || columns === 1 ? [numbers.length] : [rows, columns];
  return { values: numbers.values, shape };
}

function tokensOf(text: string, start: number, end: number) {
  const tokens = [];
  const line = text.slice(start, end);
  const comma = line.indexOf(",");
  if (comma >= 0 && line.includes(";")) {
    const problem = "commas beside semicolons: decimals take a point";
    throw new ParseError(problem, text, start + comma);
  }
  for (let at = start; at < end; ) {
    if (isSpace(text.charCodeAt(at))) {
      if (text[at] === "," && isEmptyField(text, at, start)) {
        throw new ParseError("a value is missing", text, at);
      }
      at++;
      continue;
    }
    let stop = at;
    while (stop < end && !isSpace(text.charCodeAt(stop))) stop++;
    const isQuoted = text[at] === '"' && stop > at + 1 && text[stop - 1] === '"';
    const token = isQuoted ? text.slice(at + 1, stop - 1) : text.slice(at, stop);
    tokens.push({ token, at });
    at = stop;
  }
  return tokens;
}

/** Whether the field before a comma is empty. */
function isEmptyField(text: string, comma: number, start: number) {
  let at = comma - 1;
  while (at >= start && (text[at] === " " || text[at] === "\t")) at--;
  return at < start || text[at] === ",";
}
