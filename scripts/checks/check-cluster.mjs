// Runs the recipes of web/pages/many-machines.md on this machine: quantizes a model of 12 shards with GNU parallel, and
// with Slurm on three nodes, and kills a job or a node in the middle. The results must equal those of a single process.
//
//   npm run check:cluster [-- parallel] [slurm]

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  capture,
  Failure,
  isDebian,
  mayInstall,
  root,
  run,
  runAsScript,
  step,
  which,
} from "../process/run.mjs";
import { writeShardedModel } from "../test/large-model.mjs";
import { startSlurm } from "./slurm.mjs";

const HELP = `
npm run check:cluster [-- parallel] [slurm]

Quantizes a model of 12 shards by the recipes of the documentation, on this machine: with GNU parallel, killing one
job, and with Slurm on three nodes, killing one node. Compares the results with those of a single process by sha256.
On Debian, as root, installs slurm-wlm, munge and parallel if they are missing.
`;

const SHARDS = 12;
const program = join(root, "dist", "cli", "main.js");

/** Installs what is missing, if that is allowed. */
async function setUp(names) {
  const needed = { parallel: ["parallel"], slurm: ["slurmctld", "slurmd", "munged"] };
  const packages = {
    parallel: "parallel",
    slurmctld: "slurm-wlm",
    slurmd: "slurm-wlm",
    munged: "munge",
  };
  const missing = names
    .flatMap((name) => needed[name])
    .filter((tool) => findTool(tool) === undefined);
  if (missing.length === 0) return;
  const list = [...new Set(missing.map((tool) => packages[tool]))];
  if (!isDebian() || !mayInstall() || process.getuid() !== 0) {
    throw new Failure(`install ${list.join(", ")} first: ${missing.join(", ")} are missing`);
  }
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  await run("apt-get", ["install", "--yes", "--no-install-recommends", ...list], { env });
}

const findTool = (name) =>
  which(name) ?? [`/usr/sbin/${name}`, `/sbin/${name}`].find((path) => existsSync(path));

