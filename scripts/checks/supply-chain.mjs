// Checks the project's dependencies: the lock files pin every package by a hash of its content; each development
// dependency is used; where the registry offers signatures, they are valid. Checks also that the workflows keep
// their rules for publishing.
//
//   npm run supply-chain [-- --strict]     --strict fails if signatures cannot be checked

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { capture, Failure, root, runAsScript } from "../process/run.mjs";
import { setUp } from "../toolchain/setup.mjs";

/**
 * The packages that may run a script on installation: two put their program into place, one is compiled on
 * macOS only, one prints a notice.
 */
const MAY_HAVE_SCRIPTS = ["esbuild", "node", "fsevents", "protobufjs"];

/** A valid version in a manifest: a range of a registry's versions, or an alias of another package. */
const RANGE = /^(npm:(@[\w.-]+\/)?[\w.-]+@)?[~^]?\d+\.\d+\.\d+(-[\w.]+)?$/;

/** Problems of a lock file, one line each. */
export function problemsOfLock(lock) {
  const problems = [];
  if (lock.lockfileVersion !== 3)
    problems.push(`lockfileVersion is ${lock.lockfileVersion}, not 3`);
  const { "": project, ...packages } = lock.packages ?? {};
  if (Object.keys(packages).length === 0) problems.push("there are no packages");
  for (const [name, range] of Object.entries({
    ...project?.dependencies,
    ...project?.devDependencies,
    ...project?.optionalDependencies,
  })) {
    if (!RANGE.test(range)) problems.push(`${name}: "${range}" is no version of a registry`);
  }
  for (const [path, { version, resolved, integrity, link, hasInstallScript }] of Object.entries(
    packages,
  )) {
    const name = path.split("node_modules/").at(-1);
    if (!path.startsWith("node_modules/")) problems.push(`${path} is not from a registry`);
    if (link) problems.push(`${path} is a link`);
    if (!/^\d+\.\d+\.\d+/.test(version ?? "")) problems.push(`${path}: version "${version}"`);
    // A package without an address comes from the registry that npm is configured with.
    if (resolved) problems.push(`${path} has an address of its own: ${resolved}`);
    if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? "")) {
      problems.push(`${path} has no SHA-512: ${integrity}`);
    }
    if (hasInstallScript && !MAY_HAVE_SCRIPTS.includes(name)) {
      problems.push(`${path} runs a script when it is installed`);
    }
  }
  return problems;
}

/** Problems of a workflow, one line each. */
export function problemsOfWorkflow(text) {
  const [head, body = ""] = text.split(/^jobs:$/m);
  const jobs = body.split(/^ {2}(?=[\w-]+:$)/m).slice(1);
  const problems = jobs.length > 0 ? [] : ["it has no jobs"];
  for (const [, action] of text.matchAll(/\buses: *(\S+)/g)) {
    // A tag may be moved to other code; a commit cannot.
    if (!/^actions\/[\w-]+@[0-9a-f]{40}$/.test(action)) problems.push(`it uses ${action}`);
  }
  if (!/^permissions:\n {2}contents: read\n(?! )/m.test(head)) {
    problems.push("its jobs may do more than read");
  }
  if (/\bsecrets\b/.test(text)) problems.push("it takes a secret");
  for (const job of jobs) {
    const name = job.slice(0, job.indexOf(":"));
    const isPublishing = /\bnpm publish\b/.test(job);
    if (/: *write\b/.test(job) && !isPublishing) problems.push(`${name} may write`);
    if (!isPublishing) continue;
    if (!/\bnpm publish\b.* --provenance\b/.test(job)) problems.push(`${name}: no provenance`);
    if (!/^ {6}id-token: write$/m.test(job)) problems.push(`${name} has no identity to prove`);
    if (/: *write\b/.test(job.replace("id-token: write", ""))) problems.push(`${name} may write`);
    if (!/^ {4}needs: .*\btest\b/m.test(job)) problems.push(`${name} does not wait for the tests`);
    if (/\bnpm (ci|i|install|run|test|exec)\b|\bnpx\b|checkout@/.test(job)) {
      problems.push(`${name} runs more than npm`);
    }
  }
  return problems;
}

