// npm run commits: the subjects of a change's commits read "area: Imperative sentence", with the areas of CONTRIBUTING.md.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure, root, runAsScript } from "../process/run.mjs";
import { changedSubjects } from "./changes.mjs";

/** The areas that CONTRIBUTING.md lists. */
export function listedAreas() {
  const text = readFileSync(join(root, ".github", "CONTRIBUTING.md"), "utf8");
  const list = /`area: Imperative sentence`\s+\(areas: ([^)]+)\)/.exec(text)?.[1];
  if (!list) throw new Failure("CONTRIBUTING.md lists no areas of commits");
  return list.split(/[,\s]+/);
}

/** Imperatives that end as other forms of verbs do. */
const IMPERATIVES = /^(Bias|Bring|Embed|Exceed|Feed|Focus|Need|Proceed|Seed|Shed|Speed|String)$/;

/** What is wrong with a subject; undefined if nothing is. */
export function problemOf(subject, areas = listedAreas()) {
  const [, named, sentence] = /^([a-z]+(?:, [a-z]+)*): (.+)$/.exec(subject) ?? [];
  if (!named) return "does not begin with an area, a colon and a space";
  const unknown = named.split(", ").find((area) => !areas.includes(area));
  if (unknown) return `has the area "${unknown}"; CONTRIBUTING.md lists ${areas.join(", ")}`;
  const [first] = sentence.split(" ");
  if (!/^[A-Z]/.test(first)) return "has no capital after the area";
  const isOtherForm = /([^s]s|ed|ing)$/.test(first) && !IMPERATIVES.test(first);
  if (isOtherForm) return `has "${first}" where an imperative belongs`;
  if (sentence.endsWith(".")) return "ends with a full stop";
  return undefined;
}

/** Throws a list of the subjects that break the rule. */
export function checkSubjects(subjects) {
  const areas = listedAreas();
  const found = subjects
    .map((subject) => ({ subject, problem: problemOf(subject, areas) }))
    .filter(({ problem }) => problem !== undefined)
    .map(({ subject, problem }) => `"${subject}" ${problem}`);
  if (found.length > 0) throw new Failure(`subjects of commits:\n  ${found.join("\n  ")}`);
}

await runAsScript(import.meta.url, () => {
  const subjects = changedSubjects();
  if (!subjects) {
    console.log("commits: no base to compare with, nothing checked");
    return;
  }
  checkSubjects(subjects);
  console.log(`commits: ${subjects.length} subjects are as CONTRIBUTING.md says`);
});
