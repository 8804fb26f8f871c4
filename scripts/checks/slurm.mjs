// A Slurm cluster on this machine: munge, a controller, and several nodes, with all their files in one folder.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { capture, Failure, which } from "../process/run.mjs";

/** The path of a program, also in /usr/sbin. */
const tool = (name) => which(name) ?? `/usr/sbin/${name}`;

/** Ports that are free now. */
async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer());
  await Promise.all(servers.map((server) => new Promise((done) => server.listen(0, done))));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

/** slurm.conf: all nodes are this machine. A dead node is noticed after ten seconds; its jobs run again elsewhere. */
const configuration = (folder, host, [controller, ...nodes]) => `
ClusterName=check
SlurmctldHost=${host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=${folder}/munge.sock,cred_expire=10
CredType=cred/munge
SlurmctldPort=${controller}
SlurmctldPidFile=${folder}/slurmctld.pid
SlurmdPidFile=${folder}/slurmd-%n.pid
SlurmdSpoolDir=${folder}/spool-%n
StateSaveLocation=${folder}/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdTimeout=10
JobRequeue=1
KillWait=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
${nodes.map((port, i) => `NodeName=n${i + 1} NodeHostname=${host} NodeAddr=127.0.0.1 Port=${port} CPUs=1 RealMemory=1000`).join("\n")}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`;

/**
 * Starts a cluster.
 * @returns its environment; killNode, which ends a node and all its jobs at once, as a power failure would; stop
 */
export async function startSlurm(folder, count) {
  mkdirSync(join(folder, "state"), { recursive: true, mode: 0o755 });
  const host = hostname().split(".")[0];
  const config = join(folder, "slurm.conf");
  writeFileSync(config, configuration(folder, host, await freePorts(count + 1)));
  writeFileSync(join(folder, "munge.key"), randomBytes(1024), { mode: 0o400 });
  const env = { SLURM_CONF: config };
  const children = new Map();
  /** Starts a daemon in the foreground, in a separate process group. */
  const start = (name, command, args) => {
    const child = spawn(tool(command), args, {
      env: { ...process.env, ...env },
      stdio: "ignore",
      detached: true,
    });
    child.on("error", () => {});
    children.set(name, child);
  };
  const file = (name) => join(folder, name);
  const munge = ["key-file=munge.key", "socket=munge.sock", "pid-file=munged.pid"];
  const options = [...munge, "log-file=munged.log", "seed-file=munged.seed"].map((option) =>
    `--${option}`.replace("=", `=${folder}/`),
  );
  start("munged", "munged", ["--foreground", "--force", ...options]);
  await delay(500);
  start("slurmctld", "slurmctld", ["-D", "-f", config, "-L", file("slurmctld.log")]);
  const names = Array.from({ length: count }, (_, i) => `n${i + 1}`);
  for (const name of names) {
    start(name, "slurmd", ["-D", "-f", config, "-N", name, "-L", file(`slurmd-${name}.log`)]);
  }
  const stateOf = (name) =>
    capture("sinfo", ["-h", "-N", "-n", name, "-o", "%T"], { env }).stdout.trim();
  const stop = async () => {
    for (const [name, child] of [...children].reverse()) {
      if (name.startsWith("n")) killTree(child.pid);
      else child.kill("SIGTERM");
    }
    await delay(500);
    for (const child of children.values()) if (child.exitCode === null) child.kill("SIGKILL");
  };
  for (let i = 0; !names.every((name) => stateOf(name) === "idle"); i++) {
    if (i === 150) {
      await stop();
      const log = readFileSync(file("slurmctld.log"), "utf8").split("\n").slice(-10).join("\n");
      throw new Failure(`Slurm's nodes are not idle after 30 seconds:\n${log}`);
    }
    await delay(200);
  }
  const killNode = (name) => {
    killTree(children.get(name).pid);
    // First slurmstepd, which would report the end of a job; a node without power cannot do that.
    const jobs = processesOf(config, name);
    for (const pid of new Set(jobs.map(stepOf))) if (pid !== undefined) killTree(pid);
    for (const pid of jobs) killTree(pid);
  };
  return { env, stateOf, stop, killNode };
}

/** Processes of the jobs on a node of this cluster: Slurm starts them apart from the node's daemon. */
function processesOf(config, node) {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
      return [`SLURM_CONF=${config}`, `SLURMD_NODENAME=${node}`].every((e) =>
        environment.includes(e),
      );
    } catch {
      return false;
    }
  });
}

/** The slurmstepd process that started a job's process. */
function stepOf(pid) {
  for (let at = pid; at > 1; ) {
    const found = capture("ps", ["-o", "ppid=,comm=", "-p", String(at)]).stdout.trim();
    const [, parent, name] = /^(\d+) +(.*)$/.exec(found) ?? [];
    if (name?.startsWith("slurmstepd")) return at;
    at = Number(parent ?? 0);
  }
  return undefined;
}

/** Kills a process and its descendants one by one, because the jobs of a node are in separate sessions. */
function killTree(pid) {
  const children = capture("pgrep", ["-P", String(pid)])
    .stdout.split("\n")
    .filter(Boolean);
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has already ended.
  }
  for (const child of children) killTree(Number(child));
}