const listFiles = (...patterns) => {
  const { ok, stdout, stderr } = capture("git", ["ls-files", "-z", "--", ...patterns]);
  if (!ok) throw new Failure(`git ls-files: ${stderr.trim()}`);
  return stdout.split("\0").filter(Boolean);
};

/** Development dependencies not named anywhere in the repository. */
export function unusedDependencies(manifest) {
  const isManifest = /(^|\/)package(-lock)?\.json$/;
  const files = listFiles("*.mjs", "*.js", "*.ts", "*.tsx", "*.json").filter(
    (file) => !isManifest.test(file) && !file.startsWith("tests/vectors/"),
  );
  const text = files.map((file) => readFileSync(join(root, file), "utf8")).join("\n");
  return Object.keys(manifest.devDependencies ?? {}).filter((name) => {
    // A package's types count as used where the package is; Node's types are used by the page's build.
    const used = name.replace(/^@types\/(?!node$)/, "");
    const needle = used === "@types/node" ? '"node"' : used;
    return !text.includes(needle);
  });
}

/** npm's messages for an unreachable registry, as opposed to an invalid signature. */
const UNREACHED =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|FETCH_ERROR|no (dependencies|verified)|not support|E40[0-9]|E50[0-9]/i;

/**
 * Asks npm to check the registry's signatures of all installed packages.
 * @returns {{ isGood?: boolean, line: string }} isGood is undefined if they could not be checked
 */
export function checkSignatures(npm = runNpm) {
  // Under `npm run --silent`, npm would suppress even its errors.
  const said = ["--fetch-retries=0", "--loglevel=notice"];
  const { ok, stdout, stderr } = npm(["audit", "signatures", ...said]);
  const lines = `${stderr}\n${stdout}`.split("\n").filter(Boolean);
  if (ok) return { isGood: true, line: lines.filter((line) => /verified/.test(line)).join("; ") };
  const reason = lines.find((line) => /error (code|network request)/.test(line)) ?? lines.join(" ");
  const wasUnreached = UNREACHED.test(reason) && !/invalid|missing/i.test(stdout);
  return { isGood: wasUnreached ? undefined : false, line: reason };
}

function runNpm(args) {
  const self = process.env.npm_execpath ?? "";
  if (/npm-cli\.c?js$/.test(self)) return capture(process.execPath, [self, ...args]);
  return capture("npm", args);
}

await runAsScript(import.meta.url, async (args) => {
  if (args.some((arg) => arg !== "--strict")) throw new Failure("takes --strict or nothing");
  await setUp([]);
  const problems = [];
  for (const file of listFiles("package-lock.json", "*/package-lock.json")) {
    const lock = JSON.parse(readFileSync(join(root, file), "utf8"));
    problems.push(...problemsOfLock(lock).map((problem) => `${file}: ${problem}`));
    console.log(`${file}: ${Object.keys(lock.packages).length - 1} packages`);
  }
  for (const file of listFiles(".github/workflows/*.yml")) {
    const found = problemsOfWorkflow(readFileSync(join(root, file), "utf8"));
    problems.push(...found.map((problem) => `${file}: ${problem}`));
  }
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const name of unusedDependencies(manifest)) problems.push(`${name} is used nowhere`);

  const { isGood, line } = checkSignatures();
  if (isGood === undefined) console.log(`Signatures could not be checked: ${line}`);
  else console.log(`Signatures: ${line}`);
  if (isGood === false || (isGood === undefined && args.includes("--strict"))) {
    problems.push(`npm audit signatures: ${line}`);
  }
  for (const problem of problems) console.log(problem);
  if (problems.length > 0) throw new Failure(`${problems.length} problems with dependencies`);
});
