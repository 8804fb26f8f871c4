// Replaces node:test in browsers: suites, tests and hooks, run one after the other in source order. Refuses options
// that no test uses.
//
// No library fits: mocha's browser build passes no context and takes no options, so an adapter would be as long as
// this file, and it brings 25 packages.

import { isNodeOnly } from "./node-only.js";

/**
 * @typedef {(context: TestContext) => unknown} Body
 * @typedef {{ name: string, skip: unknown, body: Body, suite: Suite }} Test
 * @typedef {{ name: string, outcome: "passed" | "failed" | "skipped" | "Node only",
 *   reason?: string }} Result
 */

const OPTIONS = ["skip", "timeout", "concurrency"];

class Suite {
  /** @type {(Test | Suite)[]} */
  children = [];
  /** @type {Record<"before" | "after" | "beforeEach" | "afterEach", (() => unknown)[]>} */
  hooks = { before: [], after: [], beforeEach: [], afterEach: [] };

  /**
   * @param {string} name
   * @param {unknown} skip
   * @param {Suite | undefined} parent
   */
  constructor(name, skip, parent) {
    this.name = name;
    this.skip = skip;
    this.parent = parent;
  }
}

class TestContext {
  /** @type {(() => void)[]} */
  restorers = [];
  /** @type {string | undefined} */
  skipped;

  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }

  /** @param {string} reason */
  skip(reason = "") {
    this.skipped = reason;
  }

  diagnostic() {}

  mock = {
    /**
     * Replaces a method until the test ends, and counts its calls.
     * @param {any} object
     * @param {string} name
     * @param {(...parameters: any[]) => unknown} implementation
     */
    method: (object, name, implementation = object[name]) => {
      const own = Object.getOwnPropertyDescriptor(object, name);
      /** @type {{ arguments: unknown[] }[]} */
      const calls = [];
      function mocked(...parameters) {
        calls.push({ arguments: parameters });
        return implementation.apply(this, parameters);
      }
      mocked.mock = { calls, callCount: () => calls.length };
      Object.defineProperty(object, name, { configurable: true, writable: true, value: mocked });
      this.restorers.push(() => {
        if (own) Object.defineProperty(object, name, own);
        else delete object[name];
      });
      return mocked;
    },
  };
}

const root = new Suite("", undefined, undefined);
let open = root;

/** @param {[string, any, any?] | [string, any]} parameters */
function read([name, options, body]) {
  const given = typeof options === "function" ? {} : (options ?? {});
  const unknown = Object.keys(given).find((option) => !OPTIONS.includes(option));
  if (unknown) throw new TypeError(`the browser's node:test has no option ${unknown}`);
  return { name, skip: given.skip, body: typeof options === "function" ? options : body };
}

/** @param {[string, any, any?]} parameters */
export function describe(...parameters) {
  const { name, skip, body } = read(parameters);
  const suite = new Suite(name, skip, open);
  open.children.push(suite);
  open = suite;
  try {
    const pending = body?.();
    if (pending instanceof Promise) throw new TypeError(`${name}: a suite cannot wait here`);
  } finally {
    open = suite.parent;
  }
}

/** @param {[string, any, any?]} parameters */
export function it(...parameters) {
  open.children.push({ ...read(parameters), suite: open });
}

describe.skip = (name, options, body) => describe(name, { skip: true }, body ?? options);
it.skip = (name, options, body) => it(name, { skip: true }, body ?? options);

export const suite = describe;
export const test = it;

const addHook = (kind) => (hook) => {
  open.hooks[kind].push(hook);
};
export const before = addHook("before");
export const after = addHook("after");
export const beforeEach = addHook("beforeEach");
export const afterEach = addHook("afterEach");

export default test;

/** A suite and its ancestors, outermost first. */
function lineage(suite) {
  return suite ? [...lineage(suite.parent), suite] : [];
}

/** @param {unknown} error */
function describeError(error) {
  if (!(error instanceof Error)) return String(error);
  // Chromium's stack begins with the message; Firefox's does not.
  const { message, stack = "" } = error;
  return stack.includes(message) ? stack : `${error.name}: ${message}\n${stack}`;
}

/** @param {unknown} error @returns {Pick<Result, "outcome" | "reason">} */
const failure = (error) => ({
  outcome: isNodeOnly(error) ? "Node only" : "failed",
  reason: describeError(error),
});

/** @param {Test} test @returns {Promise<Pick<Result, "outcome" | "reason">>} */
async function runTest({ name, body, suite }) {
  const context = new TestContext(name);
  /** @type {unknown[]} */
  const errors = [];
  const attempt = async (work) => {
    try {
      await work();
    } catch (error) {
      errors.push(error);
    }
  };
  const suites = lineage(suite);
  for (const { hooks } of suites) for (const hook of hooks.beforeEach) await attempt(hook);
  if (errors.length === 0) await attempt(() => body?.(context));
  for (const restore of context.restorers.reverse()) restore();
  for (const { hooks } of suites.reverse()) for (const hook of hooks.afterEach) await attempt(hook);
  if (errors.length > 0) return failure(errors[0]);
  if (context.skipped !== undefined) return { outcome: "skipped", reason: context.skipped };
  return { outcome: "passed" };
}

/**
 * @param {Suite} suite
 * @param {string} prefix
 * @param {{ skip?: unknown, error?: { thrown: unknown } }} inherited
 * @returns {AsyncGenerator<Result>}
 */
async function* runSuite(suite, prefix, inherited) {
  let { skip, error } = inherited;
  skip ||= suite.skip;
  const count = suite.children.length;
  if (count > 0 && !skip && error === undefined) {
    try {
      for (const hook of suite.hooks.before) await hook();
    } catch (thrown) {
      error = { thrown };
    }
  }
  for (const child of suite.children) {
    const name = `${prefix}${child.name}`;
    if (child instanceof Suite) yield* runSuite(child, `${name} > `, { skip, error });
    else if (skip || child.skip) {
      yield { name, outcome: "skipped", reason: String(skip || child.skip) };
    } else if (error !== undefined) yield { name, ...failure(error.thrown) };
    else {
      globalThis.running = name; // for debugging slow or hanging tests
      yield { name, ...(await runTest(child)) };
    }
  }
  if (skip || error !== undefined) return;
  try {
    for (const hook of suite.hooks.after) await hook();
  } catch (thrown) {
    yield { name: `${prefix}after`, ...failure(thrown) };
  }
}

/** Runs all registered tests. @returns {Promise<Result[]>} */
export async function runAll() {
  const results = [];
  for await (const result of runSuite(root, "", {})) results.push(result);
  return results;
}
