// Pull parser for untrusted JSON: strict and iterative, with byte offsets in its errors.

import { Budget } from "./budget.js";
import { decodeText, fileError } from "./source.js";

/** Deepest nesting of values, as in serde_json. */
const MAX_DEPTH = 127;

const ESCAPES: { readonly [letter: string]: string } = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** Numbers of Python's json module that JSON does not have. JavaScript's Number reads each of these texts. */
const SPECIALS = ["NaN", "Infinity", "-Infinity"];

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/** The value of a hexadecimal digit; -1 for other bytes. */
function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** Writes a code point as UTF-8. @returns the position behind it */
function putCodePoint(out: Uint8Array, at: number, code: number): number {
  if (code < 0x80) {
    out[at] = code;
    return at + 1;
  }
  const more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  out[at] = ((0xf80 >> more) & 0xff) | (code >> (6 * more));
  for (let i = 1; i <= more; i++) out[at + i] = 0x80 | ((code >> (6 * (more - i))) & 0x3f);
  return at + more + 1;
}

/** Reads JSON text value by value, in the order of the text. Every method skips white space first. */
export class JsonReader {
  #at = 0;

  /**
   * @param where  the function named in errors
   * @param bytes  UTF-8
   * @param start  offset of the text in its file
   * @param isPython  whether NaN, Infinity and -Infinity are numbers, as Python's json module writes and reads them
   */
  constructor(
    readonly where: string,
    readonly bytes: Uint8Array,
    readonly start = 0,
    readonly isPython = false,
  ) {}

  /** Offset, in the file, of the next token. */
  get offset(): number {
    this.#skipSpace();
    return this.start + this.#at;
  }

  /** An error at the next token. */
  fail(expected: string, at = this.#at): Error {
    const rest = this.bytes.subarray(at, at + 24);
    const text = decodeText(rest) ?? String.fromCharCode(...rest);
    const found = rest.length === 0 ? "the end of the text" : JSON.stringify(text);
    return fileError(this.where, this.start + at, expected, found);
  }

  #skipSpace(): number {
    for (;;) {
      const byte = this.bytes[this.#at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.#at++;
    }
  }

  /** The character that the next value begins with. */
  peek(): string {
    const byte = this.#skipSpace();
    return byte === undefined ? "" : String.fromCharCode(byte);
  }

