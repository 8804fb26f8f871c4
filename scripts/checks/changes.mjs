// Prints the areas that changed since the base of a change, for .ci/run: "all", or some of "native", "js",
// "page" and "docs"; then "matrix" if the package has to run in all bundlers and runtimes, and "whole-page" if all
// tests of the page have to run.
//
//   node scripts/checks/changes.mjs
//
// The base is the commit in $ZEROPOINT_BASE, the first parent of a merge, or the merge base with the branch
// main of origin. Without any of them, everything counts as changed.

import { capture, runAsScript } from "../process/run.mjs";

/** The area of each file by its path; the first pattern that fits. */
const AREAS = [
  [/^(docs\/|[^/]+\.md$|\.github\/[^/]+\.(md|yml)$|\.github\/ISSUE_TEMPLATE\/|LICENSE$)/, "docs"],
  [/^tests\/bench\/\w+\.md$/, "docs"],
  // Tests of the package in a page, and what they share with those of the project's page.
  [/^tests\/web\/((package|threads|policy|connect|walk|onnx)\.test|browser|serve)\.mjs$/, "js"],
  [/^(web|tests\/web)\/(?!in-browser\/)/, "page"],
  [/^(src\/js|tests\/js)\//, "js"],
  // Checks and the test runner: all tests of JavaScript use them, those of native code only the fuzzers.
  [/^scripts\/(checks|cost|test\/(?!fuzz))/, "js"],
  [/^(include|src\/(core|kernels)|tests\/native)\//, "native"],
];

/** The areas of the files; "all" for files without an area, such as the build and its scripts. */
export function areasOf(files) {
  const areas = files.map((file) => AREAS.find(([pattern]) => pattern.test(file))?.[1] ?? "all");
  return areas.includes("all") || areas.length === 0 ? ["all"] : [...new Set(areas)].sort();
}

/** Whether a change can alter how bundlers and runtimes load the package. */
export const needsMatrix = (files) =>
  areasOf(files).includes("all") ||
  files.some((file) =>
    /^(package\.json$|src\/js\/(core|worker|cli)\/|scripts\/build\/)/.test(file),
  ) ||
  files.some((file) => /^tests\/package\//.test(file));

/** Whether a change can alter the page: files of the page, its tests, and what the page imports. */
export const needsWholePage = (files) =>
  areasOf(files).includes("all") ||
  files.some((file) => /^(web|tests\/web|include|src)\//.test(file) && !isForNodeAlone(file));

/** Whether a file is of the command line, which the page never imports. */
const isForNodeAlone = (file) => file.startsWith("src/js/cli/");

const git = (...args) => {
  const { ok, stdout } = capture("git", args);
  return ok ? stdout.trim() : undefined;
};

/** The commit to compare with, or undefined. */
function base() {
  const named = process.env.ZEROPOINT_BASE;
  // For a new branch the base is all zeros.
  if (named && !/^0+$/.test(named)) return git("merge-base", named, "HEAD");
  if (git("rev-parse", "--verify", "--quiet", "HEAD^2")) return git("rev-parse", "HEAD^1");
  const head = git("rev-parse", "HEAD");
  const left = git("merge-base", "refs/remotes/origin/main", "HEAD");
  return left === head ? undefined : left;
}

/** The files that changed since the base; undefined without a base. */
export function changedFiles() {
  const from = base();
  const files = from && git("diff", "--name-only", "--no-renames", from, "HEAD");
  return files?.split("\n").filter(Boolean);
}

/** The subjects of the commits since the base, without merges; undefined without a base. */
export function changedSubjects() {
  const from = base();
  const subjects = from && git("log", "--no-merges", "--format=%s", `${from}..HEAD`);
  return subjects?.split("\n").filter(Boolean);
}

await runAsScript(import.meta.url, () => {
  const files = changedFiles() ?? [];
  const words = [
    ...areasOf(files),
    ...(needsMatrix(files) ? ["matrix"] : []),
    ...(needsWholePage(files) ? ["whole-page"] : []),
  ];
  console.log(words.join(" "));
});
