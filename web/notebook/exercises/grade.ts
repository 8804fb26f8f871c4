// Grades a learner's function: runs it on the exercise's trials, compares its results with the reference's, and
// finds the known mistake, or the pair of mistakes, whose results are the same.

/** Whether a reference is to make the mistake of that name. */
export type Has = (name: string) => boolean;

/** args: new ones for each call. */
type Trial = { label: string; args: (torch: any) => any[] };

export interface Task {
  /** Unique on the page: "codes". */
  id: string;
  /** Of the function that the learner writes. */
  name: string;
  /** What it returns, for messages: "a tensor of codes". */
  results: string;
  /** The reference, with the given mistakes. */
  make: (torch: any, has: Has) => (...args: any[]) => any;
  /** The sentence for each mistake; earlier ones are preferred. */
  mistakes: Record<string, string>;
  trials: Trial[];
}

type Outcome = { value?: any; thrown?: any };

/** text: one sentence or two; detail: the first trial that differs, with both results. */
export type Grade = { passed: boolean; text: string; mistakes: string[]; detail?: string };

const DETAIL_LIMIT = 600; // characters of one value, or of one error

/** Relative difference that counts as equal: some right formulas round in another order. */
const TOLERANCE = 1e-6;

/** @param torch  of zeropoint/notebook */
export function grade(
  task: Task,
  learner: unknown,
  torch: any,
  display: (value: unknown) => string | undefined,
): Grade {
  if (!isFunction(learner)) {
    return failed(
      `There is no function called ${task.name} here: keep the name of the first line.`,
    );
  }
  const right = outcomesOf(task, () => false, torch);
  const given: Outcome[] = [];
  for (const [i, { label, args }] of task.trials.entries()) {
    const own = args(torch);
    const before = args(torch);
    given.push(outcomeOf(learner, own));
    if (!own.every((value, at) => isSame(value, before[at]))) {
      const changed = own.find((value, at) => !isSame(value, before[at]));
      const advice = isTensor(changed)
        ? "Methods that end with an underscore, such as add_, work in place; add does not."
        : "Make a new list instead of writing into the one that was given.";
      return failed(
        `It changes its argument, so the caller's own is another one afterwards (${label}). ${advice}`,
        ["changes its argument"],
      );
    }
    const placeholder = given[i].thrown?.message?.includes("___");
    if (placeholder) return failed("Replace ___ by your own code first.", ["placeholder"]);
  }
  const wrong = given.findIndex((outcome, i) => !isSameOutcome(outcome, right[i]));
  if (wrong < 0) {
    const count = task.trials.length;
    return { passed: true, text: `Right: all ${count} tests give the same.`, mistakes: [] };
  }
  const mistakes = explain(task, given, torch);
  const detailOf = (at: number) => describe(task, at, right[at], given[at], display);
  if (mistakes) {
    const text = mistakes.map((name) => task.mistakes[name]).join(" ");
    return failed(text, mistakes, detailOf(wrong));
  }
  const { value, thrown } = given[wrong];
  if (thrown === undefined && value === undefined && right[wrong].value !== undefined) {
    return failed("It returns nothing: is there a return?", ["returns nothing"], detailOf(wrong));
  }
  if (thrown !== undefined) {
    return failed(shortened(`It throws ${errorText(thrown)}`), [], detailOf(wrong));
  }
  // A difference in kind says more than one in numbers, also where it is not in the first test.
  const kinds = given.map((outcome, i) =>
    outcome.thrown === undefined ? ofKind(task, right[i].value, outcome.value) : undefined,
  );
  const at = kinds.findIndex((kind) => kind !== undefined);
  if (at >= 0) return failed(`${kinds[at]} The test is below.`, [], detailOf(at));
  return failed("Not right yet: the first test that differs is below.", [], detailOf(wrong));
}

const isFunction = (value: unknown): value is (...args: unknown[]) => unknown =>
  typeof value === "function";

const failed = (text: string, mistakes: string[] = [], detail?: string): Grade => ({
  passed: false,
  text,
  mistakes,
  ...(detail !== undefined && { detail }),
});

/** The mistakes, one or two, with which the reference gives what the learner's function gave. */
function explain(task: Task, given: Outcome[], torch: any) {
  const names = Object.keys(task.mistakes);
  const singles = names.map((name) => [name]);
  const pairs = names.flatMap((a, i) => names.slice(i + 1).map((b) => [a, b]));
  return [...singles, ...pairs].find((mistakes) =>
    outcomesOf(task, (name) => mistakes.includes(name), torch).every((outcome, i) =>
      isSameOutcome(outcome, given[i]),
    ),
  );
}

function outcomesOf(task: Task, has: Has, torch: any) {
  const reference = task.make(torch, has);
  return task.trials.map(({ args }) => outcomeOf(reference, args(torch)));
}

function outcomeOf(f: (...args: unknown[]) => unknown, args: unknown[]): Outcome {
  try {
    return { value: f(...args) };
  } catch (thrown) {
    return { thrown: thrown ?? new Error("nothing") };
  }
}

