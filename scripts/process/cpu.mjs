// CPU-seconds of processes, on Linux; undefined on systems without /proc.

import { readFileSync } from "node:fs";
import { descendants } from "./children.mjs";

/** The times of a process and of its ended children, or undefined if it has ended. */
function timesOf(pid) {
  let stat;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // Fields 14 to 17: utime, stime, cutime and cstime in hundredths of a second; the name in field 2 may hold spaces.
  const fields = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  return { own: (fields[11] + fields[12]) / 100, ended: (fields[13] + fields[14]) / 100 };
}

/** CPU-seconds of all child processes of this process that have ended. */
export const childSeconds = () => timesOf("self")?.ended;

/** CPU-seconds of a process and of all below it, ended or not; by default of this process. */
export function treeSeconds(pid = process.pid) {
  if (timesOf(pid) === undefined) return undefined;
  return [pid, ...descendants(pid)].reduce((sum, each) => {
    const times = timesOf(each);
    return times ? sum + times.own + times.ended : sum;
  }, 0);
}
