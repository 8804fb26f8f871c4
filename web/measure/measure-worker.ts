// Runs the short benchmark: the cases of npm run bench, with zeropoint and plain JavaScript.

import * as zeropoint from "zeropoint";
import * as torch from "zeropoint/torch";
import baselineLimits from "../../build/bench/limits-baseline.wasm?url";
import relaxedLimits from "../../build/bench/limits-relaxed.wasm?url";
import { runSuite, SIZES } from "../../tests/bench/suite.mjs";

const post = self.postMessage.bind(self);

async function compile(address: string) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

const results: any[] = [];
runSuite(
  {
    name: "this browser",
    zeropoint,
    torch,
    cores: [],
    limits: { baseline: () => compile(baselineLimits), relaxed: () => compile(relaxedLimits) },
  },
  SIZES.page,
  () => {},
  ({ title, done, total, results: more }) => {
    results.push(...more);
    post({ type: "case", title, done, total, results });
  },
).then(
  ({ unavailable }) => post({ type: "done", results, unavailable }),
  (error: Error) => post({ type: "failed", message: error.message }),
);
