// Every build that this version has and this engine computes correctly, on one thread and on several.

import assert from "node:assert/strict";
import { create } from "zeropoint";
import * as search from "zeropoint/search";
import * as torch from "zeropoint/torch";

/** Codes of errors for a build that is not there, as opposed to a broken one. */
const ABSENT = ["ZP_BUILD_UNAVAILABLE", "ZP_UNSUPPORTED_ENGINE"];

/** An instance; made once more if a busy machine left its workers no time to start. */
async function start(options) {
  const zp = await create(options, torch, search);
  return zp.reason?.includes("did not answer") ? create(options, torch, search) : zp;
}

/** Instances of the library, each with the `name` of its build in a test's title. */
export const builds = [];

for (const build of ["baseline", "relaxed"]) {
  for (const threads of [1, 2]) {
    let zp;
    try {
      zp = await start({ build, threads });
    } catch (error) {
      assert.ok(ABSENT.includes(error.code), error.stack);
      continue;
    }
    // The build under test must be the one that was loaded.
    assert.equal(zp.build, build);
    assert.equal(zp.threads, threads, zp.reason);
    builds.push({ ...zp, name: threads === 1 ? build : `${build} on ${threads} threads` });
  }
}

assert.equal(builds[0]?.name, "baseline", "every engine has the baseline build");
