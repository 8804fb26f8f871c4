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
      return failed(
        `It changes its argument, so the caller's tensor is another one afterwards (${label}). ` +
          "Methods that end with an underscore, such as add_, work in place; add does not.",
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
  const detail = describe(task, wrong, right[wrong], given[wrong], display);
  if (mistakes) {
    return failed(mistakes.map((name) => task.mistakes[name]).join(" "), mistakes, detail);
  }
  const { value, thrown } = given[wrong];
  if (thrown === undefined && value === undefined) {
    return failed("It returns nothing: is there a return?", ["returns nothing"], detail);
  }
  if (thrown !== undefined) {
    return failed(shortened(`It throws ${errorText(thrown)}`), [], detail);
  }
  return failed(
    `${ofKind(right[wrong].value, value) ?? "Not right yet"}: the first test that differs is below.`,
    [],
    detail,
  );
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

const errorText = (thrown: any) => `${nameOf(thrown)}: ${thrown?.message ?? thrown}`;

const isTensor = (value: any) =>
  typeof value === "object" && value !== null && typeof value.tolist === "function";

/** Whether two results are equal: tensors of one dtype and shape, numbers, and lists of them. */
export function isSame(a: any, b: any): boolean {
  if (isTensor(a) || isTensor(b)) {
    return (
      isTensor(a) &&
      isTensor(b) &&
      isSameDType(String(a.dtype), String(b.dtype)) &&
      String([...a.shape]) === String([...b.shape]) &&
      isSame(a.flatten().tolist(), b.flatten().tolist())
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

/** Whole numbers without a dtype make an int64 tensor, also where they are results of float arithmetic. */
const isSameDType = (a: string, b: string) =>
  a === b || [a, b].sort().join() === "torch.float32,torch.int64";

/** The difference in kind between two results, in words, if there is one. */
function ofKind(right: any, value: any) {
  if (isTensor(right) && isTensor(value)) {
    if (String([...right.shape]) !== String([...value.shape]))
      return "The result has another shape";
    if (String(right.dtype) !== String(value.dtype)) return "The result has another dtype";
    return undefined;
  }
  if (isTensor(right) !== isTensor(value) || Array.isArray(right) !== Array.isArray(value)) {
    return "The result is of another kind";
  }
  return undefined;
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
