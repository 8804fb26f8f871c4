// Expressions of Python's re in configurations, matched in time proportional to the name: a file is not trusted, and
// JavaScript's own expressions can take forever.
// Source: Pike's virtual machine for Thompson's construction (Cox, Regular Expression Matching: the Virtual Machine Approach).

/** One step of a program. */
type Step =
  | { readonly test: (letter: string) => boolean }
  /** Go on at both places. */
  | { first: number; second: number }
  | { readonly at: "begin" | "end" | "match" };

/** A part of an expression. */
type Part =
  | { readonly step: Exclude<Step, { first: number }> }
  | { readonly sequence: readonly Part[] }
  | { readonly alternatives: readonly Part[] }
  | { readonly part: Part; readonly least: number; readonly most: number };

/** Whether it is the member of a union with this field. Fields of Object.prototype do not count. */
const has = <T extends object, K extends string>(
  value: T,
  name: K,
): value is Extract<T, Record<K, unknown>> => Object.hasOwn(value, name);

/** The longest expression in letters, the deepest one in groups, and the most steps of a program. */
const MOST_LETTERS = 1000;
const MOST_DEPTH = 50;
const MOST_STEPS = 4000;

const WORD = /[\p{L}\p{N}_]/u;
const CLASSES: { readonly [letter: string]: (letter: string) => boolean } = {
  d: (letter) => /\d/.test(letter),
  w: (letter) => WORD.test(letter),
  s: (letter) => /\s/.test(letter),
  D: (letter) => !/\d/.test(letter),
  W: (letter) => !WORD.test(letter),
  S: (letter) => !/\s/.test(letter),
};

/** Thrown for what is not read. */
class Unsupported {}

class Parser {
  #at = 0;
  #depth = 0;

  constructor(readonly text: string) {}

  #next(): string {
    return this.text.charAt(this.#at);
  }