  #accept(character: string): boolean {
    if (this.peek() !== character) return false;
    this.#at++;
    return true;
  }

  #expect(character: string): void {
    if (!this.#accept(character)) throw this.fail(`"${character}"`);
  }

  /** An object. @param member  reads the value of each member */
  object(member: (key: string, offset: number) => void): void {
    this.#expect("{");
    if (this.#accept("}")) return;
    do {
      const { offset } = this;
      const key = this.string();
      this.#expect(":");
      member(key, offset);
    } while (this.#accept(","));
    this.#expect("}");
  }

  /** An array. @param item  reads each item */
  array(item: () => void): void {
    this.#expect("[");
    if (this.#accept("]")) return;
    do item();
    while (this.#accept(","));
    this.#expect("]");
  }

  /** A string. */
  string(): string {
    if (this.peek() !== '"') throw this.fail("a string");
    const begin = ++this.#at;
    const end = this.#endOfRun(begin);
    const text = this.bytes[end] === QUOTE ? this.#run(begin, end) : this.#escapedText(begin);
    this.#at++;
    return text;
  }

  /** A text with escapes, which take no more bytes as UTF-8. */
  #escapedText(begin: number): string {
    let last = this.#endOfRun(begin);
    while (this.bytes[last] === BACKSLASH) last = this.#endOfRun(last + 2);
    const text = new Uint8Array(last - begin);
    let length = 0;
    for (let from = begin; ; ) {
      const end = this.#endOfRun(from);
      text.set(this.bytes.subarray(from, end), length);
      length += end - from;
      if (end === last) break;
      this.#at = end + 1;
      length = putCodePoint(text, length, this.#escape());
      from = this.#at;
    }
    this.#at = begin;
    const decoded = decodeText(text.subarray(0, length));
    if (decoded === undefined) throw this.fail("UTF-8");
    this.#at = last;
    return decoded;
  }

  /** The end of a run of characters that stand for themselves. */
  #endOfRun(begin: number): number {
    const { bytes } = this;
    let at = begin;
    while (at < bytes.length && bytes[at] !== QUOTE && bytes[at] !== BACKSLASH) {
      if (bytes[at] < 0x20) throw this.fail("no control character in a string", at);
      at++;
    }
    if (at >= bytes.length) throw this.fail('"\\"" at the end of a string', at);
    return at;
  }

  #run(begin: number, end: number): string {
    const { bytes } = this;
    this.#at = end;
    if (end - begin <= 64) {
      // Short texts are ASCII almost always, and a decoder costs more than its work on these.
      let text = "";
      let at = begin;
      while (at < end && bytes[at] < 0x80) text += String.fromCharCode(bytes[at++]);
      if (at === end) return text;
    }
    const text = decodeText(bytes.subarray(begin, end));
    if (text === undefined) throw this.fail("UTF-8", begin);
    return text;
  }

  /** The code point of an escape, behind its backslash. */
  #escape(): number {
    const at = this.#at - 1;
    const byte = this.bytes[this.#at++];
    if (byte !== LETTER_U) {
      const letter = String.fromCharCode(byte);
      if (!Object.hasOwn(ESCAPES, letter)) throw this.fail("an escape of JSON", at);
      return ESCAPES[letter].charCodeAt(0);
    }
    const unit = this.#hex();
    if (unit < 0xd800 || unit > 0xdfff) return unit;
    const isPair = this.bytes[this.#at] === BACKSLASH && this.bytes[this.#at + 1] === LETTER_U;
    this.#at += 2;
    const low = unit < 0xdc00 && isPair ? this.#hex() : 0;
    if (low < 0xdc00 || low > 0xdfff) throw this.fail("a pair of surrogates", at);
    return 0x10000 + (unit - 0xd800) * 0x400 + (low - 0xdc00);
  }

  #hex(): number {
    let value = 0;
    for (let i = 0; i < 4; i++) {
      const digit = digitOf(this.bytes[this.#at + i]);
      if (digit < 0) throw this.fail("four hexadecimal digits");
      value = value * 16 + digit;
    }
    this.#at += 4;
    return value;
  }

  #numberText(): string {
    this.#skipSpace();
    let end = this.#at;
    while (
      end < this.bytes.length &&
      "+-.eE0123456789".includes(String.fromCharCode(this.bytes[end]))
    ) {
      if (++end - this.#at > 400) break;
    }
    return String.fromCharCode(...this.bytes.subarray(this.#at, end));
  }

  /** A number. */
  number(): number {
    return Number(this.numberText());
  }

  /** The text of NaN or an infinity, where Python's are numbers. */
  #special(): string | undefined {
    if (!this.isPython) return undefined;
    this.#skipSpace();
    const begin = this.#at;
    return SPECIALS.find((text) =>
      [...text].every((letter, i) => this.bytes[begin + i] === letter.charCodeAt(0)),
    );
  }

  /** Whether the next value is a number. */
  get isNumber(): boolean {
    return /[-\d]/.test(this.peek()) || this.#special() !== undefined;
  }

  /** A number as it is written. */
  numberText(): string {
    const special = this.#special();
    if (special !== undefined) {
      this.#at += special.length;
      return special;
    }
    const text = this.#numberText();
    if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) throw this.fail("a number");
    this.#at += text.length;
    return text;
  }

  /** An integer >= 0 below 2^53, written as one. */
  count(): number {
    const { bytes } = this;
    this.#skipSpace();
    const begin = this.#at;
    let at = begin;
    let value = 0;
    for (; bytes[at] >= 0x30 && bytes[at] <= 0x39; at++) value = value * 10 + bytes[at] - 0x30;
    const next = bytes[at];
    const isInteger = at > begin && (bytes[begin] !== 0x30 || at === begin + 1);
    if (!isInteger || next === 0x2e || next === 0x65 || next === 0x45 || value >= 2 ** 53) {
      throw this.fail("an integer from 0 to 2^53 - 1");
    }
    this.#at = at;
    return value;
  }

  /** One of `true`, `false` and `null`. */
  literal(): boolean | null {
    for (const [text, value] of [
      ["true", true],
      ["false", false],
      ["null", null],
    ] as const) {
      if (this.peek() !== text.charAt(0)) continue;
      const found = String.fromCharCode(...this.bytes.subarray(this.#at, this.#at + text.length));
      if (found !== text) break;
      this.#at += text.length;
      return value;
    }
    throw this.fail("a JSON value");
  }

  /** Skips a value of any kind, which must be JSON all the same. */
  skip(): void {
    const closers: string[] = [];
    for (;;) {
      const first = this.peek();
      if (first === "{" || first === "[") {
        if (closers.length >= MAX_DEPTH) throw this.fail(`at most ${MAX_DEPTH} nested values`);
        this.#at++;
        const closer = first === "{" ? "}" : "]";
        if (!this.#accept(closer)) {
          closers.push(closer);
          if (closer === "}") this.#key();
          continue;
        }
      } else if (first === '"') this.string();
      else if (this.isNumber) this.number();
      else this.literal();
      // The value is complete: close what ends with it, or go on after a comma.
      let closer = closers.at(-1);
      while (closer !== undefined && this.#accept(closer)) {
        closers.pop();
        closer = closers.at(-1);
      }
      if (closer === undefined) return;
      this.#expect(",");
      if (closer === "}") this.#key();
    }
  }

  /** A value of any kind, as it is written. */
  text(): string {
    this.#skipSpace();
    const begin = this.#at;
    this.skip();
    const text = decodeText(this.bytes.subarray(begin, this.#at));
    if (text === undefined) throw this.fail("UTF-8", begin);
    return text;
  }

  #key(): void {
    this.string();
    this.#expect(":");
  }

  /** The end of the text, after white space. */
  end(): void {
    if (this.peek() !== "") throw this.fail("the end of the text");
  }
}

/**
 * The value of a JSON file, as Python's json module reads it: NaN and infinities are numbers.
 * @param where  the function, or the file, named in errors
 * @param budget  bounds the memory of the value
 * @throws {RangeError} `ZP_INVALID_FILE` for other text; `ZP_UNSUPPORTED_FILE` beyond the budget
 */
export function readJson(where: string, bytes: Uint8Array, budget = new Budget()): unknown {
  const json = new JsonReader(where, bytes, 0, true);
  const spend = (size: number): void => budget.spend(where, json.offset, size);
  const read = (depth: number): unknown => {
    if (depth > MAX_DEPTH) throw json.fail(`at most ${MAX_DEPTH} levels`);
    const start = json.peek();
    if (start === "{") {
      spend(200);
      // Without a prototype, so that no name has a meaning.
      const object = Object.create(null) as Record<string, unknown>;
      json.object((key) => {
        spend(60 + 2 * key.length);
        object[key] = read(depth + 1);
      });
      return object;
    }
    if (start === "[") {
      spend(100);
      const list: unknown[] = [];
      json.array(() => {
        spend(16);
        list.push(read(depth + 1));
      });
      return list;
    }
    if (start === '"') {
      const text = json.string();
      spend(32 + 2 * text.length);
      return text;
    }
    return json.isNumber ? json.number() : json.literal();
  };
  const value = read(0);
  json.end();
  return value;
}

/** JSON of plain objects, lists and primitives by their own fields: JSON.stringify calls `toJSON` of any prototype. */
export function writeJson(value: unknown, indent = 0): string {
  const write = (each: unknown, margin: string): string | undefined => {
    if (typeof each !== "object" || each === null) return JSON.stringify(each);
    const inner = margin + " ".repeat(indent);
    const isList = Array.isArray(each);
    const items = isList
      ? each.map((item) => write(item, inner) ?? "null")
      : Object.entries(each).flatMap(([name, field]) => {
          const text = write(field, inner);
          return text === undefined
            ? []
            : [`${JSON.stringify(name)}:${indent > 0 ? " " : ""}${text}`];
        });
    const isFlat = indent === 0 || items.length === 0;
    const text = isFlat ? items.join(",") : `\n${inner}${items.join(`,\n${inner}`)}\n${margin}`;
    return isList ? `[${text}]` : `{${text}}`;
  };
  return write(value, "") as string;
}

/** JSON as Python's `json.dumps` writes it: other characters than ASCII escaped. */
export const asciiJson = (value: unknown, indent: number): string =>
  asciiText(writeJson(value, indent));

/** A text of JSON with other characters than ASCII escaped. */
export const asciiText = (text: string): string =>
  text.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
