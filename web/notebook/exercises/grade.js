// Grades a learner's function: runs it on the exercise's trials, compares its results with the reference's, and
// finds the known mistake, or the pair of mistakes, whose results are the same.

/**
 * @typedef {(name: string) => boolean} Has  whether a reference is to make the mistake of that name
 * @typedef {{ label: string, args: (torch: any) => any[] }} Trial  args: new ones for each call
 * @typedef {object} Task
 * @property {string} id        unique on the page: "codes"
 * @property {string} name      of the function that the learner writes
 * @property {string} results   what it returns, for messages: "a tensor of codes"
 * @property {(torch: any, has: Has) => (...args: any[]) => any} make  the reference, with the given mistakes
 * @property {Record<string, string>} mistakes  the sentence for each mistake; earlier ones are preferred
 * @property {Trial[]} trials
 *
 * @typedef {{ value?: any, thrown?: any }} Outcome
 * @typedef {{ passed: boolean, text: string, mistakes: string[], detail?: string }} Grade
 *   text: one sentence or two; detail: the first trial that differs, with both results
 */

const DETAIL_LIMIT = 600; // characters of one value, or of one error

/** Relative difference that counts as equal: some right formulas round in another order. */
const TOLERANCE = 1e-6;

/**
 * @param {Task} task
 * @param {unknown} learner
 * @param {any} torch  of zeropoint/notebook
 * @param {(value: unknown) => string | undefined} display
 * @returns {Grade}
 */
export function grade(task, learner, torch, display) {
  if (typeof learner !== "function") {
    return failed(
      `There is no function called ${task.name} here: keep the name of the first line.`,
    );
  }
  const right = outcomesOf(task, () => false, torch);
  /** @type {Outcome[]} */
  const given = [];
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

/**
 * @param {string} text
 * @param {string[]} [mistakes]
 * @param {string} [detail]
 * @returns {Grade}
 */
const failed = (text, mistakes = [], detail) => ({
  passed: false,
  text,
  mistakes,
  ...(detail !== undefined && { detail }),
});

/**
 * The mistakes, one or two, with which the reference gives what the learner's function gave.
 * @param {Task} task
 * @param {Outcome[]} given
 * @param {any} torch
 */
function explain(task, given, torch) {
  const names = Object.keys(task.mistakes);
  const singles = names.map((name) => [name]);
  const pairs = names.flatMap((a, i) => names.slice(i + 1).map((b) => [a, b]));
  return [...singles, ...pairs].find((mistakes) =>
    outcomesOf(task, (name) => mistakes.includes(name), torch).every((outcome, i) =>
      isSameOutcome(outcome, given[i]),
    ),
  );
}

/**
 * @param {Task} task
 * @param {Has} has
 * @param {any} torch
 */
function outcomesOf(task, has, torch) {
  const reference = task.make(torch, has);
  return task.trials.map(({ args }) => outcomeOf(reference, args(torch)));
}

/**
 * @param {Function} f
 * @param {any[]} args
 * @returns {Outcome}
 */
function outcomeOf(f, args) {
  try {
    return { value: f(...args) };
  } catch (thrown) {
    return { thrown: thrown ?? new Error("nothing") };
  }
}

/**
 * @param {Outcome} a
 * @param {Outcome} b
 */
function isSameOutcome(a, b) {
  if ((a.thrown === undefined) !== (b.thrown === undefined)) return false;
  // Two programs fail in the same way if the library refuses the same thing.
  if (a.thrown !== undefined) return nameOf(a.thrown) === nameOf(b.thrown);
  return isSame(a.value, b.value);
}

/** @param {any} thrown */
const nameOf = (thrown) => thrown?.name ?? "an error";

/** @param {any} thrown */
const errorText = (thrown) => `${nameOf(thrown)}: ${thrown?.message ?? thrown}`;

/** @param {any} value */
const isTensor = (value) =>
  typeof value === "object" && value !== null && typeof value.tolist === "function";

/**
 * Whether two results are equal: tensors of one dtype and shape, numbers, and lists of them.
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
export function isSame(a, b) {
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

/**
 * Whole numbers without a dtype make an int64 tensor, also where they are results of float arithmetic.
 * @param {string} a
 * @param {string} b
 */
const isSameDType = (a, b) => a === b || [a, b].sort().join() === "torch.float32,torch.int64";

/**
 * The difference in kind between two results, in words, if there is one.
 * @param {any} right
 * @param {any} value
 */
function ofKind(right, value) {
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

/**
 * @param {Task} task
 * @param {number} at
 * @param {Outcome} right
 * @param {Outcome} given
 * @param {(value: unknown) => string | undefined} display
 */
function describe(task, at, right, given, display) {
  const show = (/** @type {Outcome} */ { value, thrown }) =>
    thrown !== undefined ? shortened(errorText(thrown)) : shown(value, display);
  return [
    `Test ${at + 1} of ${task.trials.length}: ${task.trials[at].label}.`,
    `expected: ${show(right)}`,
    `yours:    ${show(given)}`,
  ].join("\n");
}

/**
 * @param {any} value
 * @param {(value: unknown) => string | undefined} display
 */
function shown(value, display) {
  return shortened(value === undefined ? "undefined" : (display(value) ?? "None"));
}

/** @param {string} text */
const shortened = (text) =>
  text.length > DETAIL_LIMIT ? `${text.slice(0, DETAIL_LIMIT)} …` : text;
