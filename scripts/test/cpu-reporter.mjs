// Reporter of Node's test runner: the CPU-seconds of the file's process and its children, as the last line.

import { treeSeconds } from "../process/cpu.mjs";

/** @param {AsyncIterable<unknown>} events */
export default async function* reportCpu(events) {
  for await (const _ of events);
  const seconds = treeSeconds();
  if (seconds !== undefined) yield `ℹ cpu ${seconds.toFixed(2)}\n`;
}