/** The recipes of the page: its code blocks, by the name in their first line, such as "# quantize.sbatch". */
function readRecipes() {
  const text = readFileSync(join(root, "web", "pages", "many-machines.md"), "utf8");
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block);
  return Object.fromEntries(
    blocks.map((block) => [/^(?:#!.*\n)?# (\S+)/.exec(block)?.[1] ?? "", block]),
  );
}

/** The hashes in a folder's SHA256SUMS, each checked against the file. */
function sumsOf(folder) {
  const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8");
  for (const line of sums.trim().split("\n")) {
    const [sha256, name] = line.split("  ");
    const found = createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
    if (found !== sha256)
      throw new Failure(`${folder}: ${name} does not have the sha256 of SHA256SUMS`);
  }
  const partial = readdirSync(folder).filter((name) => name.endsWith(".partial"));
  if (partial.length > 0) throw new Failure(`${folder}: unfinished files are left: ${partial}`);
  return sums;
}

/** Checks that the files in a folder equal those of the single process. */
function compare(title, folder, single) {
  const [own, expected] = [sumsOf(folder), sumsOf(single)];
  if (own !== expected)
    throw new Failure(`${title}: the files differ from a single process's:\n${own}\n${expected}`);
  console.log(
    `${title}: ${expected.trim().split("\n").length} files, equal to the single process by sha256`,
  );
}

/** A folder of a check: the command `zeropoint` on the path, and the model. */
function makeSite(folder) {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const script = `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`;
  writeFileSync(join(bin, "zeropoint"), script, { mode: 0o755 });
  return { ...process.env, PATH: `${bin}:${process.env.PATH}` };
}

function shell(command, { cwd, env, mayFail = false }) {
  const result = spawnSync("bash", ["-c", command], {
    cwd,
    env,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  if (result.status !== 0 && !mayFail) {
    throw new Failure(`failed (${result.status}): ${command}\n${result.stdout}${result.stderr}`);
  }
  return result;
}

/** Waits for a condition, at most five minutes. */
export async function until(title, check) {
  for (let i = 0; i < 3000; i++) {
    const found = await check();
    if (found) return found;
    await delay(100);
  }
  throw new Failure(`${title}: did not happen within five minutes`);
}

/** The ids of processes whose command line matches a regular expression. */
const jobsWith = (text) =>
  capture("pgrep", ["-f", text]).stdout.split("\n").filter(Boolean).map(Number);

/** GNU parallel: kills a running job, which the recipe then runs again. */
async function checkParallel(folder, env, recipes) {
  const site = { cwd: folder, env };
  shell(recipes["analyze.sh"], site);
  shell("zeropoint plan stats --size 30% -o plan.json --quiet", site);
  const child = spawn("bash", ["-c", recipes["quantize.sh"]], { ...site, stdio: "ignore" });
  const ended = new Promise((done) => child.on("close", done));
  const victim = await until(
    "a job at work",
    () => jobsWith(`^[^ ]*node .*--shard 3/${SHARDS}`)[0],
  );
  process.kill(victim, "SIGKILL");
  console.log(`killed the job of shard 3 (process ${victim})`);
  const code = await ended;
  if (code !== 0) throw new Failure(`quantize.sh ended with ${code}`);
}

/** Slurm: kills a node while it runs a job, and runs one job twice at the same time. */
async function checkSlurm(folder, env, recipes) {
  for (const name of ["analyze.sbatch", "quantize.sbatch"]) {
    writeFileSync(join(folder, name), recipes[name], { mode: 0o755 });
  }
  const slurm = await startSlurm(join(folder, "slurm"), 3);
  try {
    const site = { cwd: folder, env: { ...env, ...slurm.env } };
    shell("sbatch --wait analyze.sbatch", site);
    shell("zeropoint plan stats --size 30% -o plan.json --quiet", site);
    const submitted = shell("sbatch --parsable quantize.sbatch", site).stdout.trim();
    const where = () => shell(`squeue -h -j ${submitted} -t R -o '%K %N'`, site).stdout;
    const task = await until("a job on node n2", () => /^(\d+) n2$/m.exec(where())?.[1]);
    await until("its file begun", () => readPartials(join(folder, "out")).length > 0);
    slurm.killNode("n2");
    console.log(`killed node n2 with task ${task}`);
    // The same job again, outside of the array, while the array's job runs or waits.
    shell(
      `srun --exclude=n2 zeropoint quantize model --plan plan.json --shard 5/${SHARDS} -o out -q`,
      site,
    );
    console.log("ran shard 5 twice");
    await until("the end of the array", () => {
      const left = shell(`squeue -h -j ${submitted} -o '%i %T'`, { ...site, mayFail: true }).stdout;
      return left.trim() === "";
    });
    shell("zeropoint finish out --plan plan.json", site);
    const log = readdirSync(folder).filter((name) => /^slurm-.*\.out$/.test(name));
    console.log(`Slurm: ${log.length} logs; node n2 is ${slurm.stateOf("n2")}`);
  } finally {
    await slurm.stop();
  }
}

const readPartials = (folder) =>
  existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".partial")) : [];

await runAsScript(
  import.meta.url,
  async (args) => {
    const names = args.length > 0 ? args : ["parallel", "slurm"];
    const unknown = names.find((name) => !["parallel", "slurm"].includes(name));
    if (unknown) throw new Failure(`check:cluster takes parallel and slurm, got ${unknown}`);
    await setUp(names);
    const base = mkdtempSync(join(tmpdir(), "zeropoint-cluster-"));
    try {
      const recipes = readRecipes();
      const model = join(base, "model");
      await step("Model", () => writeShardedModel(model, { shards: SHARDS, bytes: 200e6 }));
      const single = join(base, "single");
      const env = makeSite(single);
      await step("One process", async () => {
        const site = { cwd: single, env };
        shell(`ln -s ${model} model`, site);
        shell("zeropoint analyze model -o rows.json --quiet", site);
        shell("zeropoint plan rows.json --size 30% -o plan.json --quiet", site);
        console.log(shell("zeropoint quantize model --plan plan.json -o out", site).stdout.trim());
      });
      const checks = { parallel: checkParallel, slurm: checkSlurm };
      for (const name of names) {
        await step(name, async () => {
          const folder = join(base, name);
          makeSite(folder);
          shell(`ln -s ${model} model`, { cwd: folder, env });
          await checks[name](folder, env, recipes);
          const plans = [single, folder].map((each) =>
            readFileSync(join(each, "plan.json"), "utf8"),
          );
          if (plans[0] !== plans[1])
            throw new Failure(`${name}: the plan differs from that of one process`);
          compare(name, join(folder, "out"), join(single, "out"));
        });
      }
    } finally {
      rmSync(base, { recursive: true, force: true });
    }
  },
  HELP,
);