function isSameOutcome(a: Outcome, b: Outcome) {
  if ((a.thrown === undefined) !== (b.thrown === undefined)) return false;
  // Two programs fail in the same way if the library refuses the same thing.
  if (a.thrown !== undefined) return nameOf(a.thrown) === nameOf(b.thrown);
  return isSame(a.value, b.value);
}

const nameOf = (thrown: any) => thrown?.name ?? "an error";

const errorText = (thrown: any) => {
  const isAttribute = thrown?.pythonType === "AttributeError";
  return `${isAttribute ? "AttributeError" : nameOf(thrown)}: ${thrown?.message ?? thrown}`;
};

const isTensor = (value: any) => typeof value === "object" && value !== null && "tolist" in value;

/** Whether two results are equal: tensors of one dtype and shape, numbers, and lists of them. */
export function isSame(a: any, b: any): boolean {
  if (isTensor(a) || isTensor(b)) {
    return (
      isTensor(a) &&
      isTensor(b) &&
      isSameDType(String(a.dtype), String(b.dtype)) &&
      String([...a.shape]) === String([...b.shape]) &&
      isSameList(a.flatten().tolist(), b.flatten().tolist())
    );
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((value, i) => isSame(value, b[i]));
  }
  if (typeof a === "number" && typeof b === "number") {
    return (
      Object.is(a, b) ||
      a === b ||
      Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b))
    );
  }
  return a === b;
}

/**
 * Whether the values of two tensors are equal. A difference that is a rounding of the largest of them, 4 units in its last
 * place of float32, counts as equal: where steps cancel, another order of rounding leaves that much.
 */
function isSameList(a: any[], b: any[]) {
  if (isSame(a, b)) return true;
  const most = a.reduce((most, value) => (Math.abs(value) > most ? Math.abs(value) : most), 0);
  return a.every(
    (value, i) =>
      isSame(value, b[i]) ||
      (most < Infinity && !Number.isInteger(value) && Math.abs(value - b[i]) <= most * 2 ** -22),
  );
}

/** Whole numbers without a dtype make an int64 tensor, also where they are results of float arithmetic. */
const isSameDType = (a: string, b: string) =>
  a === b || [a, b].sort().join() === "torch.float32,torch.int64";

/** The difference in kind between two results, in a sentence, if there is one. */
function ofKind(task: Task, right: any, value: any, what = "It"): string | undefined {
  const [wanted, got] = [kindOf(right), kindOf(value)];
  if (got === "a Promise") return `${what} is a Promise: leave out async and await.`;
  if (wanted !== got) {
    if (right === undefined || value === undefined) return undefined;
    if (what !== "It") return `${what} is ${got}, and must be ${wanted}.`;
    const way =
      got === "a tensor" && wanted === "a number"
        ? ": .item() makes a number of a tensor"
        : got === "a list" && wanted === "a tensor"
          ? ": torch.tensor(list) makes a tensor"
          : "";
    return `It returns ${got}; the result must be ${task.results}${way}.`;
  }
  if (Array.isArray(right)) {
    if (right.length !== value.length && task.results.startsWith("[")) {
      return `It returns ${value.length} things; the result must be ${task.results}.`;
    }
    const different = right.map((each, i) =>
      ofKind(task, each, value[i], `Item ${i} of its result`),
    );
    return different.find((each) => each !== undefined);
  }
  if (isTensor(right)) {
    const [shape, own] = [right, value].map((tensor) => [...tensor.shape].join(", "));
    if (shape !== own) return `${what} has the shape [${own}], and must have [${shape}].`;
    if (!isSameDType(String(right.dtype), String(value.dtype))) {
      return `${what} has the dtype ${value.dtype}, and must have ${right.dtype}.`;
    }
  }
  if (hasNaN(value) && !hasNaN(right)) {
    return `${what} has NaN: a name may be misspelt, or something is undefined or 0 / 0.`;
  }
  return undefined;
}

const hasNaN = (value: any) =>
  isTensor(value) ? value.isnan().any().item() === true : Number.isNaN(value);

function kindOf(value: any) {
  if (isTensor(value)) return "a tensor";
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return "a list";
  if (typeof value === "string") return "a text";
  if (typeof value === "boolean") return "true or false";
  if (typeof value !== "object" || value === null) return `a ${typeof value}`;
  return value instanceof Promise ? "a Promise" : "an object";
}

function describe(
  task: Task,
  at: number,
  right: Outcome,
  given: Outcome,
  display: (value: unknown) => string | undefined,
) {
  const show = ({ value, thrown }: Outcome) =>
    thrown !== undefined ? shortened(errorText(thrown)) : shown(value, display);
  return [
    `Test ${at + 1} of ${task.trials.length}: ${task.trials[at].label}.`,
    `expected: ${show(right)}`,
    `yours:    ${show(given)}`,
  ].join("\n");
}

function shown(value: any, display: (value: unknown) => string | undefined) {
  return shortened(value === undefined ? "undefined" : (display(value) ?? "None"));
}

const shortened = (text: string) =>
  text.length > DETAIL_LIMIT ? `${text.slice(0, DETAIL_LIMIT)} …` : text;
