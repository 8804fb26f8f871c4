// Makes the default instance run a build of one's choice before any test asks for it:
//
//   ZEROPOINT_BUILD=relaxed ZEROPOINT_THREADS=2 node --import ./tests/js/support/processes/with-build.mjs --test …
//
// The tests' own `init()` then shares it.

import assert from "node:assert/strict";
import { init } from "zeropoint";

const build = process.env.ZEROPOINT_BUILD;
const threads = Number(process.env.ZEROPOINT_THREADS ?? 1);
// The build under test must be the one that was loaded, now and when the tests are over.
assert.deepEqual(pick(await init({ build, threads })), { build, threads });
process.on("beforeExit", async () => {
  assert.deepEqual(pick(await init()), { build, threads });
});

function pick(running) {
  return { build: running.build, threads: running.threads };
}