  #accept(text: string): boolean {
    if (!this.text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  /** The whole expression. */
  all(): Part {
    const part = this.#alternatives();
    if (this.#at < this.text.length) throw new Unsupported();
    return part;
  }

  #alternatives(): Part {
    if (++this.#depth > MOST_DEPTH) throw new Unsupported();
    const alternatives: Part[] = [];
    do alternatives.push(this.#sequence());
    while (this.#accept("|"));
    this.#depth--;
    return alternatives.length === 1 ? alternatives[0] : { alternatives };
  }

  #sequence(): Part {
    const sequence: Part[] = [];
    while (this.#at < this.text.length && this.#next() !== "|" && this.#next() !== ")") {
      const part = this.#atom();
      const [least, most] = this.#count();
      sequence.push(least === 1 && most === 1 ? part : { part, least, most });
    }
    return { sequence };
  }

  /** A quantifier, greedy or not: which letters it takes makes no difference to whether there is a match. */
  #count(): readonly [least: number, most: number] {
    const [whole, least, comma, most] =
      /^(?:[*+?]|\{(\d{1,3})(,?)(\d{0,3})\})/.exec(this.text.slice(this.#at)) ?? [];
    if (whole === undefined) return [1, 1];
    this.#at += whole.length;
    this.#accept("?");
    if ("*+?{".includes(this.#next()) && this.#next() !== "") throw new Unsupported();
    if (whole === "*") return [0, Infinity];
    if (whole === "+") return [1, Infinity];
    if (whole === "?") return [0, 1];
    const low = Number(least);
    const high = comma === "" ? low : most === "" ? Infinity : Number(most);
    if (high < low) throw new Unsupported();
    return [low, high];
  }

  #atom(): Part {
    const letter = this.#next();
    this.#at++;
    switch (letter) {
      case "(":
        return this.#group();
      case "[":
        return { step: { test: this.#set() } };
      case ".":
        return { step: { test: (each) => each !== "\n" } };
      case "^":
        return { step: { at: "begin" } };
      case "$":
        return { step: { at: "end" } };
      case "\\":
        return { step: { test: this.#escape() } };
      default:
        if (")*+?{".includes(letter)) throw new Unsupported();
        return { step: { test: (each) => each === letter } };
    }
  }

  #group(): Part {
    if (this.#accept("?") && !this.#accept(":")) {
      const [name] = /^P<\w+>/.exec(this.text.slice(this.#at)) ?? [];
      if (name === undefined) throw new Unsupported();
      this.#at += name.length;
    }
    const part = this.#alternatives();
    if (!this.#accept(")")) throw new Unsupported();
    return part;
  }

  #escape(): (letter: string) => boolean {
    const letter = this.#next();
    this.#at++;
    if (Object.hasOwn(CLASSES, letter)) return CLASSES[letter];
    // Other letters and digits have meanings of their own: borders of words, groups, code points.
    if (letter === "" || /[\p{L}\d]/u.test(letter)) throw new Unsupported();
    return (each) => each === letter;
  }

  #set(): (letter: string) => boolean {
    const isNegative = this.#accept("^");
    const tests: ((letter: string) => boolean)[] = [];
    while (!this.#accept("]") || tests.length === 0) {
      const first = this.#next();
      if (first === "" || first === "[") throw new Unsupported();
      this.#at++;
      if (first === "\\") {
        tests.push(this.#escape());
        continue;
      }
      const isRange = this.#next() === "-" && this.text.charAt(this.#at + 1) !== "]";
      if (!isRange) {
        tests.push((each) => each === first);
        continue;
      }
      this.#at++;
      const last = this.#next();
      this.#at++;
      if (last === "" || last === "\\" || last < first) throw new Unsupported();
      tests.push((each) => each >= first && each <= last);
    }
    return (each) => tests.some((test) => test(each)) !== isNegative;
  }
}

/** Makes a program of an expression. */
class Compiler {
  readonly steps: Step[] = [];
  #left = MOST_STEPS;

  #add<S extends Step>(step: S): S {
    this.steps.push(step);
    return step;
  }

  /** A step that goes on at the next place, and at one that is set later. */
  #split(): { first: number; second: number } {
    const next = this.steps.length + 1;
    return this.#add({ first: next, second: next });
  }

  add(part: Part): void {
    // Also of parts that add no step, which may be repeated many times.
    if (--this.#left < 0) throw new Unsupported();
    if (has(part, "step")) this.#add(part.step);
    else if (has(part, "sequence")) for (const each of part.sequence) this.add(each);
    else if (has(part, "alternatives")) this.#addAlternatives(part.alternatives);
    else this.#addRepeated(part.part, part.least, part.most);
  }

  #addAlternatives(alternatives: readonly Part[]): void {
    const ends: { first: number; second: number }[] = [];
    for (const [i, each] of alternatives.entries()) {
      const isLast = i === alternatives.length - 1;
      const split = isLast ? undefined : this.#split();
      this.add(each);
      if (split === undefined) break;
      ends.push(this.#split());
      split.second = this.steps.length;
    }
    for (const end of ends) end.first = end.second = this.steps.length;
  }

  #addRepeated(part: Part, least: number, most: number): void {
    for (let i = 0; i < least; i++) this.add(part);
    if (most === Infinity) {
      const start = this.steps.length;
      const split = this.#split();
      this.add(part);
      const back = this.#split();
      back.first = back.second = start;
      split.second = this.steps.length;
      return;
    }
    const splits: { first: number; second: number }[] = [];
    for (let i = least; i < most; i++) {
      splits.push(this.#split());
      this.add(part);
    }
    for (const split of splits) split.second = this.steps.length;
  }
}

/**
 * An expression as `re.match` takes it: a name matches from its beginning.
 * @returns undefined for what is not read: looks ahead and behind, borders of words, groups by number, flags
 */
export function expressionOf(text: string): { test(name: string): boolean } | undefined {
  if (text.length > MOST_LETTERS) return undefined;
  try {
    const compiler = new Compiler();
    compiler.add(new Parser(text).all());
    const steps: readonly Step[] = [...compiler.steps, { at: "match" }];
    return { test: (name) => matches(steps, name) };
  } catch (error) {
    if (error instanceof Unsupported) return undefined;
    throw error;
  }
}

/** Whether a program matches a beginning of a name: each step is taken at most once at each letter. */
function matches(steps: readonly Step[], name: string): boolean {
  let places = [0];
  for (let at = 0; places.length > 0; at++) {
    const seen = new Set<number>();
    const letters: number[] = [];
    for (let place = places.pop(); place !== undefined; place = places.pop()) {
      if (seen.has(place)) continue;
      seen.add(place);
      const step = steps[place];
      if (has(step, "test")) letters.push(place);
      else if (has(step, "first")) places.push(step.first, step.second);
      else if (step.at === "match") return true;
      else if (step.at === "begin" ? at === 0 : isEnd(name, at)) places.push(place + 1);
    }
    if (at >= name.length) return false;
    const letter = name.charAt(at);
    places = letters.filter((place) => {
      const step = steps[place];
      return has(step, "test") && step.test(letter);
    });
    places = places.map((place) => place + 1);
  }
  return false;
}

/** Python's $: the end, or before a last line feed. */
const isEnd = (name: string, at: number): boolean =>
  at === name.length || (at === name.length - 1 && name.endsWith("\n"));
